"""What fits into memory: requests of one length, one length for a number of requests."""

from __future__ import annotations

from core.cost import kv
from core.cost.dtypes import NumberFormat
from core.cost.formula import Formula, Number
from core.cost.spec import ModelSpec

Dtype = str | NumberFormat | None


def fit_formula(
    model: ModelSpec,
    memory_bytes: Number,
    weight_bytes: int,
    state_bytes_each: int,
    context: int,
    dtype: Dtype,
    block_size: int,
    reserve_bytes: int,
    n_devices: int = 1,
) -> Formula:
    """Return how many requests of that context fit: what weights and reserve leave, divided.

    The cache counts as allocated: whole blocks, no rolling buffers. With several devices the
    memory is their sum, and a cache that does not divide is held by each of them.
    """
    shared = kv.allocated_formula(model, context, 1, dtype, block_size, shards=n_devices)
    each = shared.value * n_devices + state_bytes_each
    variables: dict[str, Number] = {
        "memory_bytes": memory_bytes,
        "reserve_bytes": reserve_bytes,
        "weight_bytes": weight_bytes,
        "request_bytes": each,
    }
    expression = "max(0, floor((memory_bytes - reserve_bytes - weight_bytes) / request_bytes))"
    return Formula("max_batch", expression, variables, "requests")


def context_formula(
    model: ModelSpec,
    memory_bytes: Number,
    weight_bytes: int,
    state_bytes_each: int,
    batch: int,
    dtype: Dtype,
    block_size: int,
    reserve_bytes: int,
    n_devices: int = 1,
) -> Formula:
    """Return the longest context at which that many requests fit, in whole blocks."""
    block = kv.allocated_formula(model, block_size, batch, dtype, block_size, shards=n_devices)
    variables: dict[str, Number] = {
        "memory_bytes": memory_bytes,
        "reserve_bytes": reserve_bytes,
        "weight_bytes": weight_bytes,
        "block_size": block_size,
        "bytes_per_block": block.value * n_devices,
    }
    spare = "memory_bytes - reserve_bytes - weight_bytes"
    if state_bytes_each:
        variables["state_bytes"] = state_bytes_each * batch
        spare += " - state_bytes"
    expression = f"block_size * max(0, floor(({spare}) / bytes_per_block))"
    return Formula("max_context", expression, variables, "tokens")


def crossing_context(model: ModelSpec, n_bytes: Number, batch: int, dtype: Dtype) -> float | None:
    """Return the context at which the caches reach that many bytes; None if never or before 1."""
    return None if n_bytes <= 0 else kv.context_at_bytes(model, n_bytes, batch, dtype)
