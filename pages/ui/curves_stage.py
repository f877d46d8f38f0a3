"""Mounts the stage of planned curves: one chart, its numbers, and what they say in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.ui import choices, components

Check = Callable[[object], int]
_SEEN = "_plan_seen"


def send_plan(page: str, plan: Mapping[str, Any], address: Mapping[str, Any]) -> None:
    """Send what the stage of ``page`` shows: small, so that a slider repaints at once.

    The stage keeps the page's address equal to ``address``, since no page is drawn again.
    """
    components.carrier(f"plan:{page}", {**plan, "address": address}, slot=f"plan_{page}")


def curves_stage(page: str) -> None:
    """Mount the chart of ``page``; views and scales are switched in the browser alone.

    Its script would travel again with every change of its data, so its data never change.
    """
    plan = {"plan": f"plan:{page}"}
    components.mount_stage("curves", "mountCurves", plan, key=_key(page), states=("sizes",))


def take_sizes(page: str, sizes: Mapping[str, Check]) -> None:
    """Take over what the sliders of ``page`` report; call it before the plan is made.

    ``sizes`` are the choices that they set, by name, each with its check. Reports are numbered,
    so an old one never undoes what was typed since.
    """
    seen: dict[str, Any] = st.session_state.setdefault(_SEEN, {})
    found = st.session_state.get(_key(page))
    reported = None if found is None else found.get("sizes")
    if reported == seen.get(page):
        return
    seen[page] = reported
    for name in sizes.keys() & (reported or {}).keys():
        choices.put(name, sizes[name](reported[name]))
        choices.problems().pop(name, None)


def _key(page: str) -> str:
    return f"{page}_curves"


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
