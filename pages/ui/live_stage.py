"""The live picture on the page: a stage mounted once, and a timed fragment that feeds it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.machine.records import MeasureResult
from core.machine.spec import MeasureSpec
from core.machine.tickets import TicketView
from pages.ui import (
    components,
    live_desk,
    live_external,
    live_meters,
    live_numbers,
    live_payload,
    live_words,
    state,
)
from pages.ui.live_desk import Moment
from pages.ui.live_payload import Picture, Words

RUNNING_S = 0.25
IDLE_S = 2.0
"""Between two looks whether somebody else has begun to measure."""
_FOLLOW = "live_follow"


def stage() -> None:
    """Mount the stage; it draws what the carrier brings and is never sent again."""
    components.mount_stage("live", "mountLive", {"lecture": state.lecture()}, key="live_stage")


def feed(now: Moment) -> None:
    """Declare the fragment that brings figures: often while something runs, else seldom."""
    live_desk.drawn(now)
    every = None
    if st.session_state.setdefault(_FOLLOW, True):
        every = RUNNING_S if now.busy else IDLE_S
    st.fragment(_tick, run_every=every)()


def _tick() -> None:
    now = live_desk.moment()
    components.carrier(live_payload.KEY, moment_payload(now), slot="live")
    before = st.session_state.get("_live_followed", True)
    follow = st.toggle(
        "Follow live",
        key=_FOLLOW,
        persist_state="session",
        help="Off: this page asks for nothing more. A measurement that nobody follows is stopped.",
    )
    st.session_state["_live_followed"] = follow
    if follow != before or (follow and not live_desk.is_drawn(now)):
        st.rerun()


def moment_payload(now: Moment) -> dict[str, Any]:
    """What the stage draws at this moment."""
    view = now.watched
    if view is not None:
        return _running(now, view)
    if now.own is not None:
        return live_payload.payload(Picture(), _waiting(now))
    return _resting(now)


def _running(now: Moment, view: TicketView) -> dict[str, Any]:
    picture = live_payload.running_picture(view)
    spoken = "Measuring." if picture.samples_s else "Preparing the measurement."
    caption = f"{view.text[:1].upper()}{view.text[1:]} …"
    if picture.figures is not None:
        caption = live_words.token_caption(picture.figures, view.n_steps - 1)
    words = Words(
        state="running",
        caption=caption,
        queue=live_words.queue_words(now.own, view),
        warning="" if view.load is None else live_words.spoilt(view.load),
        spoken=spoken,
        empty="" if picture.samples_s else preparing(view),
        progress=(view.fraction, view.text),
        meters=live_meters.meters(view.readings, view.load, None),
        overlays=live_external.overlays(),
    )
    return live_payload.payload(picture, words)


def _warnings(result: MeasureResult) -> tuple[str, str]:
    return live_words.spoilt(live_words.result_load(result)), live_words.cache_words(result)


def preparing(view: TicketView) -> str:
    """What happens before the first token is timed."""
    title = _title(view.spec, None)
    share = f", {view.fraction:.0%}" if 0 < view.fraction < 1 else ""
    return f"{title}: {view.text}{share} …"


def _title(spec: MeasureSpec | None, weight_bytes: int | None) -> str:
    if spec is None:
        return "Measurement"
    return live_words.spec_title(spec, weight_bytes or spec.weight_bytes)


def _waiting(now: Moment) -> Words:
    words = live_words.queue_words(now.own, None)
    return Words(
        state="queued", caption=words, queue=words, spoken=words, empty=words, progress=(0.0, words)
    )


def _resting(now: Moment) -> dict[str, Any]:
    result, shown = now.result, now.shown
    if result is None or shown is None:
        words = Words(
            state="idle",
            caption=live_words.HOW_IT_GOES,
            empty=live_words.NOTHING_YET,
            warning=live_desk.problem(),
        )
        return live_payload.payload(Picture(), words)
    picture = live_payload.result_picture(result)
    figures = picture.figures
    when = f"Measured {live_words.age(shown.age_s)} on {result.conditions.device_name}."
    if live_desk.turned_away():
        when += " Another measurement is running; you are not watching it."
    if figures is None:
        rate = live_numbers.bandwidth_words(result.probe)
        words = Words(state="done", caption=rate, queue=when, empty=rate)
        return live_payload.payload(picture, words)
    words = Words(
        state="done",
        caption=live_words.result_caption(result, figures),
        queue=when,
        warning=live_desk.problem() or " ".join(w for w in _warnings(result) if w),
        spoken="The measurement is done.",
        meters=live_meters.meters((), live_words.result_load(result), result.n_threads),
        overlays=live_external.overlays(),
    )
    return live_payload.payload(picture, words)
