"""The weight sweep on its page: what the reader chose, the payload made from it, the stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.config import STORYTELLER
from core.decode.records import RunTrace
from core.decode.sweep_settings import DTYPES
from core.model.errors import CheckpointError
from pages.ui import caching, components, runbar, state
from pages.ui.registry import Page
from pages.ui.scaffold import Message
from pages.ui.settings import RunSettings, checked
from pages.ui.sweep_payload import MATRIX_LABELS, SweepKey, sweep_payload

STAGE = "weight_sweep_stage"
TAKE_AWAY = "sweep_take_away"
"""The expander with the link and the files, whose state says whether it is open."""

_MADE = "_sweep_payload"
_PROBLEM = "_sweep_problem"
_SAID = "_sweep_said"
_WHOLE = "_sweep_whole_run"
_VIEW = "_sweep_view"
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
    d_in, group_size = STORYTELLER.matrices()[settings.matrix][0], settings.group_size
    if _fit_group(settings.matrix):
        settings = state.settings()
        problems.append(f"Group size {group_size} does not divide {d_in}: using 32.")
    made: tuple[SweepKey, dict[str, Any]] | None = st.session_state.get(_MADE)
    try:
        key = _key(settings, trace)
        if made is None or made[0] != key:
            payload = sweep_payload(caching.models().get("float32"), trace, key)
            made = (key, payload)
            st.session_state[_MADE] = made
    except (ValueError, CheckpointError) as error:
        problems.append(str(error))
    messages = tuple(Message("problem", problem) for problem in problems)
    st.session_state[_SAID] = _shown_elsewhere()
    return (None if made is None else Sweep(settings, *made)), messages


def present(trace: RunTrace) -> Sweep | None:
    """Return the sweep that is there already, or nothing where the whole page has to run again.

    That is so where other weights are wanted, or where something outside the picture changes. A
    run of the whole page has done both, as far as it can be done.
    """
    made: tuple[SweepKey, dict[str, Any]] | None = st.session_state.get(_MADE)
    settings = state.settings()
    if made is None:
        return None
    up_to_date = made[0] == _key(settings, trace) and _shown_elsewhere() == st.session_state[_SAID]
    return Sweep(settings, *made) if up_to_date or st.session_state.get(_WHOLE) else None


def _shown_elsewhere() -> tuple[object, ...]:
    """What stands outside the picture: a problem, the precision, and open files to take away."""
    settings = state.settings()
    opened = (settings.rows, settings.columns) if st.session_state.get(TAKE_AWAY) else ()
    return (st.session_state.get(_PROBLEM), settings.weights, *opened)


def carry(sweep: Sweep) -> None:
    """Send the weights to the browser; the same weights are not sent twice."""
    components.carrier(str(sweep.key), sweep.payload, slot="sweep")


def begin_full_run() -> None:
    """Note that the whole page runs, whose frame takes care of the address."""
    st.session_state[_WHOLE] = True


def follow_address(page: Page) -> None:
    """Let the browser's address follow a choice for which only a part of the page ran."""
    if st.session_state.pop(_WHOLE, False):
        return
    data = {**state.address(page.slug), "restored": True}
    components.address(data, key="address_part")


def stage(sweep: Sweep, trace: RunTrace) -> None:
    """Mount the stage over the weights that the browser has.

    What the reader chose in the picture is there already, so a run of a part of the page sends
    the stage what it had before, which costs nothing.
    """
    sent: dict[str, Any] | None = st.session_state.get(_VIEW)
    if sent is None or st.session_state.get(_WHOLE) or sent["sweep"] != str(sweep.key):
        sent = stage_view(sweep, trace)
        st.session_state[_VIEW] = sent
    components.mount_stage("sweep", "mountSweep", sent, key=STAGE, states=("pick", "step"))


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


def _take_pick(value: Mapping[str, Any]) -> str | None:
    """Take what is allowed into the settings; return what is wrong with the rest."""
    before = state.settings()
    taken: dict[str, Any] = {}
    problem = None
    for name, given in value.items():
        field = _NAMES.get(name)
        new = None if field is None else checked(field, given, None)
        if field is not None and new is not None:
            taken[field] = new
        else:
            problem = _rule(name, given)
    matrix = taken.get("matrix", before.matrix)
    group_size = taken.get("group_size", before.group_size)
    d_in = STORYTELLER.matrices()[matrix][0]
    if d_in % group_size and matrix == before.matrix:
        problem = f"Group size must divide the {d_in} weights of a column; {group_size} does not."
        taken.pop("group_size", None)
    elif d_in % group_size:
        taken["group_size"] = RunSettings().group_size
    if matrix != before.matrix:
        taken["columns"] = 0
    runbar.choose(**taken)
    return problem


def _fit_group(matrix: str) -> bool:
    """Fall back to the usual group where the one chosen does not divide the matrix's columns."""
    if STORYTELLER.matrices()[matrix][0] % state.settings().group_size == 0:
        return False
    runbar.choose(group_size=RunSettings().group_size)
    return True


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
