"""This measurement beside published ones: what share of the bandwidth each has reached."""

from __future__ import annotations

import streamlit as st

from core.cost.overhead import Comparison
from core.machine.records import MeasureResult
from core.machine.report import published_ratios
from pages.ui import scaffold, units
from pages.ui.text import literal_html


def section(result: MeasureResult | None) -> None:
    """Draw every published share in order, this host's in its place."""
    rows = published_ratios()
    scaffold.findings((_words(result, rows),))
    st.html(ratio_table(rows, result))


def _words(result: MeasureResult | None, rows: tuple[Comparison, ...]) -> str:
    low, high = (units.percent(ratio) for ratio in (rows[0].ratio, rows[-1].ratio))
    words = (
        f"{len(rows)} published runs on one device reach {low} to {high} of the data sheet's "
        "bandwidth (quoted times, bytes by our formulas)."
    )
    if result is None or not result.points:
        return f"{words} Measure, and this host takes its place among them."
    point = result.points[0]
    own = units.percent(point.fraction_of_measured_bandwidth)
    why = result.device.nominal_source.removeprefix("not known: ")
    if point.fraction_of_nominal_bandwidth is None:
        return (
            f"{words} This host reaches {own} of its measured bandwidth; its data sheet is not "
            f"known ({why}), so it stands among them by the measured one."
        )
    return f"{words} This host: {units.percent(point.fraction_of_nominal_bandwidth)} of its own."


def ratio_table(rows: tuple[Comparison, ...], result: MeasureResult | None) -> str:
    """Return the table as HTML: a bar for each share, the highest first."""
    lines = [
        (row.ratio, row.model, row.hardware, row.dtype, "quoted", row.source, False) for row in rows
    ]
    own = _own(result)
    if own is not None:
        lines.append(own)
    head = ("share of bandwidth", "model", "hardware", "weights", "kind", "source")
    top = "".join(f"<th>{name}</th>" for name in head)
    body = "".join(_line(*line) for line in sorted(lines, key=lambda line: -line[0]))
    return (
        f'<div class="onr-live-table"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _own(result: MeasureResult | None) -> tuple[float, str, str, str, str, str, bool] | None:
    if result is None or not result.points:
        return None
    point = result.points[0]
    share, of = point.fraction_of_nominal_bandwidth, "of its data sheet"
    if share is None:
        share, of = point.fraction_of_measured_bandwidth, "of its measured bandwidth"
    size = units.decimal_bytes(point.weight_bytes_read, 3)
    return share, f"{size}, this host", result.device.name, result.dtype, "measured", of, True


def _line(
    share: float, model: str, hardware: str, dtype: str, kind: str, source: str, own: bool
) -> str:
    width = min(100.0, 100 * share)
    bar = f'<span class="onr-share"><i style="width: {width:.1f}%"></i></span>'
    cells = "".join(f"<td>{literal_html(cell)}</td>" for cell in (model, hardware, dtype, kind))
    mark = ' aria-current="true"' if own else ""
    first = f"<td>{bar}{units.percent(share)}</td>"
    return f"<tr{mark}>{first}{cells}<td>{literal_html(source)}</td></tr>"
