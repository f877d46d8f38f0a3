"""What a benchmark reports, and the interleaved timing that all of them share."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured figure, with its target where it has one.

    ``at_least`` and ``at_most`` are bounds on ``value``; a figure without either is told only.
    """

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the target holds; None where there is none."""
        if self.at_least is None and self.at_most is None:
            return None
        above = self.at_least is None or self.value >= self.at_least
        return above and (self.at_most is None or self.value <= self.at_most)

    @property
    def target(self) -> str:
        """The target in words, empty where there is none."""
        parts = []
        if self.at_least is not None:
            parts.append(f">= {self.at_least:g}")
        if self.at_most is not None:
            parts.append(f"<= {self.at_most:g}")
        return ", ".join(parts)


def interleaved_s(
    ways: Mapping[str, Callable[[], object]], rounds: int, warm_ups: int = 1
) -> dict[str, list[float]]:
    """Time several ways turn by turn, so that a busy host slows all of them alike.

    Units: returns seconds per call, one entry a round, under each way's name
    """
    for _ in range(warm_ups):
        for way in ways.values():
            way()
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - start)
    return times


def median_ratio(numerator: Sequence[float], denominator: Sequence[float]) -> float:
    """The median of the rounds' ratios, which a slow spell cannot move.

    >>> median_ratio([2.0, 9.0, 4.0], [1.0, 3.0, 2.0])
    2.0
    """
    return statistics.median(n / d for n, d in zip(numerator, denominator, strict=True))
