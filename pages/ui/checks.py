"""Switches below the picture that turn its claims into something to try.

The switches are drawn under the stage, but the stage needs their values: those are read from
the session first, which holds them before the page is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.model.errors import CheckpointError
from pages.ui import caching, runbar, runs
from pages.ui.settings import RunSettings

HEAD_OFF = "new_row_head_off"


@dataclass(frozen=True)
class Experiment:
    """What the switches add to the stage's view, and what they found in words."""

    view: dict[str, Any]
    findings: tuple[str, ...] = ()


def experiment(run: caching.SessionRun, settings: RunSettings) -> Experiment:
    """Carry out what is switched on; a recorded run has no model to try things with."""
    if run.trace.recorded or not st.session_state.get(HEAD_OFF, False):
        return Experiment({})
    try:
        other = caching.run_with_head_off(run, settings.layer, settings.head)
    except CheckpointError as error:
        return Experiment({}, (str(error),))
    runs.carry(other, slot="other")
    where = f"layer {settings.layer}, head {settings.head}"
    labels = {"run": "As it is", "compare": f"Without {where}"}
    return Experiment({"compare": other.key, "labels": labels}, (_what_changed(run, other, where),))


def switches() -> None:
    """Draw the switches in one row."""
    with st.container(horizontal=True, vertical_alignment="center", gap="large", key="onr_checks"):
        st.toggle("Switch this head off", key=HEAD_OFF, help=_HEAD_OFF_HELP)
        runbar.same_order_switch()


def _what_changed(run: caching.SessionRun, other: caching.SessionRun, where: str) -> str:
    ours, theirs = run.trace.generated_ids(), other.trace.generated_ids()
    pairs = zip(ours, theirs, strict=False)
    first = next((i for i, (one, two) in enumerate(pairs) if one != two), None)
    if first is None:
        return (
            f"Without {where} the model chose the same {min(len(ours), len(theirs))} tokens: "
            "a pretty pattern alone is no proof of a cause."
        )
    one = run.trace.tokens[run.trace.n_prompt + first].label
    two = other.trace.tokens[run.trace.n_prompt + first].label
    return f"Without {where} the text parts ways at new token {first}: “{two}” instead of “{one}”."


_HEAD_OFF_HELP = (
    "Runs the same prompt again with this head's output removed in every step, and shows both. "
    "A head that looks busy may not matter, and the other way round."
)
