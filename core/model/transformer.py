"""A Llama-style transformer whose prefill and decode step are one code path.

Weights are shared and read-only; the KV cache is an argument, so every run owns its own.
Decode is prefill with one token: ``decode_step`` calls what ``prefill`` calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from core.config import ModelConfig
from core.model.attention import (
    MIN_ROWS,
    AttentionRows,
    attend,
    attend_fused,
    attend_same_order,
    causal_mask,
)
from core.model.kv_cache import KVCache
from core.model.layers import Product, apply_rope, linear, rms_norm, rope_table, swiglu
from core.model.weights import LayerWeights, Weights


@dataclass(frozen=True)
class ForwardOptions:
    """How a pass is computed.

    fused: torch's fused attention, which keeps no rows.
    same_order: cached and uncached passes add in the same order (slower, for the proof).
    head_off: (layer, head) whose output is removed before the output projection.
    """

    fused: bool = False
    same_order: bool = False
    head_off: tuple[int, int] | None = None


@dataclass(frozen=True)
class LayerRecord:
    """Everything one layer computed that a page may show.

    ``inputs`` maps each product ("qkv", "o", "gate_up", "down") to the rows entering it.
    """

    q: Tensor  # (B, H, T, d)
    k: Tensor  # (B, K, S, d)
    v: Tensor  # (B, K, S, d)
    attn_dots: Tensor  # (B, H, T, S), before scaling
    attn_weights: Tensor  # (B, H, T, S)
    attn_output: Tensor  # (B, H, T, d)
    inputs: dict[str, Tensor]


@dataclass(frozen=True)
class ForwardResult:
    """Logits of every token of the pass, and the layers' records where they were asked for."""

    logits: Tensor  # (B, T, V)
    final_hidden: Tensor  # (B, T, D), what enters the output head
    layers: tuple[LayerRecord, ...] = ()


@dataclass
class WorkCounts:
    """Work counted while it is done, summed over layers and heads.

    scores_kept: query-key products that end under the mask; scores_executed: all that were
    computed, the masked ones too. kv_projections: tokens whose K and V were projected, once
    per layer. products: name -> (rows x d_in x d_out multiply-adds, weights read).
    """

    scores_kept: int = 0
    scores_executed: int = 0
    kv_projections: int = 0
    products: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add_scores(self, dots: Tensor, mask: Tensor | None) -> None:
        """Count the entries of a computed score tensor (B, H, T, S)."""
        self.scores_executed += dots.numel()
        per_head = dots.shape[2] * dots.shape[3] if mask is None else int(mask.sum())
        self.scores_kept += dots.shape[0] * dots.shape[1] * per_head

    def add_product(self, name: str, x: Tensor, weight: Tensor) -> None:
        """Count one product of the rows x (..., d_in) with weight (d_out, d_in)."""
        macs, read = self.products.get(name, (0, 0))
        rows = x.numel() // x.shape[-1]
        self.products[name] = (macs + rows * weight.numel(), read + weight.numel())


DEFAULT_OPTIONS = ForwardOptions()


class Transformer:
    """The model: a config and its weights, without any state of a run.

    ``product`` is how rows meet a matrix. Which call is fastest differs by machine, so a bench
    may pass the one it found; every other line of the step stays the same.
    """

    def __init__(self, config: ModelConfig, weights: Weights, product: Product = linear) -> None:
        self.config = config
        self.weights = weights
        self._product = product
        cos, sin = rope_table(config.head_dim, config.max_seq_len, config.rope_theta)
        self._cos = cos.to(weights.embedding)
        self._sin = sin.to(weights.embedding)
        root = config.d_model**0.5  # see rms_norm for the form of gains and floor
        self._gains = [
            (layer.attn_norm.float() * root, layer.mlp_norm.float() * root)
            for layer in weights.layers
        ]
        self._final_gain = weights.final_norm.float() * root
        self._norm_floor = torch.tensor(root * config.norm_eps**0.5, device=self.device)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of weights and activations."""
        return self.weights.embedding.dtype

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.weights.embedding.device

    def new_cache(self, batch_size: int = 1, capacity: int | None = None) -> KVCache:
        """An empty KV cache in the model's precision, on its device."""
        return KVCache(self.config, batch_size, capacity, self.dtype, self.device)

    @torch.inference_mode()
    def prefill(
        self,
        tokens: Tensor,
        kv_cache: KVCache,
        *,
        options: ForwardOptions = DEFAULT_OPTIONS,
        record: bool = False,
        counts: WorkCounts | None = None,
    ) -> ForwardResult:
        """Process T known tokens at once and append their K and V to the cache.

        Shapes: tokens (B, T) -> logits (B, T, V)
        Raises: ValueError if the tokens do not fit the cache or the model's context.
        """
        return self._forward(tokens, kv_cache, options, record, counts)

    @torch.inference_mode()
    def decode_step(
        self,
        tokens: Tensor,
        kv_cache: KVCache,
        *,
        options: ForwardOptions = DEFAULT_OPTIONS,
        record: bool = False,
        counts: WorkCounts | None = None,
    ) -> ForwardResult:
        """Process one token per sequence: one new query against the cached keys and its own.

        Shapes: tokens (B, 1) -> logits (B, 1, V)
        Raises: ValueError if ``tokens`` has another width than 1, or the cache is full.
        """
        if tokens.shape[1] != 1:
            raise ValueError(f"a decode step takes 1 token per sequence, got {tokens.shape[1]}")
        return self._forward(tokens, kv_cache, options, record, counts)

    def full_pass(
        self,
        tokens: Tensor,
        *,
        options: ForwardOptions = DEFAULT_OPTIONS,
        record: bool = False,
        counts: WorkCounts | None = None,
    ) -> ForwardResult:
        """Process the tokens from the first, without any cache (also used for training).

        Shapes: tokens (B, T) -> logits (B, T, V)
        """
        return self._forward(tokens, None, options, record, counts)

    def _forward(
        self,
        tokens: Tensor,
        kv_cache: KVCache | None,
        options: ForwardOptions,
        record: bool,
        counts: WorkCounts | None,
    ) -> ForwardResult:
        config = self.config
        n_tokens = tokens.shape[1]
        start = kv_cache.length if kv_cache is not None else 0
        end = start + n_tokens
        if end > config.max_seq_len:
            raise ValueError(f"the context holds {config.max_seq_len} tokens, {end} were asked for")
        cos, sin = self._cos[start:end], self._sin[start:end]
        mask = None if n_tokens == 1 else causal_mask(n_tokens, end, self.device)
        min_rows = MIN_ROWS if options.same_order else 0

        x = self.weights.embedding[tokens]  # (B, T, D)
        records = []
        for index, layer in enumerate(self.weights.layers):
            attn_gain, mlp_gain = self._gains[index]
            normed = rms_norm(x, attn_gain, self._norm_floor, min_rows)
            q, k, v = self._project(layer, normed, cos, sin, min_rows)
            if kv_cache is not None:
                k, v = kv_cache.append(index, k, v)  # (B, K, S, d)
            rows = self._attend(q, k, v, mask, options)
            blended = rows.output
            if options.head_off is not None and options.head_off[0] == index:
                blended = blended.clone()
                blended[:, options.head_off[1]] = 0.0
            joined = blended.transpose(1, 2).reshape(*tokens.shape, config.q_width)
            x = x + self._product(joined, layer.o, min_rows)  # (B, T, D)
            mlp_in = rms_norm(x, mlp_gain, self._norm_floor, min_rows)
            gated = swiglu(self._product(mlp_in, layer.gate_up, min_rows))  # (B, T, F)
            x = x + self._product(gated, layer.down, min_rows)
            if record:
                inputs = {"qkv": normed, "o": joined, "gate_up": mlp_in, "down": gated}
                records.append(LayerRecord(q, k, v, *rows, inputs))
            if counts is not None:
                counts.kv_projections += tokens.numel()
                if not options.fused:
                    counts.add_scores(rows.dots, mask)
                counts.add_product("qkv", normed, layer.qkv)
                counts.add_product("o", joined, layer.o)
                counts.add_product("gate_up", mlp_in, layer.gate_up)
                counts.add_product("down", gated, layer.down)
        if kv_cache is not None:
            kv_cache.advance(n_tokens)
        hidden = rms_norm(x, self._final_gain, self._norm_floor, min_rows)
        if counts is not None:
            counts.add_product("lm_head", hidden, self.weights.lm_head)
        logits = self._product(hidden, self.weights.lm_head, min_rows)
        return ForwardResult(logits, hidden, tuple(records))

    def _project(
        self, layer: LayerWeights, x: Tensor, cos: Tensor, sin: Tensor, min_rows: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of the new tokens, queries and keys turned to position."""
        config = self.config
        heads = config.n_heads + 2 * config.n_kv_heads
        qkv = self._product(x, layer.qkv, min_rows).view(*x.shape[:2], heads, config.head_dim)
        qkv = qkv.transpose(1, 2)  # (B, H + 2K, T, d)
        turned = apply_rope(qkv[:, : config.n_heads + config.n_kv_heads], cos, sin)
        q, k = turned[:, : config.n_heads], turned[:, config.n_heads :]
        return q, k, qkv[:, config.n_heads + config.n_kv_heads :]

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, options: ForwardOptions
    ) -> AttentionRows:
        if options.same_order:
            return attend_same_order(q, k, v, mask, self.config.max_seq_len)
        if options.fused:
            nothing = q.new_empty(0)
            return AttentionRows(nothing, nothing, attend_fused(q, k, v, mask))
        return attend(q, k, v, mask)
