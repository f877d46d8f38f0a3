"""The roofline as a Plotly figure and in words: pure functions of core records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from core.cost.accounting import OpCost
from core.cost.roofline import RooflinePoint, roofline_point
from core.cost.spec import AcceleratorSpec
from pages.ui import units
from pages.ui.palette import GROUND, Theme, colour

DotKind = Literal["sweep", "preset", "step", "prefill"]
MAX_ROOFS = 3

_DASHES = ("solid", "dash", "dot")
_LEFT, _RIGHT = 0.1, 5000.0


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
    figure = go.Figure()
    for roof, dash in zip(roofs, _DASHES, strict=False):
        _add_roof(figure, roof, dash, theme)
    for dot in dots:
        for number, roof in enumerate(roofs):
            if number == 0 or dot.kind == "sweep":
                _add_dot(figure, dot, roof, theme, with_label=number == 0)
    _lay_out(figure, roofs, dots, theme, height)
    return figure


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


def _add_roof(figure: go.Figure, roof: AcceleratorSpec, dash: str, theme: Theme) -> None:
    ridge = roof.ridge_flops_per_byte
    ends = sorted({_LEFT, min(max(ridge, _LEFT), _RIGHT), _RIGHT})
    heights = [min(roof.flops_per_s, x * roof.bandwidth_bytes_per_s) for x in ends]
    ink = GROUND[theme]["ink"]
    figure.add_scatter(
        x=ends, y=heights, mode="lines", line={"color": ink, "width": 2, "dash": dash},
        hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    figure.add_scatter(
        x=[ridge], y=[roof.flops_per_s], mode="markers",
        marker={"symbol": "line-ns", "size": 12, "line": {"width": 2, "color": ink}},
        hovertemplate=(
            f"{roof.name}<br>ridge = {units.flop_rate(roof.flops_per_s)} / "
            f"{units.byte_rate(roof.bandwidth_bytes_per_s)} = {intensity_text(ridge)} FLOP per "
            "byte<extra></extra>"
        ),
        showlegend=False,
    )  # fmt: skip


def _add_dot(
    figure: go.Figure, dot: Dot, roof: AcceleratorSpec, theme: Theme, *, with_label: bool
) -> None:
    point = roofline_point(dot.cost, roof)
    present = dot.kind == "sweep"
    fill = colour("weights").fill if present else GROUND[theme]["ground"]
    edge = GROUND[theme]["ink"] if present else colour("cached").text(theme)
    lines = arithmetic(point, roof).replace("\n", "<br>")
    figure.add_scatter(
        x=[point.intensity],
        y=[point.attainable_flops_per_s],
        mode="markers+text" if with_label and dot.label else "markers",
        text=[f"<b>{dot.label}</b>" if present else dot.label],
        textposition=_label_place(dot, point),
        textfont={"size": 13 if present else 12, "color": GROUND[theme]["ink"]},
        marker={
            "symbol": _SYMBOLS[dot.kind], "size": 15 if present else 9, "color": fill,
            "line": {"width": 1.5, "color": edge},
        },
        hovertemplate=f"<b>{dot.label or roof.name}</b>, {roof.name}<br>{lines}<extra></extra>",
        showlegend=False,
    )  # fmt: skip


def _label_place(dot: Dot, point: RooflinePoint) -> str:
    """Below the roof on the right, but above it by wish, and never over the right edge."""
    if dot.above:
        return "top left"
    return "bottom center" if point.intensity > _RIGHT / 10 else "bottom right"


def _lay_out(
    figure: go.Figure,
    roofs: Sequence[AcceleratorSpec],
    dots: Sequence[Dot],
    theme: Theme,
    height: int,
) -> None:
    lowest = min(
        min(roof.bandwidth_bytes_per_s * _LEFT for roof in roofs),
        *(roofline_point(dot.cost, roofs[0]).attainable_flops_per_s for dot in dots),
    )
    highest = max(roof.flops_per_s for roof in roofs)
    span = [math.log10(lowest) - 0.15, math.log10(highest) + 0.75]
    line, muted = GROUND[theme]["line"], GROUND[theme]["muted"]
    axis = {"type": "log", "gridcolor": line, "zeroline": False, "tickfont": {"color": muted}}
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        xaxis={
            **axis, "range": [math.log10(_LEFT), math.log10(_RIGHT)],
            "tickvals": [0.1, 1, 10, 100, 1000], "ticktext": ["0.1", "1", "10", "100", "1,000"],
            "title": {"text": "FLOP per byte moved", "standoff": 4},
        },
        yaxis={**axis, "range": span, **_ticks(span)},
        hoverlabel={"align": "left"},
        dragmode=False,
        uirevision="roofline",
    )  # fmt: skip
    for place, (roof, dash) in enumerate(zip(roofs, _DASHES, strict=False)):
        figure.add_annotation(
            x=math.log10(_RIGHT), y=math.log10(roof.flops_per_s), xanchor="right",
            yanchor="bottom", yshift=2 + (14 * place if _crowded(roofs, place) else 0),
            text=f"{roof.name} {_DASH_MARKS[dash] if len(roofs) > 1 else ''}".strip(),
            showarrow=False, font={"size": 12, "color": GROUND[theme]["ink"]},
        )  # fmt: skip


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
