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


def carrier(key: str, payload: Mapping[str, Any], *, slot: str) -> None:
    """Put a payload into the browser's store under ``key``; a slot holds one at a time."""
    mount = _invisible("store", "mountCarrier", "carrier")
    with st.container(key=f"onr_hidden_{slot}"):
        mount(key=f"carrier_{slot}", data={"key": key, "payload": payload})


def stage(
    entry: str,
    function: str,
    view: StageView,
    *,
    key: str,
) -> None:
    """Mount ``function`` of the module ``assets/js/<entry>.mjs`` as a stage."""
    mount = _stage(entry, function)
    callbacks = {f"on_{name}_change": _nothing for name in STAGE_STATES}
    mount(key=key, data=asdict(view), **callbacks)


def stage_state(key: str, name: str) -> Any:
    """What the stage last reported under ``name``, or nothing."""
    found = st.session_state.get(key)
    return None if found is None else found.get(name)


def address(data: Mapping[str, Any]) -> None:
    """Make the browser show the address of this state, as ``address.mjs`` describes it."""
    mount = _invisible("address", "mountAddress")
    with st.container(key="onr_hidden_address"):
        mount(key=ADDRESS, data=dict(data), on_restore_change=_nothing)


def _nothing() -> None:
    """State changes rerun the page by themselves; naming a callback declares the state."""
