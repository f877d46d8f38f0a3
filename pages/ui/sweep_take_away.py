"""What a reader takes away from the sweep: link, data, and a page that plays offline."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import streamlit as st

from core.decode.records import RunTrace
from pages.ui import caching, export, sweep_stage
from pages.ui.registry import Page
from pages.ui.sweep_stage import Sweep
from pages.ui.take_away import permalink


def take_away(page: Page, sweep: Sweep, run: caching.SessionRun) -> None:
    """Draw the link and the downloads once they are opened; files are made when asked for."""
    name = f"one-new-row-sweep-{sweep.key.matrix}"
    opened = st.expander(
        "Take it away", icon=":material/download:", key=sweep_stage.TAKE_AWAY, on_change="rerun"
    )
    if not opened.open:
        return
    with opened:
        st.caption("A link to exactly this state: prompt, matrix, rows, precision and column.")
        st.code(permalink(page), language=None, wrap_lines=True)
        with st.container(horizontal=True):
            st.download_button(
                "Column by column (CSV)",
                data=lambda: columns_csv(sweep, run.trace),
                file_name=f"{name}.csv",
                mime="text/csv",
                on_click="ignore",
                key="take_sweep_csv",
            )
            st.download_button(
                "This sweep (JSON)",
                data=lambda: json.dumps(sweep_json(sweep, run.trace), ensure_ascii=False),
                file_name=f"{name}.json",
                mime="application/json",
                on_click="ignore",
                key="take_sweep_json",
            )
            st.download_button(
                "A page that plays offline (HTML)",
                data=lambda: player(sweep, run),
                file_name=f"{name}.html",
                mime="text/html",
                on_click="ignore",
                key="take_sweep_html",
            )
        st.caption("The picture itself, as PNG or SVG, is in the menu of the picture.")


def columns_csv(sweep: Sweep, trace: RunTrace) -> str:
    """Return one line per column: the output of row 0, and the counts after that column."""
    from core.decode.sweep import SweepCounts, sweep_columns

    _, stored, x = _swept(sweep, trace)
    counts = SweepCounts()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ("column", "output_row_0", "weights_read", "weight_bytes", "multiply_adds", "flops")
    )
    for column, output in enumerate(sweep_columns(x, stored, counts)):
        work = (counts.weights_read, counts.weight_bytes, counts.multiply_adds, counts.flops)
        writer.writerow((column, f"{float(output[0]):.7g}", *work))
    return out.getvalue()


def sweep_json(sweep: Sweep, trace: RunTrace) -> dict[str, Any]:
    """Return the sweep as the headless ``sweep`` command prints it."""
    from core.commands.common import envelope
    from core.commands.sweep import sweep_notes, sweep_object
    from core.decode.sweep import run_sweep

    weight, stored, x = _swept(sweep, trace)
    settings = sweep.settings
    return envelope(
        sweep_object(run_sweep(x, weight, stored), stored),
        notes=sweep_notes(settings.weights, settings.rows, sweep.key.position + 1),
        model_sha256=trace.model_sha256,
    )


def player(sweep: Sweep, run: caching.SessionRun) -> str:
    """Return the page that plays this sweep without a server."""
    key = str(sweep.key)
    view = {**sweep_stage.stage_view(sweep, run.trace), "run": run.key}
    view["choices"] = {**view["choices"], **_only_this(sweep, view)}
    return export.player_html(
        {run.key: run.payload(), key: sweep.payload}, view, stage="sweep", player="sweepplayer"
    )


def _only_this(sweep: Sweep, view: dict[str, Any]) -> dict[str, Any]:
    """The choices of the offline page: its own matrix, layer and token; no other is in it."""
    return {
        "matrices": [c for c in view["choices"]["matrices"] if c[0] == sweep.key.matrix],
        "layers": [c for c in view["choices"]["layers"] if c[0] == view["layer"]],
        "tokens": [c for c in view["choices"]["tokens"] if c[0] == sweep.key.position],
    }


def _swept(sweep: Sweep, trace: RunTrace) -> tuple[Any, Any, Any]:
    """The weight, how it is stored, and the rows, as the page shows them."""
    from core.decode.sweep_rows import activation_rows
    from core.model.quantization import store

    key, settings = sweep.key, sweep.settings
    model = caching.models().get("float32").transformer
    weight = model.weights.matrix(key.matrix, key.layer)
    ids = trace.ids[: key.position + 1]
    x = activation_rows(model, ids, key.matrix, key.layer, settings.rows)
    return weight, store(weight, settings.weights, key.group_size), x
