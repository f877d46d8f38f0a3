"""The weight sweep on its page: what the reader chose, the payload made from it, the stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import streamlit as st

from core.config import STORYTELLER
from core.decode.records import RunTrace
from core.decode.sweep_settings import DTYPES
from core.model.errors import CheckpointError
from pages.ui import assets, caching, components, runbar, state
from pages.ui.scaffold import Message
from pages.ui.settings import RunSettings, checked
from pages.ui.sweep_payload import MATRIX_LABELS, SweepKey, sweep_payload

STAGE = "weight_sweep_stage"
_MADE = "_sweep_payload"
_PROBLEM = "_sweep_problem"
_NAMES = {"matrix": "matrix", "layer": "layer", "dtype": "weights", "rows": "rows",
          "position": "position", "group": "group_size"}  # fmt: skip
"""What the stage calls a setting -> what the settings call it."""


@dataclass(frozen=True)
class Sweep:
    """The sweep that a page shows: its settings, its key and its payload."""

    settings: RunSettings
    key: SweepKey
    payload: dict[str, Any]

    @property
    def d_in(self) -> int:
        """Width of the rows that enter."""
        return int(self.payload["d_in"])

    @property
    def d_out(self) -> int:
        """Columns of the matrix, one output each."""
        return int(self.payload["d_out"])


def follow(slug: str) -> None:
    """Take over what the reader did in the picture; call it before anything is drawn.

    A value that is not allowed changes nothing; what is wrong with it is said in the heading.
    """
    seen = state.seen(slug)
    for name, take in (("pick", _take_pick), ("step", _take_step)):
        reported = components.stage_state(STAGE, name)
        if reported == seen.get(name):
            continue
        seen[name] = reported
        if isinstance(reported, Mapping) and "value" in reported:
            st.session_state[_PROBLEM] = take(reported["value"])


def shown_sweep(settings: RunSettings, trace: RunTrace) -> tuple[Sweep | None, tuple[Message, ...]]:
    """Return the sweep for these settings, or the last good one with what is wrong in words."""
    problems = [st.session_state[_PROBLEM]] if st.session_state.get(_PROBLEM) else []
    made: tuple[SweepKey, dict[str, Any]] | None = st.session_state.get(_MADE)
    try:
        key = _key(settings, trace)
        if made is None or made[0] != key:
            made = (key, sweep_payload(caching.models().get("float32"), trace, key))
            st.session_state[_MADE] = made
    except (ValueError, CheckpointError) as error:
        problems.append(str(error))
    messages = tuple(Message("problem", problem) for problem in problems)
    return (None if made is None else Sweep(settings, *made)), messages


def stage(sweep: Sweep, trace: RunTrace) -> None:
    """Send the payload to the browser and mount the stage over it."""
    components.carrier(str(sweep.key), sweep.payload, slot="sweep")
    names = ("pick", "step")
    callbacks = {f"on_{name}_change": _nothing for name in names}
    _component()(key=STAGE, data=stage_view(sweep, trace), **callbacks)


def stage_view(sweep: Sweep, trace: RunTrace) -> dict[str, Any]:
    """Return the light data of the stage: what is chosen, and what there is to choose from.

    ``shape`` says which picture it is: another matrix starts with its first column.
    """
    settings = sweep.settings
    tokens = [
        [token.position, f"{token.position}: “{token.label}”"]
        for token in trace.tokens[: trace.n_rows]
    ]
    return {
        "sweep": str(sweep.key),
        "shape": f"{sweep.key.matrix}:{sweep.key.layer}",
        "step": settings.columns,
        "matrix": settings.matrix,
        "layer": settings.layer,
        "position": sweep.key.position,
        "dtype": settings.weights,
        "group": str(settings.group_size),
        "rows": settings.rows,
        "lecture": state.lecture(),
        "choices": {
            "matrices": [[name, MATRIX_LABELS[name]] for name in STORYTELLER.matrices()],
            "layers": [[layer, f"Layer {layer}"] for layer in range(STORYTELLER.n_layers)],
            "tokens": tokens,
            "dtypes": [[name, name] for name in DTYPES],
        },
    }


def _key(settings: RunSettings, trace: RunTrace) -> SweepKey:
    from pages.ui.payload import run_key

    newest = trace.n_rows - 1
    position = newest if settings.position < 0 else min(settings.position, newest)
    layer = None if settings.matrix == "lm_head" else settings.layer
    return SweepKey(run_key(trace), settings.matrix, layer, position, settings.group_size)


def _take_pick(value: Any) -> str | None:
    """Take what is allowed into the settings; return what is wrong with the rest."""
    before = state.settings()
    for name, given in value.items():
        field = _NAMES.get(name)
        if field is None:
            continue
        new = checked(field, given, None)
        if new is None:
            return _rule(name, given)
        if field == "group_size":
            d_in = STORYTELLER.matrices()[before.matrix][0]
            if d_in % new:
                return f"Group size must divide the {d_in} weights of a column; {new} does not."
        runbar.choose(**{field: new})
        if field == "matrix":
            runbar.choose(columns=0)
            _fit_group(new)
    return None


def _fit_group(matrix: str) -> None:
    """Fall back to the usual group where the one chosen does not divide the new matrix."""
    if STORYTELLER.matrices()[matrix][0] % state.settings().group_size:
        runbar.choose(group_size=RunSettings().group_size)


def _rule(name: str, given: Any) -> str:
    shown = str(given)[:20]
    if name == "group":
        return (
            "Group size must be 1, 2, 4, 8, 16, 32, 64 or 128 and divide the weights of a "
            f"column; {shown!r} was not used."
        )
    return f"{name} cannot be {shown!r}; the last choice stays."


def _take_step(value: Any) -> str | None:
    columns = checked("columns", value, None)
    if columns is not None:
        runbar.choose(columns=columns)
    found: str | None = st.session_state.get(_PROBLEM)
    return found


@cache
def _component() -> Callable[..., Any]:
    """Register the stage at its first use."""
    return st.components.v2.component(
        "onr.sweep",
        js=assets.script("sweep", "mountSweep"),
        html=assets.read("html/stage.html"),
        css=assets.stage_styles("sweep"),
    )


def _nothing() -> None:
    """State changes rerun the page by themselves; naming a callback declares the state."""
