"""The growing cache of the session's own run: payload, stage and what can be taken away."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import Any

import streamlit as st

from core.decode.records import RunTrace
from pages.ui import caching, components, export, stages, state, units
from pages.ui.growth_payload import growth_key, growth_payload
from pages.ui.registry import Page
from pages.ui.settings import RunSettings
from pages.ui.take_away import permalink

_MADE = "_growth_payload"


def stage(page: Page, run: caching.SessionRun, settings: RunSettings) -> None:
    """Send the growth of the run and mount its stage."""
    components.carrier(growth_key(run.key), payload(run), slot="growth")
    stages.run_stage("growth", "mountGrowth", page.slug, run, settings)


def payload(run: caching.SessionRun) -> dict[str, Any]:
    """What the stage draws, made once per extension of the run."""
    identity = (run.key, run.trace.n_steps, run.limit, run.trace.recorded)
    made = st.session_state.get(_MADE)
    if made is None or made[0] != identity:
        made = (identity, growth_payload(run.trace, run.limit, run.payload()))
        st.session_state[_MADE] = made
    found: dict[str, Any] = made[1]
    return found


def predict(run: caching.SessionRun) -> None:
    """Ask how the cache grows, and answer with the bytes that were measured."""
    if state.lecture():
        return
    first, last = run.trace.steps[0], run.trace.steps[-1]
    answers = ("the same", "twice as large", "four times as large", "it depends on the text")
    with st.expander("Predict first", icon=":material/psychology:"):
        chosen = st.radio(
            "A conversation gets twice as long. How large is its K/V cache then?",
            answers,
            index=None,
            horizontal=True,
            key="predict_growth",
        )
        if chosen is not None:
            each = units.exact_bytes(first.kv_bytes_in_use // first.context_len)
            measured = (
                f"Measured here: {first.context_len} tokens in "
                f"{units.exact_bytes(first.kv_bytes_in_use)}, {last.context_len} tokens in "
                f"{units.exact_bytes(last.kv_bytes_in_use)}, so "
                f"{each} a token each time."
            )
            st.markdown(f"{_VERDICTS[answers.index(chosen)]} {measured}")


_VERDICTS = (
    "No: every token leaves a key and a value in every layer, and none is dropped.",
    "Yes: each token adds the same bytes, so twice the tokens are twice the bytes.",
    "No: the scores of a whole prefill grow with the square; what is stored does not.",
    "No: a key has the same size whatever its token says.",
)


def take_away(page: Page, run: caching.SessionRun) -> None:
    """Draw the link and the downloads; files are made when they are asked for."""
    trace, made, step = run.trace, payload(run), state.step(page.slug)
    with st.expander("Take it away", icon=":material/download:"):
        st.caption("A link to exactly this state: prompt, settings and step.")
        st.code(permalink(page), language=None, wrap_lines=True)
        with st.container(horizontal=True):
            st.download_button(
                "Bytes of every step (CSV)",
                data=lambda: growth_csv(made, trace),
                file_name="one-new-row-cache.csv",
                mime="text/csv",
                on_click="ignore",
                key="take_growth_csv",
            )
            st.download_button(
                "Bytes of every step (JSON)",
                data=lambda: json.dumps(growth_table(made, trace), ensure_ascii=False),
                file_name="one-new-row-cache.json",
                mime="application/json",
                on_click="ignore",
                key="take_growth_json",
            )
            st.download_button(
                "A page that plays offline (HTML)",
                data=lambda: player(growth_key(run.key), made, step),
                file_name="one-new-row-cache.html",
                mime="text/html",
                on_click="ignore",
                key="take_growth_html",
            )
        st.caption("The picture itself, as PNG or SVG, is in the menu of the picture.")


def growth_table(made: dict[str, Any], trace: RunTrace) -> dict[str, Any]:
    """Return the measured and modelled bytes of every step, with their units in the names."""
    names = {
        "context_len": "context_len",
        "kv_bytes_in_use": "in_use_bytes",
        "kv_bytes_allocated": "allocated_bytes",
        "kv_bytes_formula": "formula_bytes",
        "kv_bytes_in_blocks": "blocks_bytes",
    }
    return {
        "model_sha256": trace.model_sha256,
        "dtype": trace.dtype,
        "kv_bytes_per_token": made["per_token_bytes"],
        "block_size": made["block_size"],
        "kinds": {
            "kv_bytes_in_use": "measured",
            "kv_bytes_allocated": "measured",
            "kv_bytes_formula": "modelled",
            "kv_bytes_in_blocks": "modelled",
        },
        "steps": [
            {"step": index, **{name: step[field] for name, field in names.items()}}
            for index, step in enumerate(made["steps"])
        ],
    }


def growth_csv(made: dict[str, Any], trace: RunTrace) -> str:
    """Return one line per step: measured bytes, the formula, and whole blocks."""
    rows = growth_table(made, trace)["steps"]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def player(key: str, made: dict[str, Any], step: int) -> str:
    """Return the page that plays a growth without a server; made outside any session."""
    view = components.StageView(run=key, step=step, layer=0, head=0)
    return export.player_html(
        {key: made}, {**asdict(view), "growth": key}, stage="growth", player="growthplayer"
    )
