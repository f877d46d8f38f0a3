"""Bytes of the K/V cache: added per token, held, allocated, and read by a step.

Three questions that differ. A windowed layer needs only its window and reads only that, but
memory is often allocated for the whole context. A latent layer stores one latent per token,
for all heads together. A state layer keeps the same bytes whatever the context.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from core.cost import checks
from core.cost.dtypes import NumberFormat, number_format
from core.cost.formula import Formula, Number
from core.cost.spec import LayerKind, ModelSpec

DEFAULT_BLOCK_SIZE = 16


def default_kv_dtype(model: ModelSpec) -> str:
    """Return the cache's dtype when none is chosen: the model's own, 16 bit where unknown.

    Weight quantisation does not change it.
    """
    return model.dtype if model.dtype in ("float32", "float16") else "bfloat16"


def layer_bytes_per_token(layer: LayerKind, dtype: str | NumberFormat) -> int:
    """Return the bytes that one token adds to one layer's cache, scales included.

    >>> layer_bytes_per_token(LayerKind("full", 32, 8, 128, 128), "bfloat16")
    4096
    >>> layer_bytes_per_token(LayerKind("mla", 128, 128, latent_dim=576), "bfloat16")
    1152
    """
    fmt = number_format(dtype)
    return -(-sum(fmt.row_bits(row) for row in layer.cache_rows()) // 8)


def kv_bytes_per_token(model: ModelSpec, dtype: str | NumberFormat | None = None) -> int:
    """Return the bytes one more token of one sequence adds while every layer still grows."""
    return int(per_token_formula(model, dtype).value)


def kv_bytes_total(
    model: ModelSpec, context: int, batch: int = 1, dtype: str | NumberFormat | None = None
) -> int:
    """Return what B sequences of N tokens must hold, windows as rolling buffers."""
    return int(total_formula(model, context, batch, dtype).value)


def kv_bytes_allocated(
    model: ModelSpec,
    context: int,
    batch: int = 1,
    dtype: str | NumberFormat | None = None,
    block_size: int = DEFAULT_BLOCK_SIZE,
) -> int:
    """Return what B sequences take without rolling buffers, each rounded up to whole blocks."""
    return int(allocated_formula(model, context, batch, dtype, block_size).value)


def kv_bytes_read(
    model: ModelSpec, context: int, batch: int = 1, dtype: str | NumberFormat | None = None
) -> int:
    """Return the cache bytes one decode step reads at a context of N attended tokens."""
    return int(read_formula(model, context, batch, dtype).value)


def state_bytes(model: ModelSpec, batch: int = 1, dtype: str | NumberFormat | None = None) -> int:
    """Return the constant state of B sequences, 0 for a model without state layers.

    Raises: ValueError if the config does not size its state layers
    """
    return int(state_formula(model, batch, dtype).value)


def per_token_formula(model: ModelSpec, dtype: str | NumberFormat | None = None) -> Formula:
    """Return 2 * L * K * d * b, summed over the kinds of layers that store a cache."""
    return _sum("kv_bytes_per_token", _groups(model, stored=True), _format(model, dtype), {}, 1, "")


def total_formula(
    model: ModelSpec,
    context: int,
    batch: int = 1,
    dtype: str | NumberFormat | None = None,
    shards: int = 1,
) -> Formula:
    """Return B * the bytes per token * min(N, window), summed over kinds of layers."""
    given: dict[str, Number] = {"batch": checks.batch(batch), "context": checks.context(context)}
    groups = _groups(model, stored=True)
    return _sum("kv_bytes_total", groups, _format(model, dtype), given, shards, "window")


def allocated_formula(
    model: ModelSpec,
    context: int,
    batch: int = 1,
    dtype: str | NumberFormat | None = None,
    block_size: int = DEFAULT_BLOCK_SIZE,
    shards: int = 1,
) -> Formula:
    """Return B * whole blocks of tokens * the bytes per token of all layers."""
    given: dict[str, Number] = {
        "batch": checks.batch(batch),
        "context": checks.context(context),
        "block_size": checks.whole("block_size", block_size, 1, 10**6),
    }
    groups = _groups(model, stored=True)
    return _sum("kv_bytes_allocated", groups, _format(model, dtype), given, shards, "blocks")


def read_formula(
    model: ModelSpec,
    context: int,
    batch: int = 1,
    dtype: str | NumberFormat | None = None,
    shards: int = 1,
) -> Formula:
    """Return what a step reads: every attending layer, also those that share a cache."""
    given: dict[str, Number] = {"batch": checks.batch(batch), "context": checks.context(context)}
    groups = _groups(model, stored=False)
    return _sum("kv_bytes_read_per_step", groups, _format(model, dtype), given, shards, "window")


def state_formula(
    model: ModelSpec, batch: int = 1, dtype: str | NumberFormat | None = None
) -> Formula:
    """Return B * layers * numbers in the state * bytes; read and written at every step."""
    terms: list[str] = []
    variables: dict[str, Number] = {
        "batch": checks.batch(batch),
        "bytes_per_number": _state_width(model, dtype),
    }
    states = [(k.state_numbers, n) for k, n in model.groups().items() if k.state_numbers != 0]
    for i, (numbers, count) in enumerate(states):
        if numbers is None:
            raise ValueError("the config does not give the sizes of its state layers")
        terms.append(f"batch * n_layers_{i} * state_numbers_{i} * bytes_per_number")
        variables |= {f"n_layers_{i}": count, f"state_numbers_{i}": numbers}
    return Formula("state_bytes_total", " + ".join(terms) or "0", variables, "bytes")


def has_unknown_state(model: ModelSpec) -> bool:
    """Whether the model has state layers whose size its config leaves open."""
    return any(layer.state_numbers is None for layer in model.layers)


def context_at_bytes(
    model: ModelSpec, n_bytes: float, batch: int = 1, dtype: str | NumberFormat | None = None
) -> float | None:
    """Return the context at which B caches reach that many bytes, None if they never do.

    Windows fill one after the other, so the growth is a line with knees.

    >>> from core.config import STORYTELLER
    >>> from core.cost.spec import spec_from_config
    >>> context_at_bytes(spec_from_config(STORYTELLER), 1_048_576, dtype="float16")
    1024.0
    """
    fmt = _format(model, dtype)
    slopes = [
        (layer.window, checks.batch(batch) * count * layer_bytes_per_token(layer, fmt))
        for layer, count in _groups(model, stored=True)
    ]
    start, held = 0.0, 0.0
    for knee in [*sorted({w for w, _ in slopes if w is not None}), float("inf")]:
        slope = sum(s for w, s in slopes if w is None or w > start)
        if slope > 0 and held + slope * (knee - start) >= n_bytes:
            return start + (n_bytes - held) / slope
        if knee == float("inf"):
            return None
        held, start = held + slope * (knee - start), float(knee)
    return None


def shards_of(layer: LayerKind, n_devices: int) -> int:
    """Return over how many devices a layer's cache divides: at most one K/V head each.

    A latent cannot be divided by heads: every device holds it whole.
    """
    return 1 if layer.kind == "mla" else min(n_devices, max(1, layer.n_kv_heads))


def _groups(model: ModelSpec, stored: bool) -> list[tuple[LayerKind, int]]:
    """Return the kinds of cache with their layer counts; weights do not tell kinds apart."""
    kinds: dict[LayerKind, int] = {}
    for layer, count in model.groups().items():
        if layer.caches and not (stored and layer.shares_cache):
            bare = replace(
                layer, n_heads=0, matrices=(), vector_params=0, state_numbers=0, shares_cache=False
            )
            kinds[bare] = kinds.get(bare, 0) + count
    return list(kinds.items())


def _format(model: ModelSpec, dtype: str | NumberFormat | None) -> NumberFormat:
    return number_format(default_kv_dtype(model) if dtype is None else dtype)


def _state_width(model: ModelSpec, dtype: str | NumberFormat | None) -> int:
    """Bytes per number of a state: never below 16 bit, 32 where the file says so."""
    if model.state_dtype is not None:
        return number_format(model.state_dtype).value_bits // 8
    return max(2, _format(model, dtype).value_bits // 8)


def _sum(
    name: str,
    groups: list[tuple[LayerKind, int]],
    fmt: NumberFormat,
    given: dict[str, Number],
    devices: int,
    span: str,
) -> Formula:
    """Add up one term per kind of cache; ``span`` says how many tokens a layer counts."""
    terms, variables = [], dict(given)
    for index, (layer, count) in enumerate(groups):
        suffix = f"_{index}" if len(groups) > 1 else ""
        variables[f"n_layers{suffix}"] = count
        part, names = _term(layer, fmt, suffix)
        variables |= names
        term = f"n_layers{suffix} * {part}"
        if span == "blocks":
            term = f"batch * ceil(context / block_size) * block_size * {term}"
        elif span and layer.window is None:
            term = f"batch * context * {term}"
        elif span:
            variables[f"window{suffix}"] = layer.window or 0
            term = f"batch * min(context, window{suffix}) * {term}"
        split = shards_of(layer, devices)
        terms.append(f"{term} / {split}" if split > 1 else term)
    return Formula(name, " + ".join(terms), variables, "bytes")


def _term(layer: LayerKind, fmt: NumberFormat, suffix: str) -> tuple[str, dict[str, Number]]:
    """Return the bytes per token of one layer as an expression with its variables."""
    width = fmt.bits / 8
    per_token = layer_bytes_per_token(layer, fmt)
    if sum(layer.cache_rows()) * width != per_token or Fraction(float(width)) != width:
        return f"bytes_per_token{suffix}", {f"bytes_per_token{suffix}": per_token}
    per = f"bytes_per_number{suffix}"
    names: dict[str, Number] = {per: _plain(float(width))}
    if layer.kind == "mla":
        return f"latent_numbers{suffix} * {per}", {
            f"latent_numbers{suffix}": layer.latent_dim,
            **names,
        }
    k, d, v = f"n_kv_heads{suffix}", f"head_dim{suffix}", f"value_dim{suffix}"
    names = {k: layer.n_kv_heads, d: layer.head_dim, **names}
    if layer.head_dim == layer.value_dim:
        return f"2 * {k} * {d} * {per}", names
    return f"{k} * ({d} + {v}) * {per}", {**names, v: layer.value_dim}


def _plain(value: float) -> Number:
    return int(value) if value.is_integer() else value
