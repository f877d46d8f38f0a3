"""The components of the browser side, each registered once and mounted by a typed function.

A *carrier* is invisible and puts one heavy payload into a store in the browser. A *stage*
draws from that store and is handed light view data only, so a change of the view never sends
the payload again. The reader's own moves come back as state: ``step``, ``pick``, ``want``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import streamlit as st

from pages.ui import assets


@dataclass(frozen=True)
class StageView:
    """What a stage needs besides the payloads that it finds in the browser's store.

    ``step`` counts when the stage is new, when it gets another story, or when ``step_nonce``
    changes; else the stage keeps its own, so that no rerun of the page moves the picture.
    ``compare`` is a second run to draw beside ``run``. The proof is found under the run's key
    with ``:proof`` behind it.
    """

    run: str
    step: int
    layer: int
    head: int
    step_nonce: int = 0
    compare: str | None = None
    view: str | None = None
    scale: str | None = None
    mask: bool | None = None
    lecture: bool = False
    layout: str = "full"
    labels: Mapping[str, str] = field(default_factory=dict)


ADDRESS = "onr_address_bar"
_SENT = "_sent"
_RUN = "_run_number"
STAGE_STATES = ("step", "pick", "want", "view", "scale", "mask")
"""What a stage reports back, under ``st.session_state[key]``."""


@cache
def _invisible(entry: str, function: str, markup: str | None = None) -> Callable[..., Any]:
    """Register a component that shows nothing, at its first use."""
    html = assets.read(f"html/{markup}.html") if markup else None
    return st.components.v2.component(f"onr.{entry}", js=assets.script(entry, function), html=html)


@cache
def _stage(entry: str, function: str) -> Callable[..., Any]:
    """Register a stage at its first use: script, the host that all stages share, style."""
    return st.components.v2.component(
        f"onr.{entry}",
        js=assets.script(entry, function),
        html=assets.read("html/stage.html"),
        css=assets.stage_styles(entry),
    )


def begin_run() -> None:
    """Count the runs of whole pages; called once, before anything is mounted."""
    st.session_state[_RUN] = st.session_state.get(_RUN, 0) + 1


def carrier(key: str, payload: Mapping[str, Any], *, slot: str) -> None:
    """Put a payload into the browser's store under ``key``; a slot holds one at a time."""
    mount = _invisible("store", "mountCarrier", "carrier")
    with st.container(key=f"onr_hidden_{slot}"):
        name = f"carrier_{slot}"
        mount(key=name, data=_unlike_before(name, {"key": key, "payload": payload}))


def stage(entry: str, function: str, view: StageView, *, key: str) -> None:
    """Mount ``function`` of ``assets/js/<entry>.mjs`` as a stage over the session's run."""
    mount_stage(entry, function, asdict(view), key=key, states=STAGE_STATES)


def mount_stage(
    entry: str,
    function: str,
    data: Mapping[str, Any],
    *,
    key: str,
    states: tuple[str, ...] = (),
) -> None:
    """Mount ``function`` of ``assets/js/<entry>.mjs`` with ``data``; it reports ``states``."""
    callbacks = {f"on_{name}_change": _nothing for name in states}
    _stage(entry, function)(key=key, data=_unlike_before(key, data), **callbacks)


def _unlike_before(key: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with a count that rises when they change, or come back after a pause.

    A browser keeps large messages for a few runs, and the server refers to them by their
    content. Content that came back while the browser was just dropping it would end the
    connection, so no message is ever like one before the last.
    """
    sent: dict[str, tuple[int, int, Mapping[str, Any]]] = st.session_state.setdefault(_SENT, {})
    count, at, before = sent.get(key, (-1, -1, {}))
    run: int = st.session_state[_RUN]
    if before != data or run - at > 1:
        count += 1
    sent[key] = (count, run, data)
    return {**data, "made": count}


def stage_state(key: str, name: str) -> Any:
    """What the stage last reported under ``name``, or nothing."""
    found = st.session_state.get(key)
    return None if found is None else found.get(name)


def address(data: Mapping[str, Any], *, key: str = ADDRESS) -> None:
    """Make the browser show the address of this state, as ``address.mjs`` describes it."""
    mount = _invisible("address", "mountAddress")
    with st.container(key=f"onr_hidden_{key}"):
        mount(key=key, data=dict(data), on_restore_change=_nothing)


def _nothing() -> None:
    """State changes rerun the page by themselves; naming a callback declares the state."""
