"""This host as a roof: its measured bandwidth, and the fastest pass that was timed on it.

No data sheet is needed. The ceiling is what some measured pass reached, so the true one is at
least that; a host that has measured no pass yet has no roof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.cost.accounting import Pass, forward_total
from core.cost.spec import AcceleratorSpec
from core.machine.records import MeasureResult

NAME = "This host, measured"


def host_roof(results: Sequence[MeasureResult]) -> AcceleratorSpec | None:
    """Return the roof of the device that was measured last, or nothing.

    Bandwidth: the best median of its read probes. Ceiling: FLOPs over seconds of its fastest
    decode step or prefill.
    """
    if not results:
        return None
    name = results[0].device.name
    same = [result for result in results if result.device.name == name]
    rates = [rate for result in same for rate in _rates(result)]
    if not rates:
        return None
    return AcceleratorSpec(
        NAME,
        bandwidth_bytes_per_s=max(result.probe.median_bytes_per_s for result in same),
        flops_per_s=max(rates),
        memory_bytes=None,
        kind="measured",
        source=f"measured here on {name}, {same[0].conditions.date_utc}",
        verified="yes",
        note="Bandwidth is the median of the read probe; the ceiling is the fastest pass that was "
        "timed, so the true one is at least that",
    )


def _rates(result: MeasureResult) -> Iterator[float]:
    """Arithmetic per second that each timed pass reached."""
    for point in result.points:
        yield point.flops / point.itl_s.p50
    if result.prefill is not None and result.config is not None:
        n_tokens = result.prefill.n_tokens
        work = forward_total(result.config, Pass(n_tokens, n_tokens, 1, result.dtype, result.dtype))
        yield work.flops / result.prefill.seconds
