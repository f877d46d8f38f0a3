"""The run that a page shows: the session's run, its carriers, and the words about it."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.model.errors import CheckpointError
from pages.ui import caching, components, runbar
from pages.ui.proofs import proof_key
from pages.ui.scaffold import Message, dropped_messages
from pages.ui.settings import RunSettings

RECORDED = "This run was recorded; the live model is loading and will take over in a moment."
EMPTY = "Type at least one character: an empty prompt gives the model nothing. The last run stays."


@dataclass(frozen=True)
class ShownRun:
    """A page's run, if there is one, and everything that has to be said about it."""

    run: caching.SessionRun | None
    messages: tuple[Message, ...]


def shown_run(settings: RunSettings, n_steps: int = 0) -> ShownRun:
    """Return the run for these settings; what went wrong becomes a message, never a traceback.

    With model files missing, the recorded run stays on screen where there is one.
    """
    messages = [Message("problem", EMPTY)] if runbar.prompt_is_empty() else []
    run: caching.SessionRun | None = None
    try:
        run = caching.session_run(settings, n_steps)
    except CheckpointError as error:
        messages.append(Message("problem", str(error)))
        run = caching.last_run()
    messages += dropped_messages()
    if run is not None:
        messages += [Message("note", note) for note in run.trace.notes]
        messages += _about_recorded(run)
    return ShownRun(run, tuple(messages))


def carry(run: caching.SessionRun, slot: str = "run") -> None:
    """Send the run's payload to the browser; the same payload is not sent twice."""
    components.carrier(run.key, run.payload(), slot=slot)


def carry_proof(run: caching.SessionRun, *, same_order: bool, slot: str = "proof") -> None:
    """Compute and send the proof of a live run; call it after the stage, which paints first."""
    if run.trace.recorded:
        return
    components.carrier(proof_key(run.key), run.proof(same_order=same_order), slot=slot)


def await_live_model(run: caching.SessionRun) -> None:
    """While a recorded run is shown, look every second whether the model is there."""
    if run.trace.recorded and caching.models().problem is None:
        _watch()


@st.fragment(run_every=1.0)
def _watch() -> None:
    shelf = caching.models()
    if shelf.is_ready("float32") or shelf.problem is not None:
        st.rerun()


def _about_recorded(run: caching.SessionRun) -> list[Message]:
    if not run.trace.recorded:
        return []
    problem = caching.models().problem
    if problem is None:
        return [Message("recorded", RECORDED)]
    return [Message("problem", f"{problem} The run shown was recorded.")]
