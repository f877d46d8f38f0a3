"""The roofline as a Plotly figure and in words: pure functions of core records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go

from core.cost.accounting import OpCost
from core.cost.roofline import RooflinePoint, roofline_point
from core.cost.spec import AcceleratorSpec
from pages.ui import units
from pages.ui.palette import GROUND, Theme, colour

DotKind = Literal["sweep", "preset", "step", "prefill"]
MAX_ROOFS = 3

_DASHES = ("solid", "dash", "dot")
_LEFT, _RIGHT = 0.05, 5000.0


@dataclass(frozen=True)
class Dot:
    """Some work to be placed under the roofs; activations count if its cost has them.

    ``above`` puts the label on the upper side of the roof, where a neighbour is below.
    """

    label: str
    kind: DotKind
    cost: OpCost
    above: bool = False


def roofline_figure(
    roofs: Sequence[AcceleratorSpec], dots: Sequence[Dot], theme: Theme = "light", height: int = 320
) -> go.Figure:
    """Return roofs on log-log axes, their ridges, and every dot under the first of them.

    The present sweep has a dot under every roof.

    Raises: ValueError unless there are one to three roofs
    """
    if not 1 <= len(roofs) <= MAX_ROOFS:
        raise ValueError(f"roofs must be 1 to {MAX_ROOFS}, got {len(roofs)}")
    placed = [(dot, roofs[0]) for dot in dots]
    placed += [(dot, roof) for roof in roofs[1:] for dot in dots if dot.kind == "sweep"]
    # One figure from plain records: adding trace by trace takes Plotly ten times as long.
    lines = [_roof(roof, dash, theme) for roof, dash in zip(roofs, _DASHES, strict=False)]
    data = [*lines, _ridges(roofs, theme), _dots(placed, theme)]
    return go.Figure(data=data, layout=_layout(roofs, dots, theme, height))


def arithmetic(point: RooflinePoint, roof: AcceleratorSpec) -> str:
    """Return how a dot's place comes about, one step a line.

    >>> spec = AcceleratorSpec("X", 1e12, 1e14, None)
    >>> print(arithmetic(roofline_point(OpCost("a", macs=50, weight_bytes=100), spec), spec))
    100 FLOP / 100 B = 1.00 FLOP per byte
    1.00 x 1 TB/s = 1 TFLOP/s, the roof is 100 TFLOP/s
    memory sets the pace: at least 100 ps
    """
    per_byte = intensity_text(point.intensity)
    memory = point.intensity * roof.bandwidth_bytes_per_s
    return "\n".join(
        (
            f"{units.count(point.flops)} FLOP / {units.count(point.n_bytes)} B = {per_byte} "
            "FLOP per byte",
            f"{per_byte} x {units.byte_rate(roof.bandwidth_bytes_per_s)} = "
            f"{units.flop_rate(memory)}, the roof is {units.flop_rate(roof.flops_per_s)}",
            f"{_PACE[point.bound]} sets the pace: at least {units.seconds(point.seconds)}",
        )
    )


def intensity_text(value: float) -> str:
    """Return FLOP per byte: two decimals below 100, one above, as the counters show it.

    >>> intensity_text(0.5), intensity_text(295.22)
    ('0.50', '295.2')
    """
    return f"{value:.2f}" if value < 100 else f"{value:,.1f}"


def in_words(dot: Dot, roof: AcceleratorSpec, rows_needed: int | None) -> str:
    """Return on which side of the ridge the dot is, and what it would take to cross it.

    ``rows_needed``: the least rows right of the ridge, None where no number of rows is.
    """
    point = roofline_point(dot.cost, roof)
    here, there = intensity_text(point.intensity), intensity_text(roof.ridge_flops_per_byte)
    if point.bound == "compute":
        return (
            f"{here} FLOP per byte is past the ridge of {roof.name} at {there}: arithmetic sets "
            "the pace now, and every further row costs time."
        )
    times = units.number(roof.ridge_flops_per_byte / point.intensity, 2)
    way = (
        "activations grow with the rows, so no number of rows gets this matrix past the ridge"
        if rows_needed is None
        else f"{units.count(rows_needed)} rows would cross the ridge"
    )
    return (
        f"{here} FLOP per byte is left of the ridge of {roof.name} at {there}: memory sets the "
        f"pace, the arithmetic could do {times} times as much; {way}."
    )


_PACE = {"memory": "memory", "compute": "arithmetic"}
_SYMBOLS: dict[DotKind, str] = {
    "sweep": "circle", "preset": "circle", "step": "diamond", "prefill": "square",
}  # fmt: skip


def _roof(roof: AcceleratorSpec, dash: str, theme: Theme) -> dict[str, Any]:
    ridge = roof.ridge_flops_per_byte
    ends = sorted({_LEFT, min(max(ridge, _LEFT), _RIGHT), _RIGHT})
    return {
        "type": "scatter",
        "x": ends,
        "y": [min(roof.flops_per_s, x * roof.bandwidth_bytes_per_s) for x in ends],
        "mode": "lines",
        "line": {"color": GROUND[theme]["ink"], "width": 2, "dash": dash},
        "hoverinfo": "skip",
    }


def _ridges(roofs: Sequence[AcceleratorSpec], theme: Theme) -> dict[str, Any]:
    line = {"width": 2, "color": GROUND[theme]["ink"]}
    return {
        "type": "scatter",
        "x": [roof.ridge_flops_per_byte for roof in roofs],
        "y": [roof.flops_per_s for roof in roofs],
        "mode": "markers",
        "marker": {"symbol": "line-ns", "size": 12, "line": line},
        "hovertemplate": [
            f"{roof.name}<br>ridge = {units.flop_rate(roof.flops_per_s)} / "
            f"{units.byte_rate(roof.bandwidth_bytes_per_s)} = "
            f"{intensity_text(roof.ridge_flops_per_byte)} FLOP per byte<extra></extra>"
            for roof in roofs
        ],
    }


def _dots(placed: Sequence[tuple[Dot, AcceleratorSpec]], theme: Theme) -> dict[str, Any]:
    points = [roofline_point(dot.cost, roof) for dot, roof in placed]
    present = [dot.kind == "sweep" for dot, _ in placed]
    ink, quiet = GROUND[theme]["ink"], colour("cached").text(theme)
    ground, orange = GROUND[theme]["ground"], colour("weights").fill
    pairs = list(zip(placed, points, strict=True))
    alone = len({roof.name for _, roof in placed}) == 1
    return {
        "type": "scatter",
        "x": [point.intensity for point in points],
        "y": [point.attainable_flops_per_s for point in points],
        "mode": "markers+text",
        "text": _labels(placed),
        "textposition": [_label_place(dot, point, alone=alone) for (dot, _), point in pairs],
        "textfont": {"size": [13 if is_present else 12 for is_present in present], "color": ink},
        "marker": {
            "symbol": [_SYMBOLS[dot.kind] for dot, _ in placed],
            "size": [15 if is_present else 9 for is_present in present],
            "color": [orange if is_present else ground for is_present in present],
            "line": {"width": 1.5, "color": [ink if p else quiet for p in present]},
            "opacity": 1,
        },
        "hovertemplate": [
            f"<b>{dot.label}</b>, {roof.name}<br>"
            f"{arithmetic(point, roof).replace(chr(10), '<br>')}<extra></extra>"
            for (dot, roof), point in pairs
        ],
    }


def _labels(placed: Sequence[tuple[Dot, AcceleratorSpec]]) -> list[str]:
    """The words beside the dots, bold for the present sweep.

    Under several roofs only that one is named, once, or lines and words would cross.
    """
    first = placed[0][1] if placed else None
    alone = all(roof is first for _, roof in placed)
    return [
        f"<b>{dot.label}</b>"
        if dot.kind == "sweep" and roof is first
        else dot.label
        if alone
        else ""
        for dot, roof in placed
    ]


def _label_place(dot: Dot, point: RooflinePoint, *, alone: bool) -> str:
    """Below the roof on the right, but above it by wish, and never over the right edge."""
    if dot.above or not alone:
        return "top left"
    return "bottom center" if point.intensity > _RIGHT / 10 else "bottom right"


def _layout(
    roofs: Sequence[AcceleratorSpec], dots: Sequence[Dot], theme: Theme, height: int
) -> dict[str, Any]:
    lowest = min(
        min(roof.bandwidth_bytes_per_s * _LEFT for roof in roofs),
        *(roofline_point(dot.cost, roofs[0]).attainable_flops_per_s for dot in dots),
    )
    highest = max(roof.flops_per_s for roof in roofs)
    span = [math.log10(lowest) - 0.15, math.log10(highest) + 0.75]
    line, muted = GROUND[theme]["line"], GROUND[theme]["muted"]
    axis = {"type": "log", "gridcolor": line, "zeroline": False, "tickfont": {"color": muted}}
    across = {
        "range": [math.log10(_LEFT), math.log10(_RIGHT)],
        "tickvals": [0.1, 1, 10, 100, 1000],
        "ticktext": ["0.1", "1", "10", "100", "1,000"],
        "title": {"text": "FLOP per byte moved", "standoff": 4},
    }
    return {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": {**axis, **across},
        "yaxis": {**axis, "range": span, **_ticks(span)},
        "hoverlabel": {"align": "left"},
        "dragmode": False,
        "showlegend": False,
        "uirevision": "roofline",
        "annotations": [_name(roofs, place, theme) for place in range(len(roofs))],
    }


def _name(roofs: Sequence[AcceleratorSpec], place: int, theme: Theme) -> dict[str, Any]:
    """The name of a roof at its right end, raised where another one is too near."""
    roof = roofs[place]
    mark = _DASH_MARKS[_DASHES[place]] if len(roofs) > 1 else ""
    return {
        "x": math.log10(_RIGHT),
        "y": math.log10(roof.flops_per_s),
        "xanchor": "right",
        "yanchor": "bottom",
        "yshift": 2 + (14 * place if _crowded(roofs, place) else 0),
        "text": f"{roof.name} {mark}".strip(),
        "showarrow": False,
        "font": {"size": 12, "color": GROUND[theme]["ink"]},
    }


_DASH_MARKS = {"solid": "━━", "dash": "╌╌", "dot": "┈┈"}


def _crowded(roofs: Sequence[AcceleratorSpec], place: int) -> bool:
    """Whether an earlier roof is so near that the labels would cover each other."""
    here = math.log10(roofs[place].flops_per_s)
    return any(abs(here - math.log10(roof.flops_per_s)) < 0.3 for roof in roofs[:place])


def _ticks(span: Sequence[float]) -> dict[str, list[float] | list[str]]:
    """Powers of ten on the y axis, every second one where there are many, in plain units."""
    first, last = math.ceil(span[0]), math.floor(span[1])
    step = 1 if last - first <= 5 else 2
    values = [10.0**power for power in range(first, last + 1, step)]
    return {"tickvals": values, "ticktext": [units.flop_rate(value) for value in values]}
