"""The widgets that a plan is made with, shared by the pages that plan."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.cost import checks
from core.cost.catalog import accelerator_names, find_accelerator
from core.cost.planner import PlanRequest
from pages.ui import choices, scaffold

RESERVE_HELP = "Kept free for activations, the allocator and the framework."


def plan_request(**changed: Any) -> PlanRequest:
    """Return what the reader chose; ``changed`` overrides fields."""
    reserve = float(choices.kept("plan_reserve")) * 1e9
    fields: dict[str, Any] = {
        "model": choices.chosen_model(),
        "context": choices.kept("plan_context"),
        "batch": choices.kept("plan_batch"),
        "accelerator": find_accelerator(choices.kept("plan_accelerator")),
        "kv_dtype": choices.CACHE_FORMATS[choices.kept("plan_cache")],
        "block_size": choices.kept("plan_block"),
        "reserve_bytes": round(reserve),
        **changed,
    }
    return PlanRequest(**fields)


def model_select() -> None:
    """Draw the choice of a model."""
    options = choices.model_options()
    if choices.kept("plan_model") not in options:
        choices.put("plan_model", choices.DEFAULTS["plan_model"])
    st.selectbox("Model", options, key=choices.seed("plan_model"), width=210)


def accelerator_select() -> None:
    """Draw the choice of an accelerator."""
    st.selectbox(
        "Accelerator", accelerator_names(), key=choices.seed("plan_accelerator"), width=210
    )


def exact_and_memory_inputs() -> None:
    """Draw exact sizes, block size and reserve, for a popover."""
    choices.exact_field("plan_context", "Context, exactly", checks.context)
    choices.exact_field("plan_batch", "Requests, exactly", checks.batch)
    st.select_slider(
        "Tokens in a block", [1, 8, 16, 32, 64, 128, 256], key=choices.seed("plan_block")
    )
    st.number_input(
        "Reserve, GB (1e9 B)",
        0.0,
        1000.0,
        step=0.5,
        key=choices.seed("plan_reserve"),
        help=RESERVE_HELP,
    )


SIZES = {"context": checks.context, "batch": checks.batch}
"""The sizes that a stage's sliders set, with their checks."""


def sizes() -> list[dict[str, Any]]:
    """Return the sliders for context and requests."""
    return [
        choices.size("context", "Context, tokens", choices.MAX_CONTEXT),
        choices.size("batch", "Requests at once", choices.MAX_BATCH),
    ]


def size_problems() -> None:
    """Draw what was typed and could not be used."""
    scaffold.findings(tuple(choices.problems().values()))
