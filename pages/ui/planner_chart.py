"""The charts of a plan: the floor over requests and over context, the rates, the roofline."""

from __future__ import annotations

from typing import Any

from core.cost import roofline
from core.cost.curves import FloorCurve, arithmetic_batch, floor_curve, octaves, windows
from core.cost.planner import PlanResult
from core.cost.spec import AcceleratorSpec
from pages.ui import ticks, units
from pages.ui.choices import MAX_BATCH, MAX_CONTEXT
from pages.ui.curves_stage import line

HEADROOM = 1.08


def planner_charts(result: PlanResult) -> list[dict[str, Any]]:
    """Return the views of a plan that has a floor, the one over requests first."""
    ask = result.request
    top_batch = _top_batch(result)
    fitting = [n for n in (result.max_batch, ask.batch) if n]
    over_batch = floor_curve(result, "batch", octaves(1, top_batch, fitting, _fine(top_batch)))
    own = ask.model.max_context or MAX_CONTEXT
    top_context = max(own, ask.context)
    also = (ask.context, *windows(ask.model), *_even(top_context))
    over_context = floor_curve(result, "context", octaves(1, top_context, also))
    return [
        _floor_chart(result, over_batch, "batch", "over requests"),
        _floor_chart(result, over_context, "context", "over context"),
        _rates_chart(result, over_batch),
        _roofline_chart(result, over_batch),
    ]


def _top_batch(result: PlanResult) -> int:
    """Where the axis of requests ends: twice what fits, and never before what is asked for."""
    fitting = MAX_BATCH if result.max_batch is None else min(MAX_BATCH, 2 * result.max_batch)
    return max(16, result.request.batch, 1 << max(0, fitting - 1).bit_length())


def _fine(top: int) -> int:
    """Points an octave: a short axis is drawn large, so its curve needs more of them."""
    return 4 if top <= MAX_BATCH // 4 else 2


def _even(top: int) -> tuple[int, ...]:
    """A few even places, so that a line bent on one scale is smooth on the other."""
    return tuple(max(1, top * i // 8) for i in range(1, 8))


def _floor_chart(result: PlanResult, curve: FloorCurve, name: str, label: str) -> dict[str, Any]:
    """Stack what is read, weights below and K/V above, beside the arithmetic."""
    ask, x = result.request, curve.places
    memory = [w + k for w, k in zip(curve.weights_s, curve.kv_s, strict=True)]
    lines = [
        line("weights", "weights", "weights-text", x, curve.weights_s, _times(curve.weights_s),
             fill=[0.0] * len(x), width=1.5),
        line("kv", "+ K and V", "k-text", x, memory, _times(curve.kv_s),
             fill=list(curve.weights_s), width=1.5),
        line("arithmetic", "arithmetic", "cached-text", x, curve.compute_s,
             _times(curve.compute_s), dash=[6, 4], width=1.5),
        line("floor", "floor", "ink", x, curve.itl_floor_s, _times(curve.itl_floor_s), width=3),
    ]  # fmt: skip
    top = HEADROOM * max(curve.itl_floor_s)
    y_linear = ticks.axis(0, top, "least time of a step, modelled", ticks.linear(top, _time, 5))
    low = ticks.decade_below(min(*curve.weights_s, *curve.itl_floor_s) / 4)
    high = ticks.decade_above(top)
    y_log = ticks.axis(low, high, y_linear["label"], ticks.decades(low, high, _time))
    at = x.index(ask.context if name == "context" else ask.batch)
    marks = [{"x": x[at], "y": curve.itl_floor_s[at], "label": "", "color": "ink"}]
    marks += _batch_marks(result, curve) if name == "batch" else _context_marks(result)
    cursor = f"{ask.context:,d} tokens" if name == "context" else _requests(ask.batch)
    unit = "tokens of context, each request" if name == "context" else "requests at once"
    x_linear = ticks.axis(0, x[-1], unit, ticks.linear(x[-1], ticks.tokens))
    x_log = ticks.axis(1, x[-1], unit, ticks.doublings(1, x[-1], ticks.tokens, _every(x[-1])))
    linear_x = x_linear if name == "context" else x_log
    kind = "linear" if name == "context" else "log"
    return {
        "id": name,
        "label": label,
        "scales": {
            "linear": {"kind": {"x": kind, "y": "linear"}, "x": linear_x, "y": y_linear},
            "log": {"kind": {"x": "log", "y": "log"}, "x": x_log, "y": y_log},
        },
        "lines": lines,
        "levels": [],
        "marks": marks,
        "cursor": {"x": x[at], "label": cursor},
        "x_texts": [f"{place:,d} {'tokens' if name == 'context' else 'requests'}" for place in x],
    }


def _every(top: int) -> int:
    return 1 if top <= 2048 else 4


def _batch_marks(result: PlanResult, curve: FloorCurve) -> list[dict[str, Any]]:
    """Where memory ends, and from where on arithmetic sets the floor."""
    marks = []
    fit = result.max_batch
    if fit and fit in curve.places:
        floor = curve.itl_floor_s[curve.places.index(fit)]
        marks.append(
            {"x": fit, "y": floor, "label": f"{_requests(fit)} fit", "color": "limit-text"}
        )
    binding = arithmetic_batch(result, curve.places[-1])
    if binding is not None and binding > 1:
        point = floor_curve(result, "batch", (binding,))
        label = f"arithmetic from {binding:,d}"
        marks.append(
            {"x": binding, "y": point.itl_floor_s[0], "label": label, "color": "cached-text"}
        )
    return marks


def _context_marks(result: PlanResult) -> list[dict[str, Any]]:
    longest = result.max_context
    if not longest or longest > max(MAX_CONTEXT, result.request.context):
        return []
    point = floor_curve(result, "context", (longest,))
    label = f"{longest:,d} tokens fit"
    return [{"x": longest, "y": point.itl_floor_s[0], "label": label, "color": "limit-text"}]


def _rates_chart(result: PlanResult, curve: FloorCurve) -> dict[str, Any]:
    """Tokens per second of all requests together and of each."""
    x = curve.places
    total, each = curve.tokens_per_s_total, curve.tokens_per_s_per_request
    texts = [units.rate(value) for value in total], [units.rate(value) for value in each]
    low, high = ticks.decade_below(min(each)), ticks.decade_above(max(total))
    top = HEADROOM * max(total)
    label = "tokens per second, at most"
    at = x.index(result.request.batch)
    batches = ticks.axis(1, x[-1], "requests at once", ticks.doublings(1, x[-1], ticks.tokens, 1))
    return {
        "id": "rates",
        "label": "tokens/s",
        "scales": {
            "linear": {
                "kind": {"x": "log", "y": "linear"},
                "x": batches,
                "y": ticks.axis(0, top, label, ticks.linear(top, ticks.tokens, 5)),
            },
            "log": {
                "kind": {"x": "log", "y": "log"},
                "x": batches,
                "y": ticks.axis(low, high, label, ticks.decades(low, high, units.number)),
            },
        },
        "lines": [
            line("total", "all requests", "ink", x, total, texts[0], width=3),
            line("each", "each request", "new-text", x, each, texts[1]),
        ],
        "levels": [],
        "marks": [{"x": x[at], "y": total[at], "label": "", "color": "ink"}],
        "cursor": {"x": x[at], "label": _requests(result.request.batch)},
        "x_texts": [f"{place:,d} requests" for place in x],
    }


def _roofline_chart(result: PlanResult, curve: FloorCurve) -> dict[str, Any]:
    """The roof, and the whole step as a dot that walks right as requests join."""
    ask = result.request
    assert ask.accelerator is not None
    roof = _roof(result, ask.accelerator)
    bandwidth, ridge = roof.bandwidth_bytes_per_s, roof.ridge_flops_per_byte
    low = min(0.5, *curve.intensity) / 2
    high = max(ridge, *curve.intensity) * 8
    places = octaves_of(low, high, ridge)
    tops = [roofline.attainable_flops_per_s(i, roof.flops_per_s, bandwidth) for i in places]
    walk = [
        roofline.attainable_flops_per_s(i, roof.flops_per_s, bandwidth) for i in curve.intensity
    ]
    at = curve.places.index(ask.batch)
    y_low, y_high = ticks.decade_below(min(tops)), ticks.decade_above(max(tops) * 1.5)
    x_low, x_high = min(places), max(places)
    scale = {
        "kind": {"x": "log", "y": "log"},
        "x": ticks.axis(x_low, x_high, "FLOP per byte moved",
                        ticks.decades(x_low, x_high, units.number)),
        "y": ticks.axis(y_low, y_high, "attainable FLOP/s",
                        ticks.decades(y_low, y_high, units.flop_rate)),
    }  # fmt: skip
    return {
        "id": "roofline",
        "label": "Roofline",
        "scales": {"log": scale},
        "lines": [
            line("roof", "roof", "cached-text", places, tops,
                 [units.flop_rate(top) for top in tops], width=2.5),
            line("walk", f"1 to {curve.places[-1]:,d} requests", "weights-text",
                 curve.intensity, walk, width=5),
        ],
        "levels": [],
        "marks": [
            {"x": curve.intensity[at], "y": walk[at], "label": _requests(ask.batch),
             "color": "ink"},
            {"x": ridge, "y": roof.flops_per_s, "label": f"ridge {units.number(ridge, 3)}",
             "color": "cached-text"},
        ],
        "cursor": None,
        "x_texts": [f"{units.number(place, 3)} FLOP per byte" for place in places],
    }  # fmt: skip


def _roof(result: PlanResult, accelerator: AcceleratorSpec) -> AcceleratorSpec:
    """The accelerator at the rate that the floor was computed with, all devices together."""
    from dataclasses import replace

    given = result.formulas["itl_floor_s"].variables
    n = result.request.n_devices
    return replace(
        accelerator,
        bandwidth_bytes_per_s=accelerator.bandwidth_bytes_per_s * n,
        flops_per_s=float(given["flops_per_s"]) * n,
    )


def octaves_of(low: float, high: float, also: float) -> list[float]:
    """Return places a factor of two apart from ``low`` to ``high``, with one more between.

    >>> octaves_of(1.0, 4.0, 3.0)
    [1.0, 2.0, 3.0, 4.0]
    """
    places, place = [], low
    while place < high:
        places.append(place)
        place *= 2
    return sorted({*places, high, also})


def _times(values: tuple[float, ...] | list[float]) -> list[str]:
    return [units.seconds(value, 3) for value in values]


def _time(value: float) -> str:
    return units.seconds(value, 3)


def _requests(n: int) -> str:
    return "1 request" if n == 1 else f"{n:,d} requests"
