"""What a plan says in words: crossings, what fits, formulas, where the figures are from."""

from __future__ import annotations

from dataclasses import fields

import streamlit as st

from core.cost.catalog import unverified_fields
from core.cost.curves import windows
from core.cost.planner import PlanResult
from core.cost.spec import ModelSpec
from pages.ui import assets, state, units
from pages.ui.growth_chart import one_request, room_for_cache, without_blocks
from pages.ui.plan_options import OWN_MODEL


def layers_in_words(model: ModelSpec) -> str:
    """Say how many layers of which kind a model has.

    >>> from core.cost.catalog import find_model
    >>> layers_in_words(find_model("Gemma 2 9B"))
    '21 layers with a window of 4,096, 21 full layers'
    """
    names = {"full": "full layer", "mla": "latent layer", "state": "state layer",
             "none": "layer without a cache"}  # fmt: skip
    counts: dict[str, int] = {}
    for layer in model.layers:
        if layer.kind == "window":
            name = f"layer with a window of {layer.window:,d}"
        else:
            name = names[layer.kind]
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(
        f"{n} {name if n == 1 else name.replace('layer', 'layers', 1)}"
        for name, n in counts.items()
    )


def crossings(result: PlanResult) -> list[str]:
    """Say where the cache meets the weights and the end of memory, what fits, what is wasted."""
    return [_equal(result), *memory_words(result), _waste(result)]


def memory_words(result: PlanResult) -> list[str]:
    """Say where the memory is full and what fits into it."""
    return [text for text in (_full(result), _fit(result)) if text]


def _equal(result: PlanResult) -> str:
    if result.weight_bytes_stored is None:
        return "The weights are not known from this config, only the cache."
    weights = units.decimal_bytes(result.weight_bytes_stored)
    place = result.cache_equals_weights_context
    if place is None:
        return f"The cache never reaches the weights ({weights}): its windows are full before."
    return f"The cache is as large as the weights ({weights}) at {_tokens(result, place)}."


def _full(result: PlanResult) -> str:
    ask, room = result.request, room_for_cache(result)
    if ask.accelerator is None or room is None or ask.accelerator.memory_bytes is None:
        return ""
    memory = units.decimal_bytes(ask.accelerator.memory_bytes * ask.n_devices)
    reserve = (
        f" and a reserve of {units.decimal_bytes(ask.reserve_bytes)}" if ask.reserve_bytes else ""
    )
    name = ask.accelerator.name + (f" × {ask.n_devices}" if ask.n_devices > 1 else "")
    if room <= 0:
        return (
            f"The weights{reserve} do not fit into {name} ({memory}); the curve holds all the same."
        )
    if result.memory_full_context is None:
        return f"{name} ({memory}) never fills: the windows are full before."
    place = _tokens(result, result.memory_full_context)
    rolling = " and rolling windows" if windows(ask.model) else ""
    return f"{name} ({memory}) is full with the weights{reserve}{rolling} at {place}."


def _fit(result: PlanResult) -> str:
    room = room_for_cache(result)
    if result.max_batch is None or result.max_context is None or room is None or room <= 0:
        return ""
    ask = result.request
    return (
        f"{requests(result.max_batch)} of {ask.context:,d} tokens fit in whole blocks; "
        f"{requests(ask.batch)} at once may have {result.max_context:,d} tokens each."
    )


def _waste(result: PlanResult) -> str:
    ask = result.request
    waste = one_request(result) - without_blocks(result)
    most = (ask.block_size - 1) * result.kv_bytes_per_token
    return (
        f"Blocks of {ask.block_size} tokens leave {units.decimal_bytes(waste)} of a request unused "
        f"here, {units.decimal_bytes(most)} at most."
    )


def _tokens(result: PlanResult, place: float) -> str:
    """A context in words; beyond what the model was made for, this is said."""
    longest = result.request.model.max_context
    past = f", past its {longest:,d}" if longest is not None and place > longest else ""
    each = "" if result.request.batch == 1 else f" in each of {result.request.batch:,d} requests"
    return f"{place:,.0f} tokens{each}{past}"


def requests(n: int) -> str:
    """Return a number of requests in words."""
    return "1 request" if n == 1 else f"{n:,d} requests"


def formulas_of(result: PlanResult) -> list[list[str]]:
    """Return each formula in names, and in the numbers that were put in with what came out."""
    return [
        [formula.symbolic, f"{formula.text} {formula.unit}".rstrip()]
        for formula in result.formulas.values()
    ]


def figures_of(result: PlanResult) -> dict[str, object]:
    """Return the figures of a plan with their units in the names, for taking away."""
    ask = result.request
    figures = {
        field.name: getattr(result, field.name)
        for field in fields(result)
        if field.name not in ("request", "formulas", "notes")
    }
    asked = {
        "model": ask.model.name,
        "accelerator": None if ask.accelerator is None else ask.accelerator.name,
        "n_devices": ask.n_devices,
        "context": ask.context,
        "batch": ask.batch,
        "kind": "modelled",
    }
    return asked | figures


def notes_of(result: PlanResult) -> list[str]:
    """Say where the config is from, what was not checked, and what was assumed."""
    model = result.request.model
    notes = [f"Source: {model.source}."] if model.source else []
    if state.settings().model != OWN_MODEL and not unverified_fields(model.name):
        notes.append("Every field was checked against a published file.")
    if windows(model):
        notes.append("“Held” keeps only the window; “allocated” reserves the full length.")
    return list(dict.fromkeys((*notes, *result.notes)))


def style() -> None:
    """Draw the style of what stands outside the stage; a lecture folds the choices away."""
    folded = ".st-key-onr_plan_controls { display: none; }" if state.lecture() else ""
    st.html(f"<style>{assets.read('css/plan.css')}{folded}</style>")
