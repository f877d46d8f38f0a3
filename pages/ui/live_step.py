"""One decode step taken apart: its operations in the order in which they ran."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.machine.records import Bar, MeasureResult
from pages.ui import components, live_table, scaffold, state, ticks, units

LANES = (
    ("products", "products with weights", "weights"),
    ("attention", "attention", "cached"),
    ("copies", "copies, look-ups", "muted"),
    ("other", "norms, rotations, rest", "line"),
)
MOST_BARS = 4000
MOST_ROWS = 8


def section(result: MeasureResult | None) -> None:
    """Draw the parts and the waterfall of the result on screen."""
    if result is None or not result.bars:
        st.caption("A single measurement, not a sweep, is also taken apart. Press Measure.")
        return
    scaffold.findings(
        ("The profiler adds time of its own to each: bars say what runs, not how fast.",)
    )
    data = {**waterfall_data(result), "lecture": state.lecture()}
    components.mount_stage("livewaterfall", "mountWaterfall", data, key="live_waterfall")
    if result.parts:
        live_table.table(
            ("part of the step", "time", "kind", "how it was had"),
            [(p.name, units.seconds(p.seconds, 3), p.kind, p.how) for p in result.parts],
        )
    live_table.table(("operation", "calls", "time, profiled", "kind"), totals(result.bars))


def waterfall_data(result: MeasureResult) -> dict[str, Any]:
    """Return the bars with their words; the place of a bar is its time since the step began."""
    bars = result.bars[:MOST_BARS]
    lanes = {group: index for index, (group, _, _) in enumerate(LANES)}
    end_ms = max((bar.start_s + bar.duration_s) * 1e3 for bar in bars)
    last = units.seconds(end_ms / 1e3, 3)
    left_out = len(result.bars) - len(bars)
    more = f" The last {units.count(left_out)} are left out." if left_out else ""
    return {
        "title": "One decode step, operation by operation",
        "caption": f"{units.count(len(bars))} operations in {last}, profiled (measured).{more}",
        "lanes": [{"label": label, "color": colour} for _, label, colour in LANES],
        "axis": ticks.axis(
            0, end_ms, "ms", ticks.linear(end_ms, lambda ms: f"{units.number(ms, 3)} ms")
        ),
        "bars": [
            [_short(bar.start_s), _short(bar.duration_s), lanes.get(bar.group, 3)] for bar in bars
        ],
        "texts": [f"{bar.name}: {units.seconds(bar.duration_s, 3)}" for bar in bars],
    }


def totals(bars: tuple[Bar, ...]) -> list[tuple[str, ...]]:
    """Return the operations by their total time, the longest first, the short ones together."""
    found: dict[str, list[float]] = {}
    for bar in bars:
        found.setdefault(bar.name, []).append(bar.duration_s)
    ordered = sorted(found.items(), key=lambda item: -sum(item[1]))
    rows = [_total(name, times) for name, times in ordered[:MOST_ROWS]]
    others = [time for _, times in ordered[MOST_ROWS:] for time in times]
    if others:
        rows.append(_total(f"{len(ordered) - MOST_ROWS} more", others))
    return rows


def _total(name: str, times: list[float]) -> tuple[str, ...]:
    return name, units.count(len(times)), units.seconds(sum(times), 3), "measured"


def _short(seconds: float) -> float:
    return float(f"{seconds * 1e3:.6g}")
