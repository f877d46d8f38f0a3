"""Layers that keep a constant state instead of a cache: Mamba and gated delta rules.

The state is read and written at every step, for every sequence, and never grows. The last few
inputs of the short convolution, about one per cent of it, are left out of the state.
"""

from __future__ import annotations

from core.cost.config_fields import Fields
from core.cost.spec import Matrix

StateLayer = tuple[tuple[Matrix, ...], int, int]
"""Weight matrices, parameters in vectors, and numbers in the state of one sequence."""


def state_layer(fields: Fields, model_type: str, d_model: int) -> StateLayer | None:
    """Return the state layer of that family, or None where the file does not size it."""
    if fields.config.get("linear_num_value_heads") is not None:
        return _gated_delta(fields, d_model)
    if model_type == "jamba":
        return _mamba1(fields, d_model)
    return _mamba2(fields, d_model)


def _mamba2(fields: Fields, d_model: int) -> StateLayer | None:
    """Mamba-2: one state of head_dim x state_size numbers per head."""
    heads = fields.count_of("mamba_num_heads") or fields.count_of("mamba_n_heads")
    state = fields.count_of("ssm_state_size") or fields.count_of("mamba_d_state")
    groups = fields.count_of("n_groups") or fields.count_of("mamba_n_groups")
    kernel = fields.count_of("conv_kernel") or fields.count_of("mamba_d_conv")
    if heads is None or state is None or groups is None or kernel is None:
        return None
    head_dim = _mamba2_head_dim(fields, d_model, heads)
    if head_dim is None:
        return None
    inner = heads * head_dim
    channels = inner + 2 * groups * state
    use_bias = fields.flag("use_conv_bias", fields.flag("mamba_conv_bias", True))
    gate_norm = inner if fields.flag("mamba_rms_norm", True) else 0
    matrices = (
        Matrix("state_in", d_model, inner + channels + heads, "state"),
        Matrix("state_conv", kernel, channels, "state", extra=channels * use_bias),
        Matrix("state_out", inner, d_model, "state"),
    )
    return matrices, 3 * heads + gate_norm, heads * head_dim * state


def _mamba2_head_dim(fields: Fields, d_model: int, heads: int) -> int | None:
    explicit = fields.count_of("mamba_head_dim")
    if explicit is not None:
        return explicit
    if fields.config.get("mamba_d_head") not in (None, "auto"):
        return fields.count_of("mamba_d_head")
    inner = fields.count_of("mamba_d_ssm")
    if inner is None:
        expand = fields.count_of("mamba_expand")
        inner = None if expand is None else expand * d_model
    return None if inner is None else inner // heads


def _mamba1(fields: Fields, d_model: int) -> StateLayer | None:
    """Mamba-1 as in Jamba, with norms on dt, B and C."""
    expand, state = fields.count_of("mamba_expand"), fields.count_of("mamba_d_state")
    kernel = fields.count_of("mamba_d_conv")
    if expand is None or state is None or kernel is None:
        return None
    raw_rank = fields.config.get("mamba_dt_rank")
    rank = -(-d_model // 16) if raw_rank in (None, "auto") else fields.count_of("mamba_dt_rank")
    inner, rank = expand * d_model, rank or 0
    bias = int(fields.flag("mamba_conv_bias", True))
    matrices = (
        Matrix("state_in", d_model, 2 * inner, "state"),
        Matrix("state_conv", kernel, inner, "state", extra=bias * inner),
        Matrix("state_x", inner, rank + 2 * state, "state"),
        Matrix("state_dt", rank, inner, "state", extra=inner),
        Matrix("state_out", inner, d_model, "state"),
    )
    return matrices, inner * state + inner + rank + 2 * state, inner * state


def _gated_delta(fields: Fields, d_model: int) -> StateLayer | None:
    """Gated delta rule: one (key_dim, value_dim) matrix of state per value head."""
    names = (
        "linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads",
        "linear_value_head_dim", "linear_conv_kernel_dim",
    )  # fmt: skip
    values = [fields.count_of(name) for name in names]
    if any(value is None for value in values):
        return None
    k_heads, k_dim, v_heads, v_dim, kernel = (value or 0 for value in values)
    keys, vals = k_heads * k_dim, v_heads * v_dim
    matrices = (
        Matrix("state_in", d_model, 2 * keys + 2 * vals, "state"),
        Matrix("state_gates", d_model, 2 * v_heads, "state"),
        Matrix("state_conv", kernel, 2 * keys + vals, "state"),
        Matrix("state_out", vals, d_model, "state"),
    )
    return matrices, 2 * v_heads + v_dim, v_heads * k_dim * v_dim
