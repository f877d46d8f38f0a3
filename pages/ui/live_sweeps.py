"""Sweeps of batch and of context: each varied alone, the floor in two parts, a line through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from core.machine.records import DecodePoint, MeasureResult
from core.machine.spec import MeasureKind
from core.machine.tickets import KeptResult
from pages.ui import live_desk, live_words, ticks, units
from pages.ui.curves_stage import line, tile
from pages.ui.live_curves import measured_chart

SWEEPS: tuple[tuple[MeasureKind, str], ...] = (
    ("batch sweep", "Sweep batch"),
    ("context sweep", "Sweep context"),
)
HEADROOM = 1.08


def section(kept: Sequence[KeptResult], *, busy: bool) -> None:
    """Draw both sweeps: the newest result of each, or the button that measures it."""
    for kind, label in SWEEPS:
        found = next((one for one in kept if one.result.spec.kind == kind), None)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                label, key=f"live_{label.split()[1]}_sweep", on_click=live_desk.start, args=(kind,),
                disabled=busy,
            )  # fmt: skip
            st.caption(_about(kind, found))
        if found is not None and len(found.result.points) > 1:
            measured_chart(sweep_chart(found.result), key=f"live_{label.split()[1]}_chart")


def _about(kind: MeasureKind, found: KeptResult | None) -> str:
    if found is None:
        held = "the context held" if kind == "batch sweep" else "the batch held"
        return f"Not measured yet. It varies one variable alone, {held}."
    first = found.result.points[0]
    title = live_words.spec_title(found.result.spec, first.weight_bytes_read)
    return f"{title}, measured {live_words.age(found.age_s)}."


def sweep_chart(result: MeasureResult) -> dict[str, Any]:
    """Return the chart of a sweep: latency and floor, the rate of the whole batch, the fit."""
    by_batch = result.spec.kind == "batch sweep"
    points = result.points
    x = [p.batch_size if by_batch else p.context_len for p in points]
    unit = "requests in the batch" if by_batch else "tokens of context"
    charts = [_latency_chart(points, x, unit, result)]
    if by_batch:
        charts.append(_rate_chart(points, x, unit))
    charts.append(_fit_chart(points, result))
    return {
        "title": "Sweep of batch" if by_batch else "Sweep of context",
        "charts": charts,
        "tiles": _tiles(result),
        "words": _words(result),
        "stack_title": f"The floor at {'batch' if by_batch else 'context'} {units.count(x[-1])}",
        "stack": _stack(points[-1], result),
    }


def _latency_chart(
    points: Sequence[DecodePoint], x: list[int], unit: str, result: MeasureResult
) -> dict[str, Any]:
    rate = result.probe.median_bytes_per_s
    weights = [p.weight_bytes_read / rate * 1e3 for p in points]
    floor = [p.floor_s * 1e3 for p in points]
    median = [p.itl_s.p50 * 1e3 for p in points]
    high = [p.itl_s.p90 * 1e3 for p in points]
    top = HEADROOM * max(*median, *high, *floor)
    lines = [
        line("p50", "median (measured)", "new-text", x, median, _ms(median), width=3),
        line("p90", "p90 (measured)", "new-text", x, high, _ms(high), width=1.2, dash=[2, 3]),
        line("weights", "weights (modelled)", "weights-text", x, weights, _ms(weights),
             fill=[0.0] * len(x), width=1.2),
        line("floor", "+ K/V = floor (modelled)", "k-text", x, floor, _ms(floor), fill=weights,
             dash=[7, 4]),
    ]  # fmt: skip
    return _chart("latency", "Latency", lines, x, unit, top, "ms per token", _dots(x, median))


def _rate_chart(points: Sequence[DecodePoint], x: list[int], unit: str) -> dict[str, Any]:
    total = [p.tokens_per_s_total for p in points]
    each = [p.tokens_per_s_per_request for p in points]
    lines = [
        line("total", "whole batch (measured)", "new-text", x, total, _rates(total), width=3),
        line("each", "each request (measured)", "cached-text", x, each, _rates(each)),
    ]
    top = HEADROOM * max(total)
    return _chart("rate", "Tokens/s", lines, x, unit, top, "tokens per second", _dots(x, total))


def _fit_chart(points: Sequence[DecodePoint], result: MeasureResult) -> dict[str, Any]:
    ordered = sorted(points, key=lambda p: p.bytes_read)
    x = [p.bytes_read / 1e9 for p in ordered]
    median = [p.itl_s.p50 * 1e3 for p in ordered]
    floor = [p.floor_s * 1e3 for p in ordered]
    lines = [
        line("p50", "median (measured)", "new-text", x, median, _ms(median), width=2),
        line("floor", "floor (modelled)", "limit-text", x, floor, _ms(floor), dash=[7, 4]),
    ]
    fit = result.fit
    if fit is not None:
        fitted = [(fit.t0_s + p.bytes_read * fit.slope) * 1e3 for p in ordered]
        lines.append(line("fit", "t0 + bytes / bandwidth", "v-text", x, fitted, _ms(fitted)))
    top = HEADROOM * max(y for row in lines for y in row["y"])
    marks = _dots(x, median)
    return _chart("fit", "By bytes", lines, x, "GB read per step", top, "ms per token", marks)


def _chart(
    name: str,
    label: str,
    lines: list[dict[str, Any]],
    x: Sequence[float],
    unit: str,
    top: float,
    y_label: str,
    marks: list[dict[str, Any]],
) -> dict[str, Any]:
    def places(value: float) -> str:
        return units.number(value, 3)

    y = ticks.axis(0, top, y_label, ticks.linear(top, places, 5))
    linear = ticks.axis(0, x[-1], unit, ticks.linear(x[-1], places))
    scales = {"linear": {"kind": {"x": "linear", "y": "linear"}, "x": linear, "y": y}}
    if x[0] > 0 and x[-1] / x[0] > 8:
        doubled = ticks.axis(x[0], x[-1], unit, ticks.doublings(x[0], x[-1], places, every=1))
        scales["log"] = {"kind": {"x": "log", "y": "linear"}, "x": doubled, "y": y}
    return {
        "id": name, "label": label, "scales": scales, "lines": lines, "levels": [],
        "marks": marks, "cursor": None,
        "x_texts": [f"{units.number(value)} {unit}" for value in x],
    }  # fmt: skip


def _dots(x: Sequence[float], y: Sequence[float]) -> list[dict[str, Any]]:
    return [{"x": a, "y": b, "label": "", "color": "new"} for a, b in zip(x, y, strict=True)]


def _texts(words: Callable[[float], str], values: Sequence[float]) -> list[str]:
    return [words(value) for value in values]


def _ms(values: Sequence[float]) -> list[str]:
    return _texts(lambda value: units.seconds(value / 1e3, 3), values)


def _rates(values: Sequence[float]) -> list[str]:
    return _texts(units.rate, values)


def _tiles(result: MeasureResult) -> list[dict[str, str]]:
    fit = result.fit
    probe = units.byte_rate(result.probe.median_bytes_per_s, 3)
    found = [tile("probe", "Read beside it", probe, kind="measured")]
    if fit is None:
        return found
    rate = fit.bandwidth_bytes_per_s
    return [
        tile("t0", "Fixed cost t0", units.seconds(fit.t0_s, 3), kind="modelled"),
        tile("slope", "Bandwidth of the fit", "none" if rate is None else units.byte_rate(rate, 3),
             f"R² {units.number(fit.r2, 3)}", "modelled"),
        *found,
    ]  # fmt: skip


def _words(result: MeasureResult) -> list[str]:
    first, last = result.points[0], result.points[-1]
    ratio = units.number(last.itl_s.p50 / first.itl_s.p50, 3)
    if result.spec.kind == "batch sweep":
        more = last.batch_size / first.batch_size
        words = [
            f"{units.number(more)} times as many requests share one sweep of the weights: a token "
            f"takes {ratio} times as long."
        ]
    else:
        kv = units.decimal_bytes(last.kv_bytes_read, 3)
        words = [
            f"At {units.count(last.context_len)} tokens each step reads {kv} of K/V besides "
            f"the weights, and takes {ratio} times as long as at {units.count(first.context_len)}."
        ]
    if result.fit is None:
        words.append(
            "No line t = t0 + bytes / bandwidth fits: other load, arithmetic or caches decide here."
        )
    return words


def _stack(point: DecodePoint, result: MeasureResult) -> list[dict[str, Any]]:
    rate = result.probe.median_bytes_per_s
    parts = (
        ("K and V", point.kv_bytes_read, "k"),
        ("weights", point.weight_bytes_read, "weights"),
    )
    return [
        {
            "label": name,
            "value": f"{units.decimal_bytes(n, 3)} · {units.seconds(n / rate, 3)} (modelled)",
            "share": n / point.bytes_read,
            "color": colour,
        }
        for name, n, colour in parts
    ]
