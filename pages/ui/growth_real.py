"""The cache of real models: one chart, where it meets the weights and the end of memory."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.cost.curves import windows
from core.cost.planner import PlanResult, plan
from pages.ui import choices, plan_inputs, plan_words, state, units
from pages.ui.config_input import config_popover, show_config_problem
from pages.ui.curves_stage import curves_stage, send_plan, take_sizes, tile
from pages.ui.growth_chart import growth_chart

COMPARE_HELP = (
    "The same model with one K/V head per query head (multi-head) and with one for all "
    "(multi-query)."
)


@st.fragment
def real_models(slug: str) -> None:
    """Draw the section; its widgets rerun nothing but itself."""
    choices.collect()
    st.subheader("The same line for real models", anchor="real-models")
    with plan_inputs.controls():
        plan_inputs.model_select()
        plan_inputs.cache_select("Cache precision", 190)
        plan_inputs.accelerator_select()
        with st.popover("More", key="onr_plan_more"):
            plan_inputs.exact_and_memory_inputs()
        config_popover()
        st.toggle("Compare head counts", help=COMPARE_HELP, **choices.key("compare"))
    show_config_problem()
    plan_inputs.size_problems()
    _picture(slug)


@st.fragment
def _picture(slug: str) -> None:
    """Draw the chart with its sliders alone, so that a slider waits for nothing else."""
    take_sizes("growth", plan_inputs.SIZES)
    result = plan(plan_inputs.plan_request())
    compare = state.settings().compare
    send_plan("growth", growth_data(result, compare=compare), plan_inputs.address(slug))
    curves_stage("growth")


def growth_data(result: PlanResult, *, compare: bool) -> dict[str, Any]:
    """Return everything that the stage shows of this plan."""
    ask = result.request
    return {
        "kind": "growth",
        "title": f"K/V cache of {ask.model.name}, {plan_words.requests(ask.batch)}",
        "lecture": state.lecture(),
        "sizes": plan_inputs.sizes(),
        "charts": [growth_chart(result, compare=compare)],
        "big": {
            "label": "One more token adds",
            "kind": "modelled",
            "value": units.binary_bytes(result.kv_bytes_per_token),
            "beside": (
                f"{units.exact_bytes(result.kv_bytes_per_token)}, "
                f"{plan_words.layers_in_words(ask.model)}"
            ),
        },
        "tiles": _tiles(result),
        "words": plan_words.crossings(result),
        "figures": plan_words.figures_of(result),
        "formulas": plan_words.formulas_of(result),
        "notes": plan_words.notes_of(result),
    }


def _tiles(result: PlanResult) -> list[dict[str, str]]:
    both = units.decimal_bytes
    held, read = result.kv_bytes_total, result.kv_bytes_read_per_step
    full = ", full length" if windows(result.request.model) else ""
    tiles = [
        tile("held", "Held", both(held), units.binary_bytes(held)),
        tile("read", "Read per step", both(read), "all of it, for every token"),
        tile("allocated", "Allocated", both(result.kv_bytes_allocated),
             f"in blocks of {result.request.block_size}{full}"),
    ]  # fmt: skip
    if result.weight_bytes_stored is not None:
        tiles.append(
            tile("weights", "Weights", both(result.weight_bytes_stored), "they do not grow")
        )
    if result.state_bytes_total:
        tiles.append(tile("state", "Constant state", both(result.state_bytes_total),
                          "read and written each step"))  # fmt: skip
    if result.max_batch is not None:
        name = "fit" if result.max_batch else "limit"
        tiles.append(tile(name, "Requests that fit", units.count(result.max_batch),
                          f"of {result.request.context:,d} tokens"))  # fmt: skip
    return tiles
