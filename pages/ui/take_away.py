"""What a reader takes away: a link to exactly this state, the data, a page that plays offline."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from core.decode.records import RunTrace
from pages.ui import caching, export, state
from pages.ui.proofs import proof_key
from pages.ui.registry import Page
from pages.ui.settings import RunSettings


def take_away(page: Page, run: caching.SessionRun, settings: RunSettings) -> None:
    """Draw the link and the downloads; files are made when they are asked for."""
    trace, layer, head = run.trace, settings.layer, settings.head
    with st.expander("Take it away", icon=":material/download:"):
        st.caption("A link to exactly this state: prompt, settings, layer, head and step.")
        st.code(permalink(page), language=None, wrap_lines=True)
        with st.container(horizontal=True):
            st.download_button(
                f"Rows of layer {layer}, head {head} (CSV)",
                data=lambda: rows_csv(trace, layer, head),
                file_name=f"one-new-row-l{layer}h{head}.csv",
                mime="text/csv",
                on_click="ignore",
                key="take_csv",
            )
            st.download_button(
                "The whole run (JSON)",
                data=lambda: run_json(run),
                file_name="one-new-row.json",
                mime="application/json",
                on_click="ignore",
                key="take_json",
            )
            st.download_button(
                "A page that plays offline (HTML)",
                data=lambda: export.player_html(*offline(run, settings)),
                file_name="one-new-row.html",
                mime="text/html",
                on_click="ignore",
                key="take_html",
            )
        st.caption("The picture itself, as PNG or SVG, is in the menu of the picture.")


def offline(
    run: caching.SessionRun, settings: RunSettings
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the payloads and the view of the offline page; a recorded run brings no proof."""
    payloads = {run.key: run.payload()}
    if not run.trace.recorded:
        payloads[proof_key(run.key)] = run.proof(same_order=settings.same_order)
    view = {"run": run.key, "step": 0, "layer": settings.layer, "head": settings.head}
    return payloads, view


def permalink(page: Page) -> str:
    """Return the full address of the state that is shown."""
    here = urlsplit(st.context.url or f"http://localhost{page.path}")
    query = urlencode(state.permanent_query(page.slug))
    return urlunsplit((here.scheme, here.netloc, here.path, query, ""))


def rows_csv(trace: RunTrace, layer: int, head: int) -> str:
    """Return one head's triangle as CSV, one line per query and key."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = ("layer", "head", "query_position", "key_position", "query_token", "key_token")
    writer.writerow((*names, "q_dot_k", "scaled_score", "weight", "phase"))
    labels = [_plain_cell(token.label) for token in trace.tokens]
    for row in range(trace.n_rows):
        phase = "prefill" if row < trace.n_prompt else "decode"
        dots = trace.dots_row(layer, head, row)
        weights = trace.weights_row(layer, head, row)
        for column, (dot, weight) in enumerate(zip(dots, weights, strict=True)):
            place = (layer, head, row, column, labels[row], labels[column])
            numbers = (f"{dot:.6g}", f"{dot * trace.scale:.6g}", f"{weight:.6g}")
            writer.writerow((*place, *numbers, phase))
    return out.getvalue()


def run_json(run: caching.SessionRun) -> str:
    """Return the run as the headless ``trace`` command prints it.

    Raises: CheckpointError if the proof needs a model whose files cannot be used
    """
    from core.commands.common import envelope
    from core.commands.trace import trace_object
    from core.decode.proof import prove_run

    trace = run.trace
    proof = prove_run(caching.models().get(trace.dtype), trace)
    layers, heads = range(trace.config.n_layers), range(trace.config.n_heads)
    found = trace_object(trace, proof.steps, tuple(layers), tuple(heads))
    whole = envelope(found, notes=trace.notes, model_sha256=trace.model_sha256)
    return json.dumps(whole, ensure_ascii=False)


def _plain_cell(label: str) -> str:
    """A label that no spreadsheet takes for a formula."""
    return f"'{label}" if label[:1] in ("=", "+", "-", "@") else label
