"""A clock that waits for the device before it is read.

A device works on after the call that started it has returned, so every reading waits first.
The clock is an argument of every measurement; tests hand in a fake one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

MAX_CALLS = 10_000


@dataclass(frozen=True)
class DeviceClock:
    """Wall time read after the device has finished what it was given."""

    now_ns: Callable[[], int]
    wait: Callable[[], None]

    def stamp_ns(self) -> int:
        """Wait for the device, then read the clock."""
        self.wait()
        return self.now_ns()

    def time_s(self, work: Callable[[], object], n_calls: int = 1) -> float:
        """Seconds per call of ``n_calls`` back-to-back calls, one wait at both ends."""
        start = self.stamp_ns()
        for _ in range(n_calls):
            work()
        return (self.stamp_ns() - start) / n_calls / 1e9


def clock_for(device: torch.device) -> DeviceClock:
    """The clock with the device's own wait: CUDA's, MPS's, or none on the CPU."""
    if device.type == "cuda":
        return DeviceClock(time.perf_counter_ns, lambda: torch.cuda.synchronize(device))
    if device.type == "mps":
        return DeviceClock(time.perf_counter_ns, torch.mps.synchronize)
    return DeviceClock(time.perf_counter_ns, lambda: None)


def calls_for(clock: DeviceClock, work: Callable[[], object], span_s: float) -> int:
    """How many back-to-back calls take about ``span_s``, after one that is not counted.

    One call of a small model is shorter than what disturbs it; a span of many is not.
    """
    work()
    return max(1, min(MAX_CALLS, round(span_s / max(clock.time_s(work), 1e-9))))
