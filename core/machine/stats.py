"""Statistics of samples: numpy's percentiles, nothing dropped, warm-up apart; no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.decode.latency import percentile

MIN_N_FOR_P99 = 200
"""Samples below which fewer than two lie beyond the 99th percentile."""


@dataclass(frozen=True)
class Spread:
    """Percentiles, extremes and the relative interquartile range of one set of samples."""

    p50: float
    p90: float
    p99: float
    min: float
    max: float
    mean: float
    iqr_over_p50: float
    n: int

    def percentiles(self) -> dict[str, float | int]:
        """The part that every latency readout shows: p50, p90, p99, min and n."""
        return {"p50": self.p50, "p90": self.p90, "p99": self.p99, "min": self.min, "n": self.n}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the number of samples cannot support."""
        if self.n >= MIN_N_FOR_P99:
            return ()
        return (f"p99 of {self.n} samples rests on fewer than 2 of them; 200 are needed.",)


def spread(values: Sequence[float]) -> Spread:
    """Summarise samples; nothing is dropped.

    Raises: ValueError if there is none.

    >>> s = spread([3.0, 1.0, 2.0])
    >>> s.p50, s.min, s.n, s.iqr_over_p50
    (2.0, 1.0, 3, 0.5)
    """
    middle = percentile(values, 50)
    iqr = percentile(values, 75) - percentile(values, 25)
    return Spread(
        p50=middle,
        p90=percentile(values, 90),
        p99=percentile(values, 99),
        min=float(min(values)),
        max=float(max(values)),
        mean=sum(values) / len(values),
        iqr_over_p50=iqr / middle if middle else 0.0,
        n=len(values),
    )


def split_warm_up(
    samples: Sequence[float], n_warm_up: int = 1
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return (warm-up, timed): the first steps pay for set-up and are shown beside the rest.

    Raises: ValueError unless at least one timed sample is left.

    >>> split_warm_up([412, 31, 30])
    ((412,), (31, 30))
    """
    if not 0 <= n_warm_up < len(samples):
        raise ValueError(
            f"n_warm_up must be 0 to {len(samples) - 1} for {len(samples)} samples, got {n_warm_up}"
        )
    return tuple(samples[:n_warm_up]), tuple(samples[n_warm_up:])
