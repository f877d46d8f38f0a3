"""Mounts the stage of planned curves: one chart, its numbers, and what they say in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import streamlit as st

from pages.ui import assets


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(
        "onr.curves",
        js=assets.script("curves", "mountCurves"),
        html=assets.read("html/stage.html"),
        css=assets.stage_styles("curves"),
    )


def curves_stage(data: Mapping[str, Any], *, key: str) -> None:
    """Mount the chart; views and scales are switched in the browser, without the server."""
    _component()(key=key, data=dict(data))


def line(
    name: str,
    label: str,
    color: str,
    x: Sequence[float],
    y: Sequence[float],
    texts: Sequence[str] | None = None,
    **look: Any,
) -> dict[str, Any]:
    """Return a line of a chart; ``texts`` are its values in words, for reading it off."""
    drawn = {key: rounded(value) if key == "fill" else value for key, value in look.items()}
    found = {"id": name, "label": label, "color": color, "x": rounded(x), "y": rounded(y), **drawn}
    return found if texts is None else {**found, "texts": list(texts)}


def rounded(values: Sequence[float]) -> list[float]:
    """Return values to draw: whole numbers as they are, others to seven significant digits.

    >>> rounded((131072, 1 / 3))
    [131072, 0.3333333]
    """
    return [value if isinstance(value, int) else float(f"{value:.7g}") for value in values]


def tile(name: str, label: str, value: str, beside: str = "", kind: str = "") -> dict[str, str]:
    """Return a number of the panel; an empty kind is that of the number at the panel's top."""
    return {"id": name, "label": label, "value": value, "beside": beside, "kind": kind}
