"""Layers as pure functions on tensors: product, RMSNorm, rotary positions, SwiGLU.

Sources: Zhang and Sennrich 2019 (RMSNorm), Su et al. 2021 (rotary positions, half-split layout
as in Hugging Face Llama), Shazeer 2020 (SwiGLU).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

Product = Callable[[Tensor, Tensor, int], Tensor]
"""How rows meet a weight matrix: :func:`linear`, or another that gives the same numbers."""


def pad_rows(x: Tensor, min_rows: int) -> Tensor:
    """Append zero rows until ``x`` has ``min_rows`` of them.

    A product of one or two rows is summed in another order than a taller one; padding makes
    a decode step add up in the order in which prefill does.

    Shapes: x (T, D) -> (max(T, min_rows), D)

    >>> pad_rows(torch.ones(1, 2), 3).tolist()
    [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    """
    missing = min_rows - x.shape[0]
    return x if missing <= 0 else torch.cat((x, x.new_zeros(missing, x.shape[1])))


def linear(x: Tensor, weight: Tensor, min_rows: int = 0) -> Tensor:
    """Multiply rows by a weight matrix, padding to ``min_rows`` rows first where asked.

    Shapes: x (..., d_in), weight (d_out, d_in) -> (..., d_out)
    """
    if not min_rows:
        return F.linear(x, weight)
    rows = x.reshape(-1, x.shape[-1])
    product = F.linear(pad_rows(rows, min_rows), weight)[: rows.shape[0]]
    return product.reshape(*x.shape[:-1], weight.shape[0])


def rms_norm(x: Tensor, gain: Tensor, floor: Tensor, min_rows: int = 0) -> Tensor:
    """Scale every row to root mean square 1, then by the norm's weight w.

    x / sqrt(mean(x^2) + eps) * w, written as x * gain / hypot(|x|, floor) because that takes
    half the kernels: ``gain`` is sqrt(D) w and ``floor`` is sqrt(D eps), both in float32.

    Shapes: x (..., D), gain (D,), floor () -> (..., D)
    """
    if min_rows:
        rows = x.reshape(-1, x.shape[-1])
        return rms_norm(pad_rows(rows, min_rows), gain, floor)[: rows.shape[0]].view(x.shape)
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
    return (x * (gain / torch.hypot(length, floor))).to(x.dtype)


def rope_table(head_dim: int, max_seq_len: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosine and sine of every position's rotation angles, each half repeated.

    The sine's first half carries the minus sign of the rotation, so that turning is
    ``x * cos + swap_halves(x) * sin``.

    Shapes: -> cos (max_seq_len, d), sin (max_seq_len, d)
    """
    frequency = 1.0 / theta ** (torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    angle = torch.outer(torch.arange(max_seq_len, dtype=torch.float32), frequency)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1)


def apply_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn queries or keys by their positions' angles.

    Shapes: x (..., d), cos and sin broadcastable to it -> (..., d)
    """
    return x * cos + x.roll(x.shape[-1] // 2, -1) * sin


def swiglu(gate_up: Tensor) -> Tensor:
    """Gate the MLP: silu(gate) * up, both halves of one product.

    Shapes: gate_up (..., 2F) -> (..., F)
    """
    gate, up = gate_up.chunk(2, -1)
    return F.silu(gate) * up
