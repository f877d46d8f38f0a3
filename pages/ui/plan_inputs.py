"""The widgets that a plan is made with, shared by the pages that plan."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.cost import checks
from core.cost.catalog import accelerator_names, find_accelerator
from core.cost.planner import PlanRequest
from pages.ui import choices, plan_options, scaffold, state
from pages.ui.plan_options import CACHE_DTYPES, OWN_MODEL
from pages.ui.settings import address_names

RESERVE_HELP = "Kept free for activations, the allocator and the framework."
SIZES = {"context": checks.context, "batch": checks.batch}
"""The sizes that a stage's sliders set, with their checks."""


def plan_request(**changed: Any) -> PlanRequest:
    """Return what the reader chose; ``changed`` overrides fields."""
    chosen = state.settings()
    fields: dict[str, Any] = {
        "model": choices.chosen_model(),
        "context": chosen.context,
        "batch": chosen.batch,
        "accelerator": find_accelerator(chosen.accelerator),
        "kv_dtype": plan_options.kv_dtype(chosen.kv_dtype),
        "block_size": chosen.block_size,
        "reserve_bytes": round(chosen.reserve_gb * 1e9),
        **changed,
    }
    return PlanRequest(**fields)


def controls() -> DeltaGenerator:
    """Return the row that the choices stand in."""
    return st.container(
        horizontal=True, vertical_alignment="bottom", gap="small", key="onr_plan_controls"
    )


def model_select() -> None:
    """Draw the choice of a model."""
    st.selectbox(
        "Model", choices.model_options(), width=210, **choices.key("model"),
        format_func=lambda name: "Your config.json" if name == OWN_MODEL else name,
    )  # fmt: skip


def accelerator_select() -> None:
    """Draw the choice of an accelerator."""
    st.selectbox("Accelerator", accelerator_names(), width=210, **choices.key("accelerator"))


def cache_select(label: str, width: int) -> None:
    """Draw the choice of the cache's precision."""
    st.selectbox(
        label, list(CACHE_DTYPES), width=width, **choices.key("kv_dtype"),
        format_func=lambda name: CACHE_DTYPES[name],
    )  # fmt: skip


def exact_and_memory_inputs() -> None:
    """Draw exact sizes, block size and reserve, for a popover."""
    choices.exact_field("context", "Context, exactly", checks.context)
    choices.exact_field("batch", "Requests, exactly", checks.batch)
    st.select_slider(
        "Tokens in a block", list(plan_options.BLOCK_SIZES), **choices.key("block_size")
    )
    st.number_input(
        "Reserve, GB (1e9 B)", 0.0, plan_options.MAX_RESERVE_GB, step=0.5, help=RESERVE_HELP,
        **choices.key("reserve_gb"),
    )  # fmt: skip


def sizes() -> list[dict[str, Any]]:
    """Return the sliders for context and requests."""
    return [
        choices.size("context", "Context, tokens", choices.MAX_CONTEXT),
        choices.size("batch", "Requests at once", choices.MAX_BATCH),
    ]


def address(slug: str) -> dict[str, Any]:
    """Return what the address of page ``slug`` has to be, for a change that redraws no page."""
    return {"wanted": state.query(slug), "names": list(address_names())}


def size_problems() -> None:
    """Draw what was typed and could not be used."""
    scaffold.findings(tuple(choices.problems().values()))
