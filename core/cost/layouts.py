"""Which weight matrices a layer of each published family has.

The families differ in small ways that parameter counts to the last unit show: biases, one or
two or four norms, norms with one vector or two, gated or plain MLPs, learned positions.
Each row was checked against a model built from a small config of that family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.cost.config_fields import Fields
from core.cost.spec import Matrix, Part

QkNorm = Literal["", "head", "width"]


@dataclass(frozen=True)
class Layout:
    """The small print of one family.

    norms: norms per layer; norm_vectors: 1 (scale) or 2 (scale and shift) vectors each.
    positions: extra rows of a learned position table, None for no table.
    defaults: what the family's reader takes for fields that a file leaves out.
    """

    gated: bool = True
    norms: int = 2
    norm_vectors: int = 1
    qkv_bias: bool = False
    o_bias: bool = False
    mlp_bias: bool = False
    qk_norm: QkNorm = ""
    tied: bool = False
    positions: int | None = None
    head_bias: bool = False
    router_extra: int = 0
    outer_norms: int = 1
    sinks: bool = False
    query_gate: bool = False
    defaults: Mapping[str, Any] | None = None

    def with_flags(self, fields: Fields) -> Layout:
        """Return the layout with the biases that the file switches on or off."""
        changed = self
        if "attention_bias" in fields.config:
            bias = fields.flag("attention_bias")
            changed = replace(changed, qkv_bias=bias, o_bias=bias)
        if "mlp_bias" in fields.config:
            changed = replace(changed, mlp_bias=fields.flag("mlp_bias"))
        return changed


_BIASED = Layout(
    gated=False, norm_vectors=2, qkv_bias=True, o_bias=True, mlp_bias=True, tied=True
)  # fmt: skip
_LLAMA = Layout()
_GEMMA_DEFAULTS = {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256}
_QWEN_HYBRID = Layout(qk_norm="head", query_gate=True)

LAYOUTS: dict[str, Layout] = {
    "": _LLAMA,
    "llama": _LLAMA,
    "mistral": Layout(defaults={"sliding_window": 4096, "num_key_value_heads": 8}),
    "mixtral": _LLAMA,
    "granite": _LLAMA,
    "smollm3": _LLAMA,
    "phi3": _LLAMA,
    "qwen2": Layout(qkv_bias=True),
    "qwen2_moe": Layout(qkv_bias=True),
    "qwen3": Layout(qk_norm="head"),
    "qwen3_moe": Layout(qk_norm="head"),
    "qwen3_vl_text": Layout(qk_norm="head", tied=True),
    "qwen3_vl_moe_text": Layout(qk_norm="head"),
    "qwen3_next": _QWEN_HYBRID,
    "qwen3_5_text": _QWEN_HYBRID,
    "qwen3_5_moe_text": _QWEN_HYBRID,
    "gemma": Layout(tied=True),
    "gemma2": Layout(tied=True, norms=4, defaults={"sliding_window_pattern": 2}),
    "gemma3_text": Layout(
        tied=True,
        norms=4,
        qk_norm="head",
        defaults={**_GEMMA_DEFAULTS, "sliding_window_pattern": 6, "vocab_size": 262_208},
    ),
    "cohere": Layout(tied=True, norms=1),
    "cohere2": Layout(tied=True, norms=1, defaults={"sliding_window_pattern": 4}),
    "olmo2": Layout(qk_norm="width"),
    "minimax_m2": Layout(qk_norm="width", router_extra=1),
    "gpt_oss": Layout(
        qkv_bias=True,
        o_bias=True,
        mlp_bias=True,
        sinks=True,
        router_extra=1,
        defaults={"sliding_window_pattern": 2},
    ),
    "deepseek_v2": _LLAMA,
    "deepseek_v3": Layout(router_extra=1),
    "kimi_k2": Layout(router_extra=1),
    "nemotron_h": Layout(gated=False, norms=1),
    "llama4_text": _LLAMA,
    "jamba": _LLAMA,
    "bamba": _LLAMA,
    "falcon_h1": _LLAMA,
    "gpt2": replace(_BIASED, positions=0),
    "gpt_neo": replace(_BIASED, positions=0, qkv_bias=False, defaults={"window_size": 256}),
    "gpt_neox": replace(_BIASED, tied=False),
    "gptj": Layout(
        gated=False, norms=1, norm_vectors=2, mlp_bias=True, head_bias=True
    ),
    "bloom": replace(_BIASED, outer_norms=2),
    "mpt": Layout(gated=False, tied=True),
    "opt": replace(_BIASED, positions=2),
    "falcon": Layout(
        gated=False,
        norms=1,
        norm_vectors=2,
        tied=True,
        defaults={"multi_query": True, "new_decoder_architecture": False},
    ),
    "phi": replace(_BIASED, norms=1, tied=False, head_bias=True),
    "starcoder2": _BIASED,
}  # fmt: skip

ALIASES = {
    "refinedweb": "falcon",
    "refinedwebmodel": "falcon",
    "gemma3": "gemma3_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
}


@dataclass(frozen=True)
class Heads:
    """Attention heads of one layer as far as its matrices need them."""

    n_heads: int
    n_kv_heads: int
    head_dim: int
    value_dim: int


def attention_matrices(layout: Layout, heads: Heads, d_model: int) -> tuple[Matrix, ...]:
    """Return q, k, v and o with their biases."""
    q = heads.n_heads * heads.head_dim
    k = heads.n_kv_heads * heads.head_dim
    v = heads.n_kv_heads * heads.value_dim
    o_in = heads.n_heads * heads.value_dim
    bias = int(layout.qkv_bias)
    wide = 2 * q if layout.query_gate else q
    return (
        Matrix("q", d_model, wide, "attention", extra=bias * wide),
        Matrix("k", d_model, k, "attention", extra=bias * k),
        Matrix("v", d_model, v, "attention", extra=bias * v),
        Matrix("o", o_in, d_model, "attention", extra=int(layout.o_bias) * d_model),
    )


def attention_vectors(layout: Layout, heads: Heads) -> int:
    """Return the parameters of query and key norms, and of attention sinks."""
    sinks = heads.n_heads if layout.sinks else 0
    if layout.qk_norm == "head":
        return 2 * heads.head_dim + sinks
    if layout.qk_norm == "width":
        return (heads.n_heads + heads.n_kv_heads) * heads.head_dim + sinks
    return sinks


def mla_matrices(fields: Fields, n_heads: int, d_model: int) -> tuple[tuple[Matrix, ...], int]:
    """Return the matrices of latent attention, and the parameters of its two norms.

    ``kv_b`` is used absorbed: its multiply-adds per token equal its number of weights.
    """
    rank, rope, nope, value = fields.need(
        "kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"
    )
    q_rank = fields.count("q_lora_rank")
    q_out = n_heads * (nope + rope)
    part: Part = "attention"
    queries = (
        (Matrix("q", d_model, q_out, part),)
        if q_rank is None
        else (Matrix("q_a", d_model, q_rank, part), Matrix("q_b", q_rank, q_out, part))
    )
    rest = (
        Matrix("kv_a", d_model, rank + rope, part),
        Matrix("kv_b", rank, n_heads * (nope + value), part),
        Matrix("o", n_heads * value, d_model, part),
    )
    return (*queries, *rest), rank + (q_rank or 0)


def mlp_matrices(layout: Layout, d_model: int, d_ff: int, name: str = "") -> tuple[Matrix, ...]:
    """Return gate, up and down, or up and down where the MLP has no gate."""
    bias = int(layout.mlp_bias)
    up = Matrix(f"{name}up", d_model, d_ff, "mlp", extra=bias * d_ff)
    down = Matrix(f"{name}down", d_ff, d_model, "mlp", extra=bias * d_model)
    gate = Matrix(f"{name}gate", d_model, d_ff, "mlp", extra=bias * d_ff)
    return (gate, up, down) if layout.gated else (up, down)


def expert_matrices(layout: Layout, fields: Fields, d_model: int) -> tuple[Matrix, ...] | None:
    """Return router, experts and shared expert of one sparse layer, or None without sizes."""
    n_experts, used = fields.count("n_experts"), fields.count("experts_per_token")
    d_ff = fields.count("d_ff_expert") or fields.count("d_ff")
    if n_experts is None or used is None or d_ff is None:
        return None
    experts = tuple(
        replace(matrix, part="expert", copies=n_experts, used=min(used, n_experts))
        for matrix in mlp_matrices(layout, d_model, d_ff, "expert_")
    )
    extra = layout.router_extra * n_experts
    router = Matrix("router", d_model, n_experts, "router", extra=extra)
    return (router, *experts, *_shared_expert(layout, fields, d_model))


def _shared_expert(layout: Layout, fields: Fields, d_model: int) -> tuple[Matrix, ...]:
    """Return the expert that every token uses, sized by any of its published names."""
    width = fields.count_of("shared_expert_intermediate_size", 0)
    if width:  # the Qwen kind, with a gate of its own
        gate = Matrix("shared_router", d_model, 1, "router")
        return (*mlp_matrices(layout, d_model, width, "shared_"), gate)
    count = fields.count("n_shared_experts", 0)
    if not count:
        return ()
    width = fields.count_of("moe_shared_expert_intermediate_size")
    if width is None:
        each = fields.count("d_ff_expert") or fields.count("d_ff")
        width = None if each is None else count * each
    return () if width is None else mlp_matrices(layout, d_model, width, "shared_")
