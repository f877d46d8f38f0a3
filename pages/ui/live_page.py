"""The live page in its parts: the row of choices, the messages, and one section at a time."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.ui import (
    assets,
    caching,
    live_desk,
    live_external,
    live_feel,
    live_published,
    live_results,
    live_settings,
    live_step,
    live_sweeps,
    state,
)
from pages.ui.live_desk import Moment
from pages.ui.scaffold import Message, dropped_messages

SECTIONS = (
    "Results", "Sweeps", "One step", "Feel it", "Published", "Other tools", "Conditions",
    "Take it away",
)  # fmt: skip
_SECTION = "live_section"


def style() -> None:
    """Put the style of what stands around the stage into the page."""
    st.html(f"<style>{assets.styles('livepage')}{_LECTURE if state.lecture() else ''}</style>")


_LECTURE = (
    ".st-key-live_batch, .st-key-live_context, .st-key-onr_live_more { display: none }"
    " .st-key-live_weights, .st-key-live_weights [data-testid=stSelectbox]"
    " { width: 240px !important }"
)
"""In lecture mode the row keeps what a lecture needs: device, weights, Measure, Stop."""


def controls(now: Moment) -> None:
    """Draw device, choices, Measure and Stop in one row."""
    devices = caching.devices().devices
    heavy = live_desk.service().caps.mode == "on"
    with st.container(
        key="onr_live_bar", horizontal=True, vertical_alignment="center", gap="small"
    ):
        live_settings.settings_row(devices, heavy=heavy)
        st.button(
            "Measure",
            key="live_measure",
            type="primary",
            on_click=live_desk.start,
            disabled=now.own is not None or live_desk.service().caps.mode == "off",
        )
        st.button("Stop", key="live_stop", on_click=live_desk.stop, disabled=not now.busy)
        if live_desk.turned_away():
            st.button("Watch", key="live_watch", on_click=live_desk.follow_others)


def messages(now: Moment) -> list[Message]:
    """Return what has to be said, the most pressing first."""
    found = [Message("problem", text) for text in _problems() if text]
    found += dropped_messages()
    mode = live_desk.service().caps.mode
    if mode != "on":
        found.append(Message("note", _MODES[mode]))
    return found


_MODES = {
    "light": "This deployment measures the shipped model only; large weights are switched off.",
    "off": "Measurements are switched off on this deployment; its older results stay readable.",
}


def _problems() -> tuple[str, ...]:
    listed = caching.devices().problem
    return live_desk.problem(), live_settings.own_problem(), listed


def section(now: Moment) -> None:
    """Draw the choice of sections and the chosen one."""
    kept = live_desk.service().results()
    st.session_state.setdefault(_SECTION, SECTIONS[0])
    chosen = st.segmented_control(
        "More about it", SECTIONS, key=_SECTION, label_visibility="collapsed",
        persist_state="session",
    )  # fmt: skip
    busy = now.own is not None or live_desk.service().caps.mode == "off"
    parts: dict[str, Callable[[], None]] = {
        "Results": lambda: live_results.results(kept, now.result_id),
        "Sweeps": lambda: live_sweeps.section(kept, busy=busy),
        "One step": lambda: live_step.section(now.result),
        "Feel it": lambda: live_feel.section(now.result),
        "Published": lambda: live_published.section(now.result),
        "Other tools": lambda: live_external.section(now.result),
        "Conditions": lambda: live_results.conditions(now.result),
        "Take it away": lambda: live_results.take_away(now.result),
    }
    if chosen in parts:
        parts[chosen]()
