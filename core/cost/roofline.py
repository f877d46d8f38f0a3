"""The roofline: when memory binds, when arithmetic does, and how long a step must take."""

from __future__ import annotations

from dataclasses import dataclass

from core.cost import checks
from core.cost.accounting import OpCost
from core.cost.spec import AcceleratorSpec, Bound


@dataclass(frozen=True)
class RooflinePoint:
    """Where some work lies under one accelerator's roof.

    ``seconds`` is the floor: bytes at full bandwidth or FLOPs at full rate, the longer.
    """

    name: str
    flops: int
    n_bytes: int
    intensity: float
    attainable_flops_per_s: float
    memory_s: float
    compute_s: float
    bound: Bound

    @property
    def seconds(self) -> float:
        """The floor on the time."""
        return max(self.memory_s, self.compute_s)


def ridge(flops_per_s: float, bandwidth_bytes_per_s: float) -> float:
    """Return the intensity where both limits meet, peak FLOP/s over bytes/s.

    Raises: ValueError unless both are finite and above 0

    >>> round(ridge(989e12, 3350e9), 2)
    295.22
    """
    peak = checks.positive("flops_per_s", flops_per_s)
    return peak / checks.positive("bandwidth_bytes_per_s", bandwidth_bytes_per_s)


def attainable_flops_per_s(
    intensity: float, flops_per_s: float, bandwidth_bytes_per_s: float
) -> float:
    """Return the roof at that intensity: min(peak, intensity * bandwidth).

    >>> attainable_flops_per_s(1.0, 989e12, 3350e9)
    3350000000000.0
    """
    ridge(flops_per_s, bandwidth_bytes_per_s)
    checks.positive("intensity", intensity)
    return min(flops_per_s, intensity * bandwidth_bytes_per_s)


def floor_seconds(
    n_bytes: float, flops: float, bandwidth_bytes_per_s: float, flops_per_s: float
) -> float:
    """Return max(bytes / bandwidth, FLOPs / peak), the least time the work can take.

    >>> round(floor_seconds(14e9, 14e9, 800e9, 82e12), 6)
    0.0175
    """
    ridge(flops_per_s, bandwidth_bytes_per_s)
    return max(n_bytes / bandwidth_bytes_per_s, flops / flops_per_s)


def bound_by(n_bytes: float, flops: float, bandwidth_bytes_per_s: float, peak: float) -> Bound:
    """Return what sets the floor; at the ridge itself it is still memory."""
    return "compute" if flops / peak > n_bytes / bandwidth_bytes_per_s else "memory"


def roofline_point(cost: OpCost, accelerator: AcceleratorSpec, name: str = "") -> RooflinePoint:
    """Return the dot of some work on an accelerator; activations count as bytes moved."""
    bandwidth, peak = accelerator.bandwidth_bytes_per_s, accelerator.flops_per_s
    return RooflinePoint(
        name=name or cost.name,
        flops=cost.flops,
        n_bytes=cost.total_bytes,
        intensity=cost.intensity,
        attainable_flops_per_s=min(peak, cost.intensity * bandwidth),
        memory_s=cost.total_bytes / bandwidth,
        compute_s=cost.flops / peak,
        bound=bound_by(cost.total_bytes, cost.flops, bandwidth, peak),
    )


def critical_rows(accelerator: AcceleratorSpec, bytes_per_weight: float) -> float:
    """Return the rows at which a sweep of the weights reaches the ridge: ridge * b / 2.

    >>> v5e = AcceleratorSpec("v5e", 8.2e11, 1.97e14, None)
    >>> round(critical_rows(v5e, 2), 1)
    240.2
    """
    width = checks.positive("bytes_per_weight", bytes_per_weight)
    return accelerator.ridge_flops_per_byte * width / 2


def bandwidth_from_clock(memory_clock_hz: float, bus_bits: int) -> float:
    """Return double-data-rate bandwidth: two transfers a cycle, counted once.

    Units: bytes per second

    >>> bandwidth_from_clock(2619e6, 5120) / 1e9
    3352.32
    """
    clock = checks.positive("memory_clock_hz", memory_clock_hz)
    return 2 * clock * checks.whole("bus_bits", bus_bits, 1, 10**6) / 8
