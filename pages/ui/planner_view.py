"""The planner: what a model costs on an accelerator, in one picture with its formulas."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.cost.energy import FLOP_PJ, IDLE_POWER, memory_constant
from core.cost.overhead import OverheadFit, fit_for
from core.cost.planner import PlanRequest, PlanResult, plan
from pages.ui import choices, plan_inputs, plan_options, plan_words, state, units
from pages.ui.config_input import config_popover, show_config_problem
from pages.ui.curves_stage import curves_stage, send_plan, take_sizes, tile
from pages.ui.plan_options import DEVICES, WEIGHT_DTYPES
from pages.ui.planner_chart import planner_charts

DEVICES_HELP = (
    "Tensor parallel: weights and FLOPs divided evenly, each cache over at most one K/V head per "
    "device. The all-reduces between devices are not in the floor."
)
BINDING = {"weights": "weights", "kv": "K and V", "arithmetic": "arithmetic"}


@st.fragment
def planner(slug: str) -> None:
    """Draw the planner; its widgets rerun nothing but itself."""
    choices.collect()
    _controls()
    show_config_problem()
    plan_inputs.size_problems()
    _picture(slug)


@st.fragment
def _picture(slug: str) -> None:
    """Draw the chart with its sliders alone, so that a slider waits for nothing else."""
    take_sizes("planner", plan_inputs.SIZES)
    data = planner_data(plan(planner_request()))
    send_plan("planner", data, plan_inputs.address(slug))
    curves_stage("planner")


def planner_request() -> PlanRequest:
    """Return what the reader chose, price and precision of the weights included."""
    chosen = state.settings()
    return plan_inputs.plan_request(
        n_devices=chosen.devices,
        weight_dtype=plan_options.weight_dtype(chosen.weight_dtype),
        price_per_hour=chosen.price or None,
        static_w=chosen.power or None,
    )


def _controls() -> None:
    with plan_inputs.controls():
        plan_inputs.model_select()
        plan_inputs.accelerator_select()
        st.selectbox("Devices", list(DEVICES), width=84, help=DEVICES_HELP,
                     **choices.key("devices"))  # fmt: skip
        st.selectbox("Weights", list(WEIGHT_DTYPES), width=150, **choices.key("weight_dtype"),
                     format_func=lambda name: WEIGHT_DTYPES[name])  # fmt: skip
        plan_inputs.cache_select("Cache", 150)
        _more()
        config_popover()


def _more() -> None:
    with st.popover("More", key="onr_plan_more"):
        plan_inputs.exact_and_memory_inputs()
        st.number_input(
            "Price per device and hour, any currency", 0.0, plan_options.MAX_PRICE, step=0.1,
            help="0 leaves the cost out.", **choices.key("price"),
        )  # fmt: skip
        st.number_input(
            "Standing power per device, W", 0.0, plan_options.MAX_POWER_W, step=10.0,
            help="0 takes a tenth of the data sheet's power, which is an assumption.",
            **choices.key("power"),
        )  # fmt: skip


def planner_data(result: PlanResult) -> dict[str, Any]:
    """Return everything that the stage shows of this plan."""
    ask = result.request
    assert ask.accelerator is not None
    machine = ask.accelerator.name + (f" × {ask.n_devices}" if ask.n_devices > 1 else "")
    data: dict[str, Any] = {
        "kind": "plan",
        "title": f"{ask.model.name} on {machine}, {plan_words.requests(ask.batch)} of "
        f"{ask.context:,d} tokens",
        "lecture": state.lecture(),
        "sizes": plan_inputs.sizes(),
        "tiles": planner_tiles(result),
        "words": planner_words(result),
        "figures": plan_words.figures_of(result),
        "formulas": plan_words.formulas_of(result),
        "notes": [*plan_words.notes_of(result), *machine_notes(result)],
    }
    if result.itl_floor_s is None:
        return data | {
            "charts": [],
            "big": {
                "label": "Added per token", "kind": "modelled",
                "value": units.binary_bytes(result.kv_bytes_per_token),
                "beside": "the weights are not known from this config",
            },
        }  # fmt: skip
    return data | {
        "charts": planner_charts(result),
        "big": {
            "label": "Inter-token latency, at least",
            "kind": "modelled",
            "value": units.seconds(result.itl_floor_s, 3),
            "beside": f"floor at nominal bandwidth, {units.byte_rate(_bandwidth(result))}",
        },
        "stack_title": f"Where the {units.seconds(result.itl_floor_s, 3)} go",
        "stack": _normalised(_stack(result)),
    }


def _bandwidth(result: PlanResult) -> float:
    ask = result.request
    assert ask.accelerator is not None
    return ask.accelerator.bandwidth_bytes_per_s * ask.n_devices


def _stack(result: PlanResult) -> list[dict[str, Any]]:
    """One step's time by what it is spent on; the other side of the roof is named beside it."""
    weights, kv, states = result.weights_s or 0.0, result.kv_s or 0.0, result.state_s or 0.0
    compute = result.compute_s or 0.0
    if result.bound == "compute":
        reading = f"reading takes {units.seconds(weights + kv + states, 3)} meanwhile"
        found = [_part("arithmetic", compute, "cached", units.flops(result.flops_per_step or 0))]
        return [*found, _part("memory", 0.0, "weights", reading)]
    read, each = result.weight_bytes_read_per_step or 0, result.kv_bytes_read_per_step
    found = [
        _part("weights", weights, "weights", units.decimal_bytes(read)),
        _part("K and V", kv, "k", units.decimal_bytes(each)),
    ]
    if states:
        found.append(_part("state", states, "v", "read and written"))
    meanwhile = f"{units.seconds(compute, 3)} meanwhile, {units.flops(result.flops_per_step or 0)}"
    return [*found, {"label": "arithmetic", "value": meanwhile, "share": 0, "color": "cached"}]


def _normalised(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same parts with shares of 1,000: a bar fills its room only if they add up to it."""
    whole = sum(part["share"] for part in parts)
    return [{**part, "share": round(1000 * part["share"] / whole, 3)} for part in parts]


def _part(label: str, seconds: float, color: str, beside: str) -> dict[str, Any]:
    value = f"{units.seconds(seconds, 3)} · {beside}" if seconds else beside
    return {"label": label, "value": value, "share": seconds, "color": color}


def planner_tiles(result: PlanResult) -> list[dict[str, str]]:
    """Return the numbers beside the chart."""
    tiles = []
    if result.tokens_per_s_per_request is not None and result.tokens_per_s_total is not None:
        tiles += [
            tile(
                "each", "Each request", _rate(result.tokens_per_s_per_request), "tokens/s at most"
            ),
            tile("total", "All together", _rate(result.tokens_per_s_total), "tokens/s at most"),
            tile("binds", "Bound by", BINDING[result.binding or "weights"], _share(result)),
        ]
    if result.max_batch is not None and result.max_context is not None:
        short = result.fits is False
        tiles += [
            tile("limit" if short else "fit", "Requests that fit", units.count(result.max_batch),
                 f"of {result.request.context:,d} tokens"),
            tile("longest", "Longest context", units.count(result.max_context),
                 f"for {plan_words.requests(result.request.batch)}"),
        ]  # fmt: skip
    if result.energy_j_per_token is not None:
        tiles.append(
            tile("energy", "Energy", _joules(result.energy_j_per_token), "a token, modelled")
        )
    if result.cost_per_million_tokens is not None:
        cost = units.number(result.cost_per_million_tokens, 3)
        tiles.append(tile("cost", "Cost", cost, "per million tokens, at full load"))
    return tiles


def _rate(per_s: float) -> str:
    return units.number(per_s, 3)


def _share(result: PlanResult) -> str:
    """How much of the memory side the larger part is."""
    if result.bound == "compute" or not result.memory_s:
        return "more than reading"
    part = (
        result.weights_s
        if result.binding == "weights"
        else result.memory_s - (result.weights_s or 0.0)
    )
    return f"{units.percent((part or 0.0) / result.memory_s)} of what is read"


def _joules(value: float) -> str:
    return f"{units.number(value, 3)} J" if value >= 1 else f"{units.number(value * 1e3, 3)} mJ"


def planner_words(result: PlanResult) -> list[str]:
    """Say what sets the floor, what real kernels add, and what fits."""
    words = [_binds_words(result), _realistic_words(result), *plan_words.memory_words(result)]
    return [text for text in words if text]


def _binds_words(result: PlanResult) -> str:
    if result.itl_floor_s is None or result.compute_s is None or result.memory_s is None:
        return "Without the weights there is no floor: only the cache is known from this config."
    memory, compute = units.seconds(result.memory_s, 3), units.seconds(result.compute_s, 3)
    if result.bound == "compute":
        return (
            f"Arithmetic ({compute}) takes longer than reading ({memory}): more FLOP/s would help."
        )
    waits = units.percent(1 - result.compute_s / result.memory_s)
    return (
        f"Reading takes {memory}, arithmetic {compute}: the arithmetic units wait {waits} of the "
        "step."
    )


def realistic(result: PlanResult) -> tuple[float, OverheadFit] | None:
    """Return the step time that published measurements suggest, where they cover this device."""
    ask = result.request
    if ask.accelerator is None or ask.n_devices != 1 or result.memory_s is None:
        return None
    if ask.batch != 1 or result.bound == "compute":
        return None
    fit = fit_for(ask.accelerator.name)
    if fit is None:
        return None
    moved = result.memory_s * ask.accelerator.bandwidth_bytes_per_s
    return fit.seconds(moved), fit


def _realistic_words(result: PlanResult) -> str:
    found = realistic(result)
    if found is None:
        return ""
    seconds, fit = found
    error = "" if fit.leave_one_out is None else f", ± {units.percent(fit.leave_one_out)}"
    return (
        f"Published kernels on this device suggest {units.seconds(seconds, 3)}{error} "
        f"(fitted on {fit.n_rows} measurements: {units.seconds(fit.t0_s, 2)} + bytes / "
        f"{units.byte_rate(fit.bandwidth_bytes_per_s, 3)})."
    )


def machine_notes(result: PlanResult) -> list[str]:
    """Say where the accelerator's figures and the energy constants are from."""
    machine = result.request.accelerator
    assert machine is not None
    notes = [
        f"{machine.name}: {units.byte_rate(machine.bandwidth_bytes_per_s)}, "
        f"{units.flop_rate(machine.flops_per_s)} dense at 16 bit; source {machine.source}; "
        f"verified: {machine.verified}."
    ]
    if machine.note:
        notes.append(f"{machine.note}.")
    constant = memory_constant(machine)
    if constant is not None and result.energy_j_per_token is not None:
        checked = "" if constant.verified else ", not checked"
        notes.append(
            f"Energy is modelled, not measured: {constant.name} {constant.value:g} {constant.unit} "
            f"({constant.source}{checked}); {FLOP_PJ.name} {FLOP_PJ.value:g} {FLOP_PJ.unit} "
            f"({FLOP_PJ.source}); {IDLE_POWER.name}: a tenth of the data sheet's power "
            f"unless typed ({IDLE_POWER.source})."
        )
    return notes
