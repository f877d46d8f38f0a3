"""What one token's time must consist of at least, before its parts have been measured."""

from __future__ import annotations

from core.machine.records import Part


def floor_parts(
    itl_s: float, weight_bytes: int, kv_bytes: int, bandwidth_bytes_per_s: float
) -> tuple[Part, ...]:
    """Split a latency by bytes over the measured bandwidth; what is left over is the rest.

    A step faster than the floor (a cache, or reads that were disturbed) has no rest: its bytes
    share the time it took.

    Raises: ValueError unless the latency and the bandwidth are above 0.

    >>> [(p.name, round(p.seconds, 3)) for p in floor_parts(0.010, 7_000_000, 1_000_000, 1e9)]
    [('weight reads', 0.007), ('K/V reads', 0.001), ('the rest', 0.002)]
    >>> sum(p.seconds for p in floor_parts(0.004, 7_000_000, 1_000_000, 1e9))
    0.004
    """
    if itl_s <= 0 or bandwidth_bytes_per_s <= 0:
        raise ValueError(
            f"itl_s and bandwidth_bytes_per_s must be above 0, got {itl_s} and "
            f"{bandwidth_bytes_per_s}"
        )
    floor_s = (weight_bytes + kv_bytes) / bandwidth_bytes_per_s
    scale = min(1.0, itl_s / floor_s) if floor_s else 1.0
    weights_s = scale * weight_bytes / bandwidth_bytes_per_s
    kv_s = scale * kv_bytes / bandwidth_bytes_per_s
    how = "bytes at the bandwidth measured beside the steps"
    if scale < 1:
        how = "the step's time by bytes: it was faster than the reads beside it"
    rest_s = max(0.0, itl_s - weights_s - kv_s)
    return (
        Part("weight reads", weights_s, "modelled", how),
        Part("K/V reads", kv_s, "modelled", how),
        Part("the rest", rest_s, "modelled", "the measured latency less both"),
    )
