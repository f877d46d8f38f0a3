"""Mounts a measured chart: its lines, its numbers and what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import streamlit as st

from pages.ui import assets, state


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(
        "onr.livecurves",
        js=assets.script("livecurves", "mountLiveCurves"),
        html=assets.read("html/stage.html"),
        css=assets.stage_styles("livecurves"),
    )


def measured_chart(data: Mapping[str, Any], *, key: str) -> None:
    """Draw charts of one subject; views and scales are switched in the browser."""
    _component()(key=key, data={**data, "lecture": state.lecture()})
