"""The chart of a real model's cache over context: lines, levels, crossings, all from core.cost."""

from __future__ import annotations

import math
from typing import Any

from core.cost.catalog import attention_variant
from core.cost.curves import (
    GrowthCurve,
    cache_room_formula,
    growth_curve,
    octaves,
    windows,
)
from core.cost.kv import kv_bytes_allocated
from core.cost.planner import PlanResult
from core.cost.spec import ModelSpec
from pages.ui import ticks, units
from pages.ui.choices import MAX_CONTEXT
from pages.ui.curves_stage import line

HEADROOM = 1.06


def growth_chart(result: PlanResult, *, compare: bool) -> dict[str, Any]:
    """Return the chart of ``result``'s model over context at its batch."""
    ask, model = result.request, result.request.model
    end = _end(result)
    last = max(MAX_CONTEXT, end)
    crossings = [c for c in (result.cache_equals_weights_context, result.memory_full_context) if c]
    longest = result.max_context or 1
    also = (*windows(model), end, ask.context, longest, *(math.floor(c) for c in crossings))
    places = octaves(1, last, also)
    curve = growth_curve(model, places, ask.batch, ask.kv_dtype, ask.block_size)
    lines = _lines(result, curve)
    lines += _variants(model, result, places) if compare else []
    levels = _levels(result)
    return {
        "id": "growth",
        "label": "Growth",
        "scales": {
            "linear": _linear_scale(lines, levels, end),
            "log": _log_scale(lines, levels, last),
        },
        "lines": lines,
        "levels": levels,
        "marks": _marks(result, curve),
        "cursor": {"x": ask.context, "label": f"{ask.context:,d} tokens"},
        "x_texts": [f"{place:,d} tokens" for place in places],
    }


def variants(model: ModelSpec) -> list[tuple[str, ModelSpec]]:
    """Return the same model with every query head its own K/V head, and with one for all.

    Empty where the model's cache does not go by heads. Its own number of heads is left out.
    """
    layers = [layer for layer in model.layers if layer.kind in ("full", "window")]
    if not layers:
        return []
    heads, own = layers[0].n_heads, layers[0].n_kv_heads
    wanted = [("multi-head", heads), ("multi-query", 1)]
    return [
        (f"{name}, {n} K/V head" + ("s" if n > 1 else ""), attention_variant(model, n))
        for name, n in wanted
        if n != own and all(layer.n_heads % n == 0 for layer in layers)
    ]


def _end(result: PlanResult) -> int:
    """Where the linear axis ends: the model's own context, or beyond it where that is asked for."""
    own = result.request.model.max_context or 131_072
    context = result.request.context
    return own if context <= own else 1 << (context - 1).bit_length()


def _texts(values: tuple[int, ...]) -> list[str]:
    return [units.decimal_bytes(value) for value in values]


def _lines(result: PlanResult, curve: GrowthCurve) -> list[dict[str, Any]]:
    """What is held and read, and where they differ what is read or allocated besides."""
    x = curve.contexts
    same = curve.held_bytes == curve.read_bytes
    name = "held, and read each step" if same else "held"
    found = [
        line("held", name, "cached-text", x, curve.held_bytes, _texts(curve.held_bytes), width=3)
    ]
    if not same:
        read = curve.read_bytes
        found.append(line("read", "read each step", "new-text", x, read, _texts(read)))
    slack = kv_bytes_allocated(
        result.request.model, 1, result.request.batch, result.request.kv_dtype,
        result.request.block_size,
    )  # fmt: skip
    if any(a - h > slack for a, h in zip(curve.allocated_bytes, curve.held_bytes, strict=True)):
        allocated = curve.allocated_bytes
        found.append(
            line("allocated", "allocated, full length", "cached-text", x, allocated,
                 _texts(allocated), dash=[6, 4])
        )  # fmt: skip
    if result.state_bytes_total:
        state = (result.state_bytes_total,) * len(x)
        found.append(
            line("state", "constant state", "v-text", x, state, _texts(state), dash=[2, 3])
        )
    return found


def _variants(
    model: ModelSpec, result: PlanResult, places: tuple[int, ...]
) -> list[dict[str, Any]]:
    ask = result.request
    found = []
    for name, other in variants(model):
        held = growth_curve(other, places, ask.batch, ask.kv_dtype, ask.block_size).held_bytes
        found.append(line(name, name, "muted", places, held, _texts(held), width=1.5))
    return found


def _levels(result: PlanResult) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    stored = result.weight_bytes_stored
    if stored is not None:
        label = f"weights, {units.decimal_bytes(stored)}"
        found.append({"label": label, "color": "weights-text", "y": stored})
    room = room_for_cache(result)
    if room is not None and room > 0:
        assert result.request.accelerator is not None
        name = result.request.accelerator.name
        label = f"room left on {name}, {units.decimal_bytes(room)}"
        found.append({"label": label, "color": "limit-text", "y": room})
    return found


def room_for_cache(result: PlanResult) -> int | None:
    """Return what the memory leaves for caches, negative where the weights do not fit."""
    formula = cache_room_formula(result)
    return None if formula is None else int(formula.value)


def _marks(result: PlanResult, curve: GrowthCurve) -> list[dict[str, Any]]:
    found = []
    equal, full = result.cache_equals_weights_context, result.memory_full_context
    if equal is not None and result.weight_bytes_stored is not None:
        found.append(
            {"x": equal, "y": result.weight_bytes_stored, "label": "cache = weights",
             "color": "weights-text"}
        )  # fmt: skip
    room = room_for_cache(result)
    if full is not None and room is not None:
        found.append({"x": full, "y": room, "label": "memory full", "color": "limit-text"})
    return [*found, *_window_marks(result, curve), _here(result, curve)]


def _window_marks(result: PlanResult, curve: GrowthCurve) -> list[dict[str, Any]]:
    """Where a window is full and its layers stop growing; where full-length caches fill memory."""
    held = dict(zip(curve.contexts, curve.held_bytes, strict=True))
    allocated = dict(zip(curve.contexts, curve.allocated_bytes, strict=True))
    found = [
        {"x": window, "y": held[window], "label": f"window of {window:,d} full",
         "color": "cached-text"}
        for window in windows(result.request.model)
        if window in held
    ]  # fmt: skip
    longest = result.max_context
    if found and longest and longest in allocated:
        found.append({"x": longest, "y": allocated[longest], "label": "memory full, full length",
                      "color": "limit-text"})  # fmt: skip
    return found


def _here(result: PlanResult, curve: GrowthCurve) -> dict[str, Any]:
    at = curve.contexts.index(result.request.context)
    return {"x": result.request.context, "y": curve.held_bytes[at], "label": "", "color": "ink"}


def _top(lines: list[dict[str, Any]], end: int) -> float:
    return max(y for row in lines for x, y in zip(row["x"], row["y"], strict=True) if x <= end)


def _linear_scale(
    lines: list[dict[str, Any]], levels: list[dict[str, Any]], end: int
) -> dict[str, Any]:
    """Zero to the model's context; a level just above the lines still has its place."""
    top = _top(lines, end)
    near = [level["y"] for level in levels if top < level["y"] <= 1.3 * top]
    high = HEADROOM * max([top, *near])
    return {
        "kind": {"x": "linear", "y": "linear"},
        "x": ticks.axis(0, end, "tokens of context", ticks.linear(end, ticks.tokens)),
        "y": ticks.axis(0, high, "cache", ticks.linear(high, _short, 5)),
    }


def _log_scale(
    lines: list[dict[str, Any]], levels: list[dict[str, Any]], last: int
) -> dict[str, Any]:
    low = ticks.decade_below(max(1, min(min(row["y"]) for row in lines)))
    high = ticks.decade_above(max([_top(lines, last), *(level["y"] for level in levels)]))
    return {
        "kind": {"x": "log", "y": "log"},
        "x": ticks.axis(1, last, "tokens of context", ticks.decades(1, last, ticks.tokens)),
        "y": ticks.axis(low, high, "cache", ticks.decades(low, high, _short)),
    }


def _short(value: float) -> str:
    return units.decimal_bytes(value, 3)


def without_blocks(result: PlanResult) -> int:
    """Return what one request would take in blocks of one token: nothing is rounded up."""
    ask = result.request
    return kv_bytes_allocated(ask.model, ask.context, 1, ask.kv_dtype, 1)


def one_request(result: PlanResult) -> int:
    """Return what one request takes in whole blocks."""
    ask = result.request
    return kv_bytes_allocated(ask.model, ask.context, 1, ask.kv_dtype, ask.block_size)
