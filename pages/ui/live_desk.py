"""One session at the host's queue of measurements: what it asked for, watches, and is shown.

Every session watches what runs, whoever asked for it. Asking again while its own measurement
lives is not possible; a result stays on screen until a newer one is there.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import streamlit as st

from core.machine.queue import MeasureService
from core.machine.records import MeasureResult
from core.machine.spec import MeasureKind
from core.machine.tickets import KeptResult, TicketView
from pages.ui import caching, live_settings

_WATCHER = "_live_watcher"
_TICKET = "_live_ticket"
_LEFT = "_live_left"
_PROBLEM = "_live_problem"
_SHOWN = "_live_shown"
_SAID = "_live_said"
N_SAMPLES = 4000


@dataclass(frozen=True)
class Moment:
    """What one session sees now.

    own: its measurement, queued or running. watched: the one that runs, its own or another's.
    shown: the result on screen. n_results: results that are kept for everybody.
    """

    own: TicketView | None
    watched: TicketView | None
    shown: KeptResult | None
    n_results: int

    @property
    def busy(self) -> bool:
        """Whether there is something to follow several times a second."""
        return self.own is not None or self.watched is not None

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """What the page outside the picture depends on: a change of it draws the page anew."""
        own = None if self.own is None else self.own.id
        known = caching.devices().devices is not None
        return own, self.watched is not None, self.result_id, self.n_results, problem(), known

    @property
    def result_id(self) -> int | None:
        """The ticket of the result on screen."""
        return None if self.shown is None else self.shown.id

    @property
    def result(self) -> MeasureResult | None:
        """The result on screen."""
        return None if self.shown is None else self.shown.result


def watcher() -> str:
    """The name under which this session is known to the queue."""
    return str(st.session_state.setdefault(_WATCHER, uuid.uuid4().hex))


def service() -> MeasureService:
    """The host's queue.

    Raises: ValueError if a limit in the environment cannot be read
    """
    return caching.measurements()


def moment() -> Moment:
    """Ask the queue once; asking is also the sign that somebody watches."""
    queue = service()
    own = _own(queue)
    running = queue.running()
    watched = None
    if running is not None and running != st.session_state.get(_LEFT):
        seen = queue.poll(running, watcher(), n_samples=N_SAMPLES)
        watched = seen if seen.state == "running" else None
    if own is not None and watched is not None and own.id == watched.id:
        own = watched
    kept = queue.results()
    return Moment(own, watched, _shown(kept), len(kept))


def _own(queue: MeasureService) -> TicketView | None:
    """This session's measurement while it lives; how it ended is noted."""
    ticket = st.session_state.get(_TICKET)
    if ticket is None:
        return None
    view = queue.poll(ticket, watcher(), n_samples=N_SAMPLES)
    if not view.ended:
        return view
    st.session_state[_TICKET] = None
    if view.state == "done":
        show(view.id)
    elif ticket != st.session_state.get(_LEFT):
        st.session_state[_PROBLEM] = _ending(view)
    return None


def _ending(view: TicketView) -> str:
    how = {"failed": "The measurement failed", "stopped": "The measurement was stopped"}
    why = view.why.rstrip(".") or "no reason was given"
    return f"{how.get(view.state, 'The measurement is gone')}: {why}. The last result stays."


def _shown(kept: tuple[KeptResult, ...]) -> KeptResult | None:
    wanted = st.session_state.get(_SHOWN)
    newest = kept[0] if kept else None
    return next((one for one in kept if one.id == wanted), newest)


def show(ticket: int) -> None:
    """Put a kept result on screen."""
    st.session_state[_SHOWN] = ticket


def start(kind: MeasureKind = "decode") -> None:
    """Ask for what the choices say; what cannot be measured becomes one sentence."""
    st.session_state[_PROBLEM] = ""
    st.session_state[_LEFT] = None
    try:
        spec = live_settings.spec(kind)
        st.session_state[_TICKET] = service().join(spec, watcher(), again=True)
    except ValueError as error:
        st.session_state[_PROBLEM] = f"{str(error).rstrip('.')}. The last result stays."


def stop() -> None:
    """Take back what this session asked for, or stop watching what others did."""
    queue, ticket = service(), st.session_state.get(_TICKET)
    if ticket is not None:
        queue.stop(ticket, watcher())
    running = queue.running()
    if ticket is None and running is not None:
        queue.leave(running, watcher())
    st.session_state[_TICKET] = None
    st.session_state[_LEFT] = running
    st.session_state[_PROBLEM] = ""


def follow_others() -> None:
    """Watch again what this session had turned away from."""
    st.session_state[_LEFT] = None


def turned_away() -> bool:
    """Whether something runs that this session does not want to watch."""
    left = st.session_state.get(_LEFT)
    return left is not None and service().running() == left


def problem() -> str:
    """Why the last wish could not be fulfilled; empty where it could."""
    return str(st.session_state.get(_PROBLEM, ""))


def drawn(now: Moment) -> None:
    """Note for which moment the page was drawn."""
    st.session_state[_SAID] = now.fingerprint


def is_drawn(now: Moment) -> bool:
    """Whether the page outside the picture still fits the moment."""
    return bool(st.session_state.get(_SAID) == now.fingerprint)
