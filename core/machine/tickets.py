"""A place in the queue of measurements, and what its watchers are shown; no torch."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.machine.counters import Reading
from core.machine.live import LiveFigures, LiveState
from core.machine.load import OtherLoad
from core.machine.records import DeviceInfo, MeasureResult
from core.machine.spec import MeasureSpec

State = Literal["queued", "running", "done", "failed", "stopped", "gone"]
ENDED: tuple[State, ...] = ("done", "failed", "stopped", "gone")


@dataclass(frozen=True)
class TicketView:
    """One moment of a measurement, the same for everybody who watches.

    ahead: measurements that come first. reads and steps: (seconds since the start, bytes per
    second) and (seconds since the start, inter-token latency), the newest last. by_point: live
    figures of every point of a sweep. why: the sentence that says why it failed or stopped.
    age_s: since it ended, 0 before.
    """

    id: int
    spec: MeasureSpec | None
    state: State
    ahead: int = 0
    n_watchers: int = 0
    stage: str = ""
    fraction: float = 0.0
    text: str = ""
    device: DeviceInfo | None = None
    reads: tuple[tuple[float, float], ...] = ()
    steps: tuple[tuple[float, float], ...] = ()
    n_steps: int = 0
    figures: LiveFigures | None = None
    by_point: tuple[LiveFigures, ...] = ()
    readings: tuple[Reading, ...] = ()
    load: OtherLoad | None = None
    result: MeasureResult | None = None
    why: str = ""
    elapsed_s: float = 0.0
    age_s: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in ENDED


@dataclass(frozen=True)
class KeptResult:
    """A finished measurement, shown to everybody with its age."""

    id: int
    result: MeasureResult
    age_s: float


class Ticket:
    """One measurement asked for; everything here is guarded by the service's lock."""

    def __init__(self, number: int, spec: MeasureSpec, now_s: Callable[[], float]) -> None:
        self.id, self.spec = number, spec
        self.state: State = "queued"
        self.live = LiveState()
        self.result: MeasureResult | None = None
        self.why = ""
        self.readings: tuple[Reading, ...] = ()
        self.load: OtherLoad | None = None
        self.started_s: float | None = None
        self.ended_s = 0.0
        self.askers: set[str] = set()
        self._now_s = now_s
        self._seen: dict[str, float] = {}

    def beat(self, watcher: str) -> None:
        """Note that somebody watches."""
        self._seen[watcher] = self._now_s()

    def ask(self, watcher: str) -> None:
        """Note that somebody wants it measured, and watches."""
        self.askers.add(watcher)
        self.beat(watcher)

    def leave(self, watcher: str) -> None:
        """Forget a watcher at once."""
        self._seen.pop(watcher, None)

    def watchers(self, silent_after_s: float) -> int:
        """Those heard of lately; the others are forgotten."""
        oldest = self._now_s() - silent_after_s
        self._seen = {who: seen for who, seen in self._seen.items() if seen >= oldest}
        return len(self._seen)

    def end(self, state: State, why: str = "") -> None:
        """Settle the ticket."""
        self.state, self.why, self.ended_s = state, why, self._now_s()

    def elapsed_s(self) -> float:
        """Seconds it has run, or ran; 0 before it starts."""
        if self.started_s is None:
            return 0.0
        return (self.ended_s if self.state in ENDED else self._now_s()) - self.started_s

    def view(self, ahead: int, silent_after_s: float, n_samples: int) -> TicketView:
        """What is shown now, with the newest ``n_samples`` of each series."""
        live = self.live
        return TicketView(
            id=self.id,
            spec=self.spec,
            state=self.state,
            ahead=ahead,
            n_watchers=self.watchers(silent_after_s),
            stage=live.stage,
            fraction=live.fraction,
            text=live.text,
            device=live.device,
            reads=_newest(live.reads, n_samples),
            steps=_newest(live.steps, n_samples),
            n_steps=live.n_steps,
            figures=live.figures,
            by_point=tuple(live.by_point.values()),
            readings=self.readings,
            load=self.load,
            result=self.result,
            why=self.why,
            elapsed_s=self.elapsed_s(),
            age_s=self._now_s() - self.ended_s if self.state in ENDED else 0.0,
        )


def _newest(series: deque[tuple[float, float]], n_samples: int) -> tuple[tuple[float, float], ...]:
    start = max(0, len(series) - n_samples)
    return tuple(itertools.islice(series, start, None))
