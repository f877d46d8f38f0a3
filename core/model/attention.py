"""Attention written out, so that its rows can be shown, and fused, equal by test.

Grouped heads: query heads h with the same h // (H / K) share one key/value head.
Sources: Vaswani et al. 2017 section 3.2, Ainslie et al. 2023 (grouped-query attention).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.layers import pad_rows

MIN_ROWS = 32
"""Rows from which a product adds up in the order of a tall one (4 seen on AMD, 15 on Intel)."""


class AttentionRows(NamedTuple):
    """What attention computed: raw products, rows of weights that sum to 1, and their blend."""

    dots: Tensor  # (B, H, T, S), q . k before scaling
    weights: Tensor  # (B, H, T, S)
    output: Tensor  # (B, H, T, d)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> AttentionRows:
    """Let every query ask every key: softmax(q k^T / sqrt(d)) v.

    In a decode step T is 1 and there is no mask: the cache holds nothing later than the query.

    Shapes: q (B, H, T, d), k and v (B, K, S, d), mask (T, S) True where a key may be seen
    """
    B, H, T, d = q.shape
    K, S = k.shape[1], k.shape[2]
    rows = q.reshape(B, K, H // K * T, d)  # the heads of a group ask the same keys
    dots = (rows @ k.mT).view(B, H, T, S)
    scores = dots * d**-0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, -1, dtype=torch.float32).to(v.dtype)
    output = (weights.view(B, K, H // K * T, S) @ v).view(B, H, T, d)
    return AttentionRows(dots, weights, output)


def attend_fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """The same blend by torch's fused kernel, which keeps no rows.

    Shapes: as :func:`attend`, -> (B, H, T, d)
    """
    grouped = q.shape[1] != k.shape[1]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=grouped)


def attend_same_order(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, length: int
) -> AttentionRows:
    """Attention whose sums have one order, however many rows are asked at once.

    Every product has at least ``MIN_ROWS`` rows, is taken one head at a time, and runs over
    ``length`` keys, the unused ones masked; so a decode step and a full pass add the same
    numbers in the same order.

    Shapes: as :func:`attend`; the rows returned have the S real keys.
    """
    _, H, T, d = q.shape
    K, S = k.shape[1], k.shape[2]
    k, v = (F.pad(x, (0, 0, 0, length - S)) for x in (k, v))
    seen = torch.zeros(T, length, dtype=torch.bool, device=q.device)
    seen[:, :S] = True if mask is None else mask
    dots, weights, output = [], [], []
    for b in range(q.shape[0]):
        for h in range(H):
            g = h // (H // K)
            dot = pad_rows(q[b, h], MIN_ROWS) @ k[b, g].mT  # (max(T, 32), length)
            score = (dot * d**-0.5)[:T].masked_fill(~seen, float("-inf"))
            weight = torch.softmax(score, -1, dtype=torch.float32).to(v.dtype)
            output.append((pad_rows(weight, MIN_ROWS) @ v[b, g])[:T])
            dots.append(dot[:T, :S])
            weights.append(weight[:, :S])
    return AttentionRows(
        *(torch.stack(x).view(q.shape[0], H, T, x[0].shape[-1]) for x in (dots, weights, output))
    )


def causal_mask(n_tokens: int, context_len: int, device: torch.device | None = None) -> Tensor:
    """True where the query in row t may see the key in column s: s <= t + (S - T).

    >>> causal_mask(2, 3).tolist()
    [[True, True, False], [True, True, True]]
    """
    full = torch.ones(n_tokens, context_len, dtype=torch.bool, device=device)
    return full.tril(context_len - n_tokens)
