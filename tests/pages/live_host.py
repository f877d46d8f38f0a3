"""A host whose measurements are scripted: the real queue, with processes that say their lines."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from core.machine.caps import Caps
from core.machine.counters import Reading, counters_not_available
from core.machine.jsonable import to_plain
from core.machine.load import OtherLoad
from core.machine.queue import MeasureService
from core.machine.records import DeviceInfo, MeasureResult
from core.machine.spec import MeasureSpec

PATIENCE = 4000
CPU = DeviceInfo(
    kind="cpu",
    torch_name="cpu",
    name="A processor",
    why="no GPU that torch can use was found",
    memory_total_bytes=16 * 10**9,
    memory_free_bytes=8 * 10**9,
    last_level_cache_bytes=32 * 2**20,
    n_cpus=2,
)


class ScriptedWorker:
    """Says its events at once but for the last, which waits until it is let go."""

    pid = 1

    def __init__(self, events: list[dict[str, Any]], hold: threading.Event) -> None:
        self._events, self._hold = list(events), hold

    def next_event(self, timeout_s: float) -> dict[str, Any] | None:
        if len(self._events) > 1 or (self._events and self._hold.wait(0.01)):
            return self._events.pop(0)
        return None

    def stop(self) -> None:
        """Nothing was started."""


class FixedSampler:
    """Counters and load that do not change."""

    def __init__(self, readings: tuple[Reading, ...], load: OtherLoad) -> None:
        self.readings, self.load = readings, load

    def tick(self) -> None:
        """Nothing new."""

    def close(self) -> None:
        """Nothing was opened."""


class ScriptedHost:
    """The queue of a host; ``hold`` lets the running measurement end."""

    def __init__(self, result: MeasureResult, caps: Caps | None = None) -> None:
        self.hold, self.specs = threading.Event(), list[MeasureSpec]()
        self.load = OtherLoad(0.1)
        self.readings = counters_not_available("a processor has none")
        self.now_s = 100.0
        self.last: dict[str, Any] = {"event": "result", "result": to_plain(result)}
        self.steps = [0.020, 0.022, 0.030, 0.021]
        self.service = MeasureService(
            caps=caps or Caps(),
            start=self._start,
            sample=lambda device, pid: FixedSampler(self.readings, self.load),  # type: ignore[arg-type, return-value]
            now_s=lambda: self.now_s,
        )

    def _start(self, spec: MeasureSpec) -> ScriptedWorker:
        self.specs.append(spec)
        events = [
            {"event": "device", "device": to_plain(CPU)},
            {"event": "progress", "stage": "measuring", "fraction": 0.25, "text": "measuring"},
            {"event": "read", "t_s": 0.5, "bytes_per_s": 25e9},
            {
                "event": "steps",
                "t_s": 1.0,
                "batch_size": spec.batch_size,
                "context_len": spec.context_len,
                "weight_bytes": 500_000_000,
                "kv_bytes": 1_000_000,
                "itl_s": self.steps,
            },
            self.last,
        ]
        return ScriptedWorker(events, self.hold)

    def until(self, done: Callable[[], bool]) -> None:
        """Wait for the queue's thread; nothing is asserted by waiting."""
        pause = threading.Event()
        for _ in range(PATIENCE):
            if done():
                return
            pause.wait(0.005)
        raise AssertionError("it never happened")

    def until_timed(self) -> None:
        """Wait until the running measurement has timed its steps."""
        self.until(lambda: self._n_steps() == len(self.steps))

    def _n_steps(self) -> int:
        running = self.service.running()
        return 0 if running is None else self.service.poll(running, "a test").n_steps

    def finish(self) -> None:
        """Let what runs end, and wait until the queue is empty."""
        self.hold.set()
        self.until(lambda: self.service.running() is None and self.service.n_waiting() == 0)
