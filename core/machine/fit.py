"""Straight lines through measured step times: fixed cost, bandwidth, and bytes per token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LineFit:
    """t = t0 + x * slope by least squares; r2 is the share of the variance it explains."""

    t0_s: float
    slope: float
    r2: float

    @property
    def bandwidth_bytes_per_s(self) -> float | None:
        """1 / slope where x is bytes; None where more bytes took no longer."""
        return 1 / self.slope if self.slope > 0 else None


def fit_line(x: Sequence[float], t_s: Sequence[float]) -> LineFit:
    """Fit seconds against bytes (or context); the slope's unit is seconds per unit of x.

    Raises: ValueError unless two different x are given, with one time each.

    >>> fit_line([0.0, 1e9, 2e9], [0.001, 0.021, 0.041])
    LineFit(t0_s=0.001, slope=2e-11, r2=1.0)
    """
    if len(x) != len(t_s) or len(set(x)) < 2:
        raise ValueError(f"a line needs 2 different x with one time each, got {len(set(x))}")
    mean_x, mean_t = sum(x) / len(x), sum(t_s) / len(t_s)
    spread_x = sum((v - mean_x) ** 2 for v in x)
    slope = sum((v - mean_x) * (t - mean_t) for v, t in zip(x, t_s, strict=True)) / spread_x
    t0 = mean_t - slope * mean_x
    total = sum((t - mean_t) ** 2 for t in t_s)
    missed = sum((t - t0 - slope * v) ** 2 for v, t in zip(x, t_s, strict=True))
    r2 = 1.0 - missed / total if total else 1.0
    return LineFit(round(t0, 15), round(slope, 20), round(r2, 12))
