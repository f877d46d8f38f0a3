"""One measurement at a time per host, watched by many: a queue with places, no Streamlit.

Two measurements at once would halve each other's bandwidth, so they wait in order. Who asks
for what is waiting, running or fresh joins it. Whoever polls is a watcher; a measurement that
nobody has watched for a few seconds is stopped, so closing a tab or leaving the page ends it.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from core.machine.caps import Caps
from core.machine.jsonable import from_plain
from core.machine.records import DeviceInfo, MeasureResult
from core.machine.sampler import Sampler
from core.machine.spec import MeasureSpec
from core.machine.tickets import ENDED, KeptResult, State, Ticket, TicketView
from core.machine.worker import Worker, WorkerProcess

FRESH_S = 30.0
"""Who asks again within this time is given the result that is there."""
SILENT_AFTER_S = 12.0
"""A watcher not heard of for this long has gone: browsers slow hidden tabs to one beat a second,
and a server that shares its processors with the measurement may be late by seconds."""
WAIT_S = 0.2
KEPT_RESULTS = 30
KEPT_TICKETS = 100
NOBODY = "nobody watched it any more"
TAKEN_BACK = "whoever asked for it stopped it"

StartWorker = Callable[[MeasureSpec], Worker]
StartSampler = Callable[[DeviceInfo, int], Sampler]


class MeasureService:
    """The host's queue. One object serves every session; all methods may be called by any thread.

    ``caps`` None reads the limits from the environment.
    """

    def __init__(
        self,
        *,
        caps: Caps | None = None,
        start: StartWorker = WorkerProcess,
        sample: StartSampler = Sampler,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.caps = caps or Caps.from_environment(os.environ)
        self._start, self._sample, self._now_s = start, sample, now_s
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._tickets: dict[int, Ticket] = {}
        self._waiting: deque[Ticket] = deque()
        self._running: Ticket | None = None
        self._results: deque[Ticket] = deque(maxlen=KEPT_RESULTS)
        self._thread: threading.Thread | None = None
        self._closing = False

    def join(self, spec: MeasureSpec, watcher: str, *, again: bool = False) -> int:
        """Ask for a measurement and return its ticket; equal questions share one.

        ``again`` measures anew even where a fresh result is there.

        Raises: ValueError with a sentence if it is not allowed here, the queue is full, or the
            service is closed.
        """
        allowed = self.caps.allowed(spec)
        with self._lock:
            if self._closing:
                raise ValueError("The measuring service is shutting down.")
            ticket = self._like(allowed, again)
            if ticket is None:
                if len(self._waiting) >= self.caps.max_queue:
                    raise ValueError("The queue of measurements is full; try again in a minute.")
                ticket = Ticket(next(self._numbers), allowed, self._now_s)
                self._tickets[ticket.id] = ticket
                self._waiting.append(ticket)
                self._forget_old()
            ticket.ask(watcher)
            if self._thread is None and self._waiting:
                self._thread = threading.Thread(target=self._work, name="measure", daemon=True)
                self._thread.start()
            return ticket.id

    def _like(self, spec: MeasureSpec, again: bool) -> Ticket | None:
        """A ticket for the same question that runs, waits, or has just been answered."""
        running = [self._running] if self._running is not None else []
        for ticket in (*running, *self._waiting):
            if ticket.spec == spec:
                return ticket
        for ticket in () if again else reversed(self._results):
            if ticket.spec == spec and self._now_s() - ticket.ended_s < FRESH_S:
                return ticket
        return None

    def _forget_old(self) -> None:
        """Keep the tickets that are alive, have a result that is kept, or are among the newest."""
        kept = {ticket.id for ticket in self._results}
        old = [t for t in self._tickets.values() if t.state in ENDED and t.id not in kept]
        for ticket in old[: max(0, len(old) - KEPT_TICKETS)]:
            del self._tickets[ticket.id]

    def poll(self, ticket_id: int, watcher: str, *, n_samples: int = 400) -> TicketView:
        """What a watcher sees now; polling is also the sign that somebody watches."""
        with self._lock:
            ticket = self._tickets.get(ticket_id)
            if ticket is None:
                return TicketView(ticket_id, None, "gone", why="This measurement is forgotten.")
            ticket.beat(watcher)
            return ticket.view(self._ahead(ticket), SILENT_AFTER_S, n_samples)

    def _ahead(self, ticket: Ticket) -> int:
        if ticket not in self._waiting:
            return 0
        return self._waiting.index(ticket) + (self._running is not None)

    def running(self) -> int | None:
        """The ticket being measured, which everybody may watch; None if there is none."""
        with self._lock:
            return self._running.id if self._running is not None else None

    def n_waiting(self) -> int:
        """Measurements that wait."""
        with self._lock:
            return len(self._waiting)

    def leave(self, ticket_id: int, watcher: str) -> None:
        """Stop watching; the measurement ends at once if nobody else watches."""
        with self._lock:
            ticket = self._tickets.get(ticket_id)
            if ticket is None:
                return
            ticket.leave(watcher)
            if ticket in self._waiting and ticket.watchers(SILENT_AFTER_S) == 0:
                self._waiting.remove(ticket)
                ticket.end("stopped", NOBODY)

    def stop(self, ticket_id: int, asker: str) -> None:
        """Take back what was asked for; it ends when all who asked have, whoever watches.

        A class watches every measurement, so watching alone must not keep it from being stopped.
        Who only watches just leaves.
        """
        self.leave(ticket_id, asker)
        with self._lock:
            ticket = self._tickets.get(ticket_id)
            if ticket is None or asker not in ticket.askers:
                return
            ticket.askers.discard(asker)
            if not ticket.askers and ticket in self._waiting:
                self._waiting.remove(ticket)
                ticket.end("stopped", TAKEN_BACK)

    def results(self) -> tuple[KeptResult, ...]:
        """Finished measurements with their conditions and ages, the newest first."""
        with self._lock:
            now = self._now_s()
            return tuple(
                KeptResult(ticket.id, ticket.result, now - ticket.ended_s)
                for ticket in reversed(self._results)
                if ticket.result is not None
            )

    def close(self) -> None:
        """Stop what runs, drop what waits, and wait until the thread and the process have ended."""
        with self._lock:
            self._closing = True
            for ticket in self._waiting:
                ticket.end("stopped", "the service was closed")
            self._waiting.clear()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        """Measure what waits, one after the other; the thread ends with the queue."""
        while (ticket := self._next()) is not None:
            state, why = self._measure(ticket)
            with self._lock:
                ticket.end(state, why)
                if state == "done":
                    self._results.append(ticket)
                self._running = None

    def _measure(self, ticket: Ticket) -> tuple[State, str]:
        """Run one measurement in its own process; a failure is the ticket's, not the queue's."""
        try:
            worker = self._start(ticket.spec)
        except OSError as error:
            return "failed", f"no process could be started ({error})"
        try:
            return self._follow(ticket, worker)
        except (KeyError, ValueError) as error:
            return "failed", f"the measuring process said something unexpected ({error})"
        finally:
            worker.stop()

    def _next(self) -> Ticket | None:
        with self._lock:
            while self._waiting:
                ticket = self._waiting.popleft()
                if ticket.watchers(SILENT_AFTER_S):
                    ticket.state, ticket.started_s = "running", self._now_s()
                    self._running = ticket
                    return ticket
                ticket.end("stopped", NOBODY)
            self._thread = None
            return None

    def _follow(self, ticket: Ticket, worker: Worker) -> tuple[State, str]:
        """Take events until the run ends, or must; returns the last state and its reason."""
        sampler: Sampler | None = None
        try:
            while True:
                event = worker.next_event(WAIT_S)
                if event is not None and event["event"] == "device":
                    sampler = self._sample(from_plain(DeviceInfo, event["device"]), worker.pid)
                with self._lock:
                    outcome = self._take(ticket, event) or self._must_stop(ticket)
                    if outcome is not None:
                        return outcome
                if sampler is not None:
                    sampler.tick()
                    with self._lock:
                        ticket.readings, ticket.load = sampler.readings, sampler.load
        finally:
            if sampler is not None:
                sampler.close()

    def _take(self, ticket: Ticket, event: dict[str, Any] | None) -> tuple[State, str] | None:
        if event is None:
            return None
        if event["event"] == "error":
            return "failed", event["message"]
        if event["event"] == "result":
            ticket.result = from_plain(MeasureResult, event["result"])
            return "done", ""
        ticket.live.take(event)
        return None

    def _must_stop(self, ticket: Ticket) -> tuple[State, str] | None:
        if self._closing:
            return "stopped", "the service was closed"
        if not ticket.askers:
            return "stopped", TAKEN_BACK
        if ticket.watchers(SILENT_AFTER_S) == 0:
            return "stopped", NOBODY
        if ticket.elapsed_s() > self.caps.max_run_s:
            return "stopped", f"it took longer than the {self.caps.max_run_s:g} s allowed here"
        return None
