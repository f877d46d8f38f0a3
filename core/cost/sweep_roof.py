"""Where a sweep of R rows lies under a roof, and how many rows it takes to reach the ridge."""

from __future__ import annotations

import math
from dataclasses import replace

from core.cost.accounting import OpCost, matmul_cost
from core.cost.dtypes import NumberFormat


def without_activations(cost: OpCost) -> OpCost:
    """Return the work with only weights and the cache counted as bytes moved.

    >>> without_activations(matmul_cost(4096, 4096, 1, "float16")).intensity
    1.0
    """
    return replace(cost, activation_read_bytes=0, activation_write_bytes=0)


def rows_to_ridge(
    d_in: int,
    d_out: int,
    dtype: str | NumberFormat,
    ridge_flops_per_byte: float,
    *,
    count_activations: bool = False,
) -> int | None:
    """Return the least rows at which a sweep is right of the ridge, None if no number is.

    On weights alone R rows do 2 R d_in d_out FLOPs for the same bytes, so some R always is.
    Activations grow with R too, and a small matrix never gets past
    2 d_in d_out / ((d_in + d_out) a) FLOP per byte, a being their bytes per number.

    Raises: ValueError for a size below 1, or a ridge that is not a number above 0

    >>> rows_to_ridge(4096, 4096, "bfloat16", 295.22)
    296
    >>> rows_to_ridge(4096, 4096, "bfloat16", 295.22, count_activations=True)
    345
    >>> rows_to_ridge(128, 352, "bfloat16", 295.22, count_activations=True) is None
    True
    """
    if not 0 < ridge_flops_per_byte < math.inf:
        raise ValueError(f"the ridge must be a number above 0, got {ridge_flops_per_byte}")
    one = matmul_cost(d_in, d_out, 1, dtype)
    moved = one.activation_bytes if count_activations else 0
    gain = one.flops - ridge_flops_per_byte * moved
    if gain <= 0:
        return None
    return math.floor(ridge_flops_per_byte * one.weight_bytes / gain) + 1
