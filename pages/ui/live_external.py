"""Latencies that other tools have written, laid over the measurement and over a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from core.cost.catalog import accelerator_names, find_accelerator, find_model, model_names
from core.cost.dtypes import FORMATS
from core.cost.overhead import fit_for
from core.cost.planner import PlanRequest, PlanResult, plan
from core.machine.external_itl import ExternalFileError, ExternalRun, read_external
from core.machine.records import MeasureResult
from core.machine.stats import spread
from pages.ui import live_table, scaffold, ticks, units
from pages.ui.curves_stage import line, tile
from pages.ui.live_curves import measured_chart
from pages.ui.live_payload import Overlay
from pages.ui.live_series import axis_top, series
from pages.ui.text import shortened

_RUNS = "_live_external"
_PROBLEM = "_live_external_problem"
_UPLOAD = "live_external_upload"
_PICKED = "live_external_picked"
MOST_RUNS = 6
MOST_KEPT = 20_000
"""Gaps that are kept of each run; a longer file's are the first ones, and that is said."""
COLOURS = ("v-text", "k-text")
NONE = "no prediction"


def runs() -> tuple[ExternalRun, ...]:
    """The runs that this session has loaded."""
    found: tuple[ExternalRun, ...] = st.session_state.get(_RUNS, ())
    return found


def overlays() -> tuple[Overlay, ...]:
    """The runs that are laid over the measurement."""
    picked = [runs()[i] for i in st.session_state.get(_PICKED, ()) if i < len(runs())]
    return tuple(
        Overlay(name(run), run.itl_s, colour) for run, colour in zip(picked, COLOURS, strict=False)
    )


def name(run: ExternalRun) -> str:
    """A run in a few words."""
    return f"{run.tool}: {shortened(run.label, 40)}"


def section(result: MeasureResult | None) -> None:
    """Draw the upload, the loaded runs, and their latencies beside floor and prediction."""
    st.file_uploader(
        "Load latencies from vLLM (--save-result --save-detailed), llama-bench (-o json or csv) "
        "or gpt-fast (its output as text)",
        key=_UPLOAD,
        on_change=_take_upload,
    )
    problem = st.session_state.get(_PROBLEM, "")
    if problem:
        scaffold.findings((problem,))
    if not runs():
        st.caption("Nothing is loaded. Files stay in this session and are not shown to others.")
        return
    st.pills(
        "Laid over the measurement (two at most)",
        range(len(runs())),
        selection_mode="multi",
        format_func=lambda i: units.count(i + 1),
        key=_PICKED,
        persist_state="session",
    )
    live_table.table(
        ("", "run", "what its numbers are", "p50", "p90", "p99", "n", "kind"),
        [_row(i, run) for i, run in enumerate(runs())],
    )
    predicted = _prediction()
    if predicted is not None and predicted.itl_floor_s is None:
        scaffold.findings(("This model's widths are not all known, so it has no floor.",))
        predicted = None
    measured_chart(chart_data(runs(), result, predicted), key="live_external_chart")


def _row(index: int, run: ExternalRun) -> tuple[str, ...]:
    found = spread(run.itl_s)
    return (
        units.count(index + 1),
        name(run),
        f"{run.what}. {' '.join(run.notes)}",
        *(units.seconds(value, 3) for value in (found.p50, found.p90, found.p99)),
        units.count(found.n),
        "quoted",
    )


def _take_upload() -> None:
    file = st.session_state.get(_UPLOAD)
    if file is None:
        return
    try:
        found = read_external(file.getvalue(), shortened(file.name, 60))
    except ExternalFileError as error:
        st.session_state[_PROBLEM] = f"{error}. What was loaded before stays."
        return
    st.session_state[_PROBLEM] = ""
    kept = (*runs(), *(bounded(run) for run in found))
    if len(kept) > MOST_RUNS:
        st.session_state[_PROBLEM] = f"The newest {MOST_RUNS} runs are kept."
    st.session_state[_RUNS] = kept[-MOST_RUNS:]
    st.session_state[_PICKED] = [len(st.session_state[_RUNS]) - 1]


def bounded(run: ExternalRun) -> ExternalRun:
    """Return the run with at most ``MOST_KEPT`` of its gaps, the first ones, and a note."""
    if len(run.itl_s) <= MOST_KEPT:
        return run
    note = f"The first {units.count(MOST_KEPT)} of {units.count(len(run.itl_s))} gaps are shown."
    return replace(run, itl_s=run.itl_s[:MOST_KEPT], notes=(*run.notes, note))


def _prediction() -> PlanResult | None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        model = st.selectbox(
            "Predict for the model", (NONE, *model_names()), key="live_predict_model",
            persist_state="session", width=230,
        )  # fmt: skip
        if model == NONE:
            return None
        accelerator = st.selectbox(
            "on", accelerator_names(), index=accelerator_names().index("H100 SXM 80GB"),
            key="live_predict_accelerator", persist_state="session", width=230,
        )  # fmt: skip
        dtype = st.selectbox(
            "weights", list(FORMATS), index=list(FORMATS).index("bfloat16"),
            key="live_predict_dtype", persist_state="session", width=140,
        )  # fmt: skip
    run = next((run for run in reversed(runs()) if run.context_len), None)
    context = max(1, round(run.context_len)) if run is not None and run.context_len else 128
    batch = run.batch_size or 1 if run is not None else 1
    return plan(
        PlanRequest(
            find_model(model), context, batch, find_accelerator(accelerator), weight_dtype=dtype
        )
    )


def chart_data(
    found: Sequence[ExternalRun], result: MeasureResult | None, predicted: PlanResult | None
) -> dict[str, Any]:
    """Return the chart: every run over its tokens, with the floors as levels."""
    lines, levels, words = [], [], []
    colours = ("v-text", "k-text", "weights-text", "cached-text", "limit-text", "ink")
    longest = max(len(run.itl_s) for run in found)
    for index, run in enumerate(found):
        drawn = series(run.itl_s)
        x = [index_ * drawn["per"] for index_ in range(len(drawn["ms"]))]
        lines.append(line(f"run{index}", f"{index + 1}", colours[index % 6], x, drawn["ms"]))
    own = result.points[0] if result is not None and result.points else None
    if own is not None:
        floor = units.seconds(own.floor_s, 3)
        levels.append(_level(f"floor measured here, {floor} (modelled)", own.floor_s))
    if predicted is not None and predicted.itl_floor_s is not None:
        words += _predicted_words(predicted)
        floor = units.seconds(predicted.itl_floor_s, 3)
        levels.append(_level(f"predicted floor, {floor} (modelled)", predicted.itl_floor_s))
    top = max(axis_top(run.itl_s, [level["y"] / 1e3 for level in levels]) for run in found)
    return {
        "title": "Latencies of other tools",
        "charts": [
            {
                "id": "itl",
                "label": "Latency",
                "scales": {"linear": _scale(longest, top)},
                "lines": lines,
                "levels": levels,
                "marks": [],
                "cursor": None,
                "x_texts": [],
            }
        ],
        "tiles": [
            tile(f"run{i}", f"Run {i + 1}, p50", units.seconds(spread(run.itl_s).p50, 3),
                 kind="quoted")
            for i, run in enumerate(found)
        ],
        "words": words,
    }  # fmt: skip


def _scale(longest: int, top: float) -> dict[str, Any]:
    return {
        "kind": {"x": "linear", "y": "linear"},
        "x": ticks.axis(0, max(1, longest), "values in the file's order",
                        ticks.linear(max(1, longest), ticks.tokens)),
        "y": ticks.axis(0, top, "ms", ticks.linear(top, lambda value: units.number(value, 3), 5)),
    }  # fmt: skip


def _level(label: str, seconds: float) -> dict[str, Any]:
    return {"label": label, "color": "limit-text", "y": seconds * 1e3}


def _predicted_words(predicted: PlanResult) -> list[str]:
    ask, floor = predicted.request, predicted.itl_floor_s
    assert ask.accelerator is not None
    assert floor is not None
    words = [
        f"{ask.model.name} on {ask.accelerator.name}, batch {ask.batch}, context "
        f"{units.count(ask.context)}: at least {units.seconds(floor, 3)} (modelled floor)."
    ]
    fit = fit_for(ask.accelerator.name)
    if fit is not None and predicted.weight_bytes_read_per_step is not None:
        n_bytes = predicted.weight_bytes_read_per_step + predicted.kv_bytes_read_per_step
        likely = units.seconds(fit.seconds(n_bytes), 3)
        words.append(
            f"With the overhead of {fit.n_rows} published runs there: {likely} (modelled)."
        )
    return words
