"""Our floor beside published measurements: none may beat it, and what is left is overhead."""

from __future__ import annotations

import streamlit as st

from core.cost.overhead import (
    Comparison,
    OverheadFit,
    comparisons,
    overhead_fits,
    ratios_by_device_and_dtype,
)
from pages.ui import units
from pages.ui.text import literal_html

_BITS = (16, 8, 4)
"""Precisions are told apart by how full the dot is: colours have other meanings here."""


def against_the_world() -> None:
    """Draw the share of nominal bandwidth that measurements reach, by device and precision.

    One element with native folds: every element of a page is looked at again when a slider moves.
    """
    rows = comparisons()
    best, worst = max(row.ratio for row in rows), min(row.ratio for row in rows)
    claim = (
        f"{len(rows)} published measurements, each beside our floor at nominal bandwidth. None "
        f"beats it: they took {units.number(1 / best, 2)} to {units.number(1 / worst, 2)} times "
        "as long. The smaller the weights, the more the fixed cost of a step shows."
    )
    how = (
        "Least squares on relative errors for step time = t0 + bytes / bandwidth. The error is "
        "that of predicting each measurement from the others of its device."
    )
    overheads = f"<p>{how}</p>{fit_table(overhead_fits())}"
    st.html(
        f'<h2 class="onr-world-title" id="world">Against the world</h2><p>{literal_html(claim)}</p>'
        f"{ratio_picture()}"
        f"{_fold('Every measurement beside its floor', measurement_table(rows))}"
        f"{_fold('The overhead they show, fitted per device', overheads)}"
    )


def _fold(title: str, inside: str) -> str:
    return f'<details class="onr-fold"><summary>{literal_html(title)}</summary>{inside}</details>'


def bits_of(dtype: str) -> int:
    """Return about how many bits a number of a published precision takes.

    >>> [bits_of(name) for name in ("F16", "bf16", "int8", "Q8_0", "Q4_0", "int4 g32")]
    [16, 16, 8, 8, 4, 4]
    """
    name = dtype.lower()
    if "4" in name and "16" not in name:
        return 4
    return 8 if "8" in name else 16


def ratio_picture() -> str:
    """Return a strip per device: one dot a measurement, from 0 to the floor itself at 100 %."""
    grouped: dict[str, list[tuple[str, float]]] = {}
    for (device, dtype), ratios in ratios_by_device_and_dtype().items():
        grouped.setdefault(device, []).extend((dtype, ratio) for ratio in ratios)
    ordered = sorted(grouped.items(), key=lambda item: -max(r for _, r in item[1]))
    strips = "".join(_strip(device, dots) for device, dots in ordered)
    key = "".join(f'<span><i data-bits="{n}"></i>{n} bit weights</span>' for n in _BITS)
    scale = "".join(f'<span style="left:{n}%">{n} %</span>' for n in (0, 25, 50, 75, 100))
    return (
        f'<div class="onr-world"><p class="onr-world-key">{key}'
        "<span>floor ÷ measured, quoted from their sources</span></p>"
        f'{strips}<div class="onr-world-row"><b></b>'
        f'<div class="onr-world-scale">{scale}</div></div></div>'
    )


def _strip(device: str, dots: list[tuple[str, float]]) -> str:
    marks = "".join(
        f'<i title="{literal_html(dtype)}: {units.percent(ratio)}" '
        f'data-bits="{bits_of(dtype)}" style="left:{ratio * 100:.1f}%"></i>'
        for dtype, ratio in sorted(dots, key=lambda dot: dot[1])
    )
    return (
        f'<div class="onr-world-row"><b>{literal_html(device)}</b>'
        f'<div class="onr-world-strip">{marks}</div></div>'
    )


def measurement_table(rows: tuple[Comparison, ...]) -> str:
    """Return every measurement as a table row with its floor and source."""
    head = ("Model", "Hardware", "Devices", "Weights", "Measured (quoted)", "Floor (modelled)",
            "Floor ÷ measured", "Source")  # fmt: skip
    body = [
        (
            row.model, row.hardware, str(row.n_devices), row.dtype,
            units.seconds(row.measured_s), units.seconds(row.floor_s),
            units.percent(row.ratio, 3), row.source,
        )
        for row in rows
    ]  # fmt: skip
    return _table(head, body)


def fit_table(fits: tuple[OverheadFit, ...]) -> str:
    """Return the fitted overhead of every device with the error of the fit."""
    head = ("Device", "Measurements", "t0", "Bandwidth", "Leave-one-out error")
    body = [
        (
            fit.hardware, str(fit.n_rows), units.seconds(fit.t0_s, 3),
            units.byte_rate(fit.bandwidth_bytes_per_s, 3)
            + (" (fitted)" if fit.fitted_bandwidth else " (nominal)"),
            "none, one row" if fit.leave_one_out is None else units.percent(fit.leave_one_out),
        )
        for fit in fits
    ]  # fmt: skip
    return _table(head, body)


def _table(head: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    titles = "".join(f"<th>{literal_html(cell)}</th>" for cell in head)
    lines = "".join(
        "<tr>" + "".join(f"<td>{literal_html(cell)}</td>" for cell in row) + "</tr>" for row in body
    )
    return (
        f'<div class="onr-table"><table><thead><tr>{titles}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )
