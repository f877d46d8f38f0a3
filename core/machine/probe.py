"""Sustained read bandwidth: how fast this device can read memory that is in no cache.

Decode reads, so the probe reads: no copy, whose writes would be counted too. The buffer is
far larger than the last-level cache and was written once (pages never written all read the
same zeros from cache). Which read-only call is fastest differs by machine, so a few are
tried and the largest figure counts; the winner is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from core.decode.latency import percentile
from core.machine.caches import stays_in_cache
from core.machine.device import MIN_PROBE_BYTES
from core.machine.records import DeviceInfo, ProbeResult
from core.machine.stats import spread
from core.machine.timing import DeviceClock, clock_for

COLUMNS = 4096
CACHES_FILLED = 8
"""The probe's buffer is this many last-level caches, where memory allows."""
WARM_UP_S = {"cpu": 0.2, "cuda": 1.0, "mps": 1.0}
MIN_SPAN_S = {"cpu": 0.0, "cuda": 0.020, "mps": 0.050}
"""Clocks of a GPU ramp up with time, and one wait must be small beside the span it closes."""
MIN_RUNS = 15
TRIES = 3


def probe_bytes(device: DeviceInfo) -> int:
    """Size of the probe's buffer: past all caches, at most a quarter of the free memory.

    >>> probe_bytes(DeviceInfo("cpu", "cpu", "", "", None, 16 * 10**9, 2**25)) / 1e6
    512.0
    """
    wanted = max(MIN_PROBE_BYTES[device.kind], CACHES_FILLED * (device.last_level_cache_bytes or 0))
    free = device.memory_free_bytes
    return wanted if free is None else min(wanted, free // 4)


class ReadProbe:
    """A buffer and the fastest way found to read it once.

    Raises: ValueError if ``n_bytes`` is below one row, or more than a quarter of what is free.
    """

    def __init__(
        self, device: DeviceInfo, n_bytes: int | None = None, clock: DeviceClock | None = None
    ) -> None:
        self.device = device
        self._clock = clock or clock_for(device.torch_device)
        self.kernel = ""
        self._calls_per_run = 1
        rows = _checked_bytes(device, n_bytes) // (4 * COLUMNS)
        self._matrix = torch.ones(rows, COLUMNS, device=device.torch_device)
        self._vector = torch.ones(COLUMNS, device=device.torch_device)

    @property
    def buffer_bytes(self) -> int:
        """Bytes that one pass reads."""
        return self._matrix.numel() * self._matrix.element_size()

    def kernels(self) -> dict[str, Callable[[], object]]:
        """The read-only calls that compete on this device."""
        numbers = self._matrix.view(-1)
        calls: dict[str, Callable[[], object]] = {
            "float32 sum": numbers.sum,
            f"float32 matrix-vector product, {COLUMNS} columns": lambda: torch.mv(
                self._matrix, self._vector
            ),
        }
        if self.device.kind == "cpu":
            integers = numbers.view(torch.int64)
            calls["int64 maximum"] = integers.amax
        return calls

    def prepare(self) -> Iterator[float]:
        """Warm up by wall clock and choose the fastest call; yields the share that is done."""
        calls = self.kernels()
        start_ns = self._clock.stamp_ns()
        best = {name: float("inf") for name in calls}
        for done in range(TRIES):
            for name, call in calls.items():
                best[name] = min(best[name], self._clock.time_s(call))
            yield (done + 1) / (TRIES + 1)
        self.kernel = min(best, key=best.__getitem__)
        span_s = MIN_SPAN_S[self.device.kind]
        self._calls_per_run = max(1, round(span_s / best[self.kernel] + 0.5)) if span_s else 1
        while (self._clock.stamp_ns() - start_ns) / 1e9 < WARM_UP_S[self.device.kind]:
            self._clock.time_s(calls[self.kernel], self._calls_per_run)
        yield 1.0

    def read(self) -> float:
        """One run: bytes per second of one pass, or of as many as a short pass needs.

        Raises: ValueError before :meth:`prepare` has run to its end.
        """
        if not self.kernel:
            raise ValueError("prepare() must be run to its end before read()")
        call = self.kernels()[self.kernel]
        if self.device.kind == "cuda":
            return self.buffer_bytes / self._cuda_seconds(call)
        return self.buffer_bytes / self._clock.time_s(call, self._calls_per_run)

    def _cuda_seconds(self, call: Callable[[], object]) -> float:
        """Seconds per call between two events on the device's own clock."""
        n_calls = max(10, self._calls_per_run)
        with torch.cuda.device(self.device.torch_device):
            begin, end = (
                torch.Event("cuda", enable_timing=True),
                torch.Event("cuda", enable_timing=True),
            )
            begin.record()
            for _ in range(n_calls):
                call()
            end.record()
            end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3 / n_calls

    def result(self, runs_bytes_per_s: tuple[float, ...]) -> ProbeResult:
        """Summarise runs, with what spoils them."""
        stats = spread(runs_bytes_per_s)
        cached = stays_in_cache(self.buffer_bytes, self.device.last_level_cache_bytes)
        notes = []
        if cached:
            notes.append(
                f"The probe's {self.buffer_bytes / 1e6:.0f} MB may partly stay in the last-level "
                "cache: this is not a figure of the memory alone."
            )
        return ProbeResult(
            kernel=self.kernel,
            buffer_bytes=self.buffer_bytes,
            n_threads=torch.get_num_threads(),
            runs_bytes_per_s=runs_bytes_per_s,
            median_bytes_per_s=percentile(runs_bytes_per_s, 50),
            best_bytes_per_s=stats.max,
            iqr_over_median=stats.iqr_over_p50,
            cache_resident=cached,
            notes=tuple(notes),
        )

    def release(self) -> None:
        """Give the buffer back."""
        del self._matrix, self._vector
        if self.device.kind == "cuda":
            torch.cuda.empty_cache()
        elif self.device.kind == "mps":
            torch.mps.empty_cache()


def _checked_bytes(device: DeviceInfo, n_bytes: int | None) -> int:
    if n_bytes is None:
        return probe_bytes(device)
    free = device.memory_free_bytes
    limit = n_bytes if free is None else free // 4
    if not 4 * COLUMNS <= n_bytes <= limit:
        raise ValueError(
            f"the probe's buffer must be {4 * COLUMNS} to {limit} bytes "
            f"(a quarter of what is free), got {n_bytes}"
        )
    return n_bytes
