"""The samples of one point, taken in rounds beside bare products and reads, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from core.decode.latency import percentile
from core.machine.bench import N_WARM_UP, DecodeRunner
from core.machine.records import DecodePoint, ProbeResult
from core.machine.stats import spread

REPORT_EVERY_S = 0.15
"""Samples are handed over in pieces of about this length, between two timed stretches."""
BLOCK_S = 0.3


@dataclass
class Round:
    """One turn: the steps, and the bare products timed just before them."""

    itl_s: list[float]
    bare_s: float
    block_s: float


@dataclass
class Series:
    """A runner with all rounds taken from it."""

    runner: DecodeRunner
    bare: Callable[[], float]
    warm_up_s: list[float]
    rounds: list[Round] = field(default_factory=list)

    @staticmethod
    def start(runner: DecodeRunner) -> Series:
        """Warm the runner up; the first steps are kept apart."""
        bare = runner.bare_products()
        return Series(runner, bare, runner.time_steps(N_WARM_UP))

    def take(self, n_steps: int, report: Callable[[DecodeRunner, list[float]], None]) -> None:
        """One round of ``n_steps`` timed steps, reported in pieces."""
        bare_s = self.bare()
        self.runner.step()  # puts back into the caches what a step leaves there
        typical_s = percentile(self.warm_up_s[1:], 50)
        piece = max(1, round(REPORT_EVERY_S / typical_s))
        itl_s: list[float] = []
        while len(itl_s) < n_steps:
            times = self.runner.time_steps(min(piece, n_steps - len(itl_s)))
            itl_s += times
            report(self.runner, times)
        n_block = max(1, min(n_steps, round(BLOCK_S / typical_s)))
        self.rounds.append(Round(itl_s, bare_s, self.runner.time_block(n_block)))

    def point(
        self, bandwidth: ProbeResult, beside_bytes_per_s: list[float], nominal: float | None
    ) -> DecodePoint:
        """Summarise: achieved is bytes over the median step; ratios also round by round.

        ``beside_bytes_per_s`` is the bandwidth read around each round.
        """
        runner, traffic = self.runner, self.runner.traffic()
        samples = [value for turn in self.rounds for value in turn.itl_s]
        itl = spread(samples)
        achieved = traffic.total_bytes / itl.p50
        middles = [percentile(turn.itl_s, 50) for turn in self.rounds]
        to_bare = [turn.bare_s / middle for turn, middle in zip(self.rounds, middles, strict=True)]
        to_probe = [
            traffic.total_bytes / middle / read
            for middle, read in zip(middles, beside_bytes_per_s, strict=True)
        ]
        return DecodePoint(
            batch_size=runner.batch_size,
            context_len=runner.context_len,
            product=runner.choice.label,
            fused_attention=runner.fused,
            graphed=runner.graphed,
            weight_bytes_read=traffic.weight_bytes,
            kv_bytes_read=traffic.kv_bytes,
            flops=traffic.flops,
            warm_up_s=tuple(self.warm_up_s),
            itl_samples_s=tuple(samples),
            itl_s=itl,
            block_itl_s=percentile([turn.block_s for turn in self.rounds], 50),
            bare_products_s=percentile([turn.bare_s for turn in self.rounds], 50),
            floor_s=traffic.floor_s(bandwidth.median_bytes_per_s),
            achieved_bytes_per_s=achieved,
            fraction_of_measured_bandwidth=achieved / bandwidth.median_bytes_per_s,
            fraction_of_nominal_bandwidth=achieved / nominal if nominal else None,
            fraction_of_bare_products=percentile(to_bare, 50),
            paired_fraction_of_bandwidth=percentile(to_probe, 50),
        )
