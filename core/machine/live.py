"""The running measurement as it is watched: figures so far, from the events of its process."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.decode.latency import percentile
from core.machine.jsonable import from_plain
from core.machine.records import DeviceInfo
from core.machine.stats import Spread, spread

KEPT_SAMPLES = 4000
"""Newest steps that are kept for live percentiles (of each point) and for the chart (of all)."""


@dataclass(frozen=True)
class LiveFigures:
    """What the readout shows while steps are timed.

    itl_s: median of the newest few steps. ``bandwidth_bytes_per_s`` is the median of the reads
    made so far. ``floor_s`` is bytes per step over it.

    Units: seconds, bytes
    """

    batch_size: int
    context_len: int
    weight_bytes: int
    kv_bytes: int
    itl_s: float
    spread_s: Spread
    bandwidth_bytes_per_s: float
    nominal_bytes_per_s: float | None

    @property
    def bytes_per_step(self) -> int:
        """Weights and K/V that a step reads."""
        return self.weight_bytes + self.kv_bytes

    @property
    def achieved_bytes_per_s(self) -> float:
        """Bytes over the median step so far."""
        return self.bytes_per_step / self.spread_s.p50

    @property
    def tokens_per_s_per_request(self) -> float:
        """Tokens per second of one sequence."""
        return 1 / self.spread_s.p50

    @property
    def tokens_per_s_total(self) -> float:
        """Tokens per second of the batch."""
        return self.batch_size / self.spread_s.p50

    @property
    def floor_s(self) -> float:
        """Least step time at the bandwidth measured beside."""
        return self.bytes_per_step / self.bandwidth_bytes_per_s

    @property
    def fraction_of_measured_bandwidth(self) -> float:
        """Achieved over measured."""
        return self.achieved_bytes_per_s / self.bandwidth_bytes_per_s

    @property
    def fraction_of_nominal_bandwidth(self) -> float | None:
        """Achieved over the quoted bandwidth, None where none is known."""
        nominal = self.nominal_bytes_per_s
        return self.achieved_bytes_per_s / nominal if nominal else None


class LiveState:
    """Gathers events; the queue's thread writes it under its lock."""

    def __init__(self) -> None:
        self.stage, self.fraction, self.text = "starting", 0.0, "starting a process for it"
        self.device: DeviceInfo | None = None
        self.reads: deque[tuple[float, float]] = deque(maxlen=KEPT_SAMPLES)
        self.steps: deque[tuple[float, float]] = deque(maxlen=KEPT_SAMPLES)
        self.n_steps = 0
        self.figures: LiveFigures | None = None
        self.by_point: dict[tuple[int, int], LiveFigures] = {}
        self._samples: dict[tuple[int, int], deque[float]] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        """Add one event of the measuring process."""
        kind = event["event"]
        if kind == "progress":
            self.stage, self.text = event["stage"], event["text"]
            self.fraction = float(event["fraction"])
        elif kind == "device":
            self.device = from_plain(DeviceInfo, event["device"])
        elif kind == "read":
            self.reads.append((event["t_s"], event["bytes_per_s"]))
        elif kind == "steps":
            self._take_steps(event)

    def _take_steps(self, event: Mapping[str, Any]) -> None:
        point = (event["batch_size"], event["context_len"])
        times: list[float] = event["itl_s"]
        moment = event["t_s"] - sum(times)
        for itl_s in times:
            moment += itl_s
            self.steps.append((moment, itl_s))
        self.n_steps += len(times)
        samples = self._samples.setdefault(point, deque(maxlen=KEPT_SAMPLES))
        samples.extend(times)
        self.figures = self.by_point[point] = LiveFigures(
            batch_size=point[0],
            context_len=point[1],
            weight_bytes=event["weight_bytes"],
            kv_bytes=event["kv_bytes"],
            itl_s=percentile(times, 50),
            spread_s=spread(samples),
            bandwidth_bytes_per_s=percentile([rate for _, rate in self.reads], 50),
            nominal_bytes_per_s=(
                self.device.nominal_bandwidth_bytes_per_s if self.device else None
            ),
        )
