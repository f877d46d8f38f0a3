"""One measurement from begin to end: device, weights, products, threads, probe, steps, parts.

The probe, the bare products and the decode steps take turns, so that a load that comes and
goes slows all three alike and their ratios stay honest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from core.decode.latency import percentile
from core.machine.bench import DecodeRunner
from core.machine.caches import stays_in_cache
from core.machine.conditions import conditions
from core.machine.decomposition import decompose, waterfall
from core.machine.device import available_memory_bytes, find_device
from core.machine.fit import LineFit, fit_line
from core.machine.jsonable import to_plain
from core.machine.load import LoadMeter, free_cpus_lately
from core.machine.prefill import time_prefill
from core.machine.prepare import Preparation
from core.machine.probe import MIN_RUNS, ReadProbe
from core.machine.records import (
    Bar,
    DecodePoint,
    DeviceInfo,
    MeasureResult,
    Part,
    PrefillTime,
    ProbeResult,
)
from core.machine.series import Series
from core.machine.spec import MeasureSpec
from core.machine.timing import clock_for

Emit = Callable[[dict[str, Any]], None]

MAX_ROUNDS = 8
DRIFT = 0.05
ATTENTION_RUNS = 5


def measure(
    spec: MeasureSpec, emit: Emit = lambda event: None, *, parts: bool = True
) -> MeasureResult:
    """Make the measurement; progress and samples go to ``emit`` as plain dictionaries.

    ``parts`` says whether a single bench is also taken apart with the profiler. The thread
    count of the process is left as the measurement chose it.

    Raises: ValueError if the device is not there or the model does not fit.
    """
    return Measurement(spec, emit, parts=parts).run()


class Measurement:
    """The state of one measurement; :meth:`run` is called once."""

    def __init__(self, spec: MeasureSpec, emit: Emit, *, parts: bool) -> None:
        self._spec, self._emit, self._wants_parts = spec, emit, parts
        self._begin_s = time.perf_counter()
        self._device = find_device(spec.device)
        self._clock = clock_for(self._device.torch_device)
        self._rates: list[float] = []
        emit({"event": "device", "device": to_plain(self._device)})

    def run(self) -> MeasureResult:
        """Measure everything that the spec asks for."""
        prepared, series = None, []
        if self._spec.n_threads is not None:
            torch.set_num_threads(self._spec.n_threads)
        elif self._device.kind == "cpu":
            torch.set_num_threads(free_cpus_lately(self._device.n_cpus))
        if self._spec.kind != "probe":
            prepared = Preparation(self._spec, self._device, self._clock, self._say)
            series = [Series.start(runner) for runner in prepared.runners()]
        meter = LoadMeter()
        probe = self._probe()
        self._rounds(probe, series)
        load = meter.read()
        bandwidth = probe.result(tuple(self._rates))
        beside = [sum(pair) / 2 for pair in zip(self._rates[::2], self._rates[1::2], strict=False)]
        nominal = self._device.nominal_bandwidth_bytes_per_s
        points = tuple(one.point(bandwidth, beside, nominal) for one in series)
        parts, bars = self._parts(series, points, bandwidth)
        probe.release()
        read = min((p.weight_bytes_read for p in points), default=bandwidth.buffer_bytes)
        cached = stays_in_cache(read, self._device.last_level_cache_bytes)
        notes = [*(prepared.notes if prepared else ()), *bandwidth.notes]
        notes += [load.warning] if load.warning else []
        notes += self._closing_notes(points, cached)
        return MeasureResult(
            spec=self._spec,
            device=self._device,
            conditions=conditions(self._device),
            config=prepared.config if prepared else None,
            dtype=self._spec.dtype,
            n_threads=torch.get_num_threads(),
            thread_sweep=prepared.thread_sweep if prepared else (),
            products=tuple(prepared.products) if prepared else (),
            probe=bandwidth,
            points=points,
            fit=_fit(points),
            parts=parts,
            bars=bars,
            prefill=self._prefill(series),
            other_load_cores=load.cores,
            cache_resident=cached,
            elapsed_s=self._now_s(),
            notes=tuple(notes),
        )

    def _now_s(self) -> float:
        return time.perf_counter() - self._begin_s

    def _say(self, stage: str, fraction: float, text: str) -> None:
        self._emit({"event": "progress", "stage": stage, "fraction": fraction, "text": text})

    def _probe(self) -> ReadProbe:
        device = replace(self._device, memory_free_bytes=_free_now(self._device))
        self._say("probe", 0.0, "writing the probe's buffer")
        probe = ReadProbe(device, self._spec.probe_bytes, self._clock)
        for share in probe.prepare():
            self._say("probe", share, "choosing the fastest read")
        return probe

    def _rounds(self, probe: ReadProbe, series: list[Series]) -> None:
        """Turn by turn: a read, then per point bare products and steps, then a read."""
        n_steps = self._spec.n_steps
        n_rounds = min(MAX_ROUNDS, n_steps) if series else max(MIN_RUNS, n_steps)
        for index in range(n_rounds):
            self._read(probe)
            share = n_steps // n_rounds + (index < n_steps % n_rounds)
            for one in series:
                one.take(share, self._report)
            if series:
                self._read(probe)
            self._say("measuring", (index + 1) / n_rounds, "measuring")

    def _read(self, probe: ReadProbe) -> None:
        self._rates.append(probe.read())
        self._emit({"event": "read", "t_s": self._now_s(), "bytes_per_s": self._rates[-1]})

    def _report(self, runner: DecodeRunner, itl_s: list[float]) -> None:
        traffic = runner.traffic()
        self._emit(
            {
                "event": "steps",
                "t_s": self._now_s(),
                "batch_size": runner.batch_size,
                "context_len": runner.context_len,
                "weight_bytes": traffic.weight_bytes,
                "kv_bytes": traffic.kv_bytes,
                "itl_s": itl_s,
            }
        )

    def _parts(
        self, series: list[Series], points: tuple[DecodePoint, ...], bandwidth: ProbeResult
    ) -> tuple[tuple[Part, ...], tuple[Bar, ...]]:
        """Where the time of a single bench's step goes."""
        if self._spec.kind != "decode" or not self._wants_parts:
            return (), ()
        self._say("parts", 0.0, "timing the parts of a step")
        runner, point = series[0].runner, points[0]
        attention = runner.attention_alone()
        parts = decompose(
            point.itl_s.p50,
            point.bare_products_s,
            percentile([attention() for _ in range(ATTENTION_RUNS)], 50),
            point.kv_bytes_read,
            bandwidth.median_bytes_per_s,
        )
        return parts, waterfall(runner.eager_step, self._device.torch_device)

    def _prefill(self, series: list[Series]) -> PrefillTime | None:
        """The pause before the first token, with the weights of a single bench."""
        if self._spec.kind != "decode" or not self._wants_parts:
            return None
        self._say("prefill", 0.0, "timing one prefill")
        runner = series[0].runner
        return time_prefill(runner.config, runner.weights, self._clock)

    def _closing_notes(self, points: tuple[DecodePoint, ...], cached: bool | None) -> list[str]:
        notes = []
        size = self._device.last_level_cache_bytes
        if points and cached and size is not None:
            notes.append(
                f"The weights ({points[0].weight_bytes_read / 1e6:.1f} MB) can stay, in part or "
                f"whole, in the {size / 1e6:.0f} MB last-level cache. Steps may then beat the "
                "memory floor: this is a figure of the cache, not of the memory."
            )
        if cached is None:
            notes.append("The size of the last-level cache is not known; figures may be of it.")
        if points:
            notes.append(
                "The context is held: every step attends to the same number of tokens, and the "
                "token it appends is taken back."
            )
            notes += list(points[0].itl_s.notes)
        third = max(1, len(self._rates) // 3)
        before, after = (percentile(r, 50) for r in (self._rates[:third], self._rates[-third:]))
        if abs(after / before - 1) > DRIFT:
            notes.append(
                f"The read bandwidth drifted by {after / before - 1:+.0%} during the run: other "
                "load, clocks or heat."
            )
        return notes


def _fit(points: tuple[DecodePoint, ...]) -> LineFit | None:
    """A line through a sweep; None where bytes do not explain the times (load, arithmetic)."""
    if len({point.bytes_read for point in points}) < 2:
        return None
    fit = fit_line([p.bytes_read for p in points], [p.itl_s.p50 for p in points])
    return fit if fit.slope > 0 and fit.t0_s >= 0 else None


def _free_now(device: DeviceInfo) -> int | None:
    if device.kind == "cuda":
        return int(torch.cuda.mem_get_info(device.torch_device)[0])
    return device.memory_free_bytes if device.kind == "mps" else available_memory_bytes()
