"""What a reader plans with: kept in the session's settings, so the address carries it too.

Two pages share these choices. Their widgets have the keys that the run bar would give them,
because the run bar reads every setting back from its widget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.cost.catalog import find_model, model_names
from core.cost.spec import ModelSpec
from pages.ui import runbar, state
from pages.ui.plan_options import DEFAULT_MODEL, OWN_MODEL
from pages.ui.settings import RunSettings, checked

_OWN = "_own_model"
_PROBLEMS = "_plan_problems"
MAX_CONTEXT = 1 << 20
MAX_BATCH = 1 << 10
"""Where the sliders end; exact values may be larger."""

WIDGETS = (
    "model", "accelerator", "devices", "weight_dtype", "kv_dtype", "block_size", "reserve_gb",
    "price", "power", "compare",
)  # fmt: skip


def collect() -> RunSettings:
    """Give every widget its value, read what the reader chose, and return all settings."""
    before = vars(state.settings())
    for name in WIDGETS:
        st.session_state.setdefault(state.widget_key(name), before[name])
    if before["model"] == OWN_MODEL and own_model() is None:
        put("model", DEFAULT_MODEL)
        problems()["model"] = "This link was made with a config.json of somebody's own: bring it."
    values = {
        name: checked(name, st.session_state[state.widget_key(name)], before[name])
        for name in WIDGETS
    }
    return state.change(**values)


def key(name: str) -> dict[str, Any]:
    """Return the key of a choice's widget, and that its value outlives a page without it."""
    return {"key": state.widget_key(name), "persist_state": "session"}


def put(name: str, value: Any) -> None:
    """Set a choice, before its widget is drawn."""
    runbar.choose(**{name: value})


def own_model() -> ModelSpec | None:
    """The model of the reader's own config, if one has been read."""
    found: ModelSpec | None = st.session_state.get(_OWN)
    return found


def use_own_model(model: ModelSpec) -> None:
    """Take the reader's own model and choose it."""
    st.session_state[_OWN] = model
    problems().pop("model", None)
    put("model", OWN_MODEL)


def model_options() -> list[str]:
    """The names to choose from: the reader's own first, then the catalogue."""
    return ([OWN_MODEL] if own_model() else []) + list(model_names())


def chosen_model() -> ModelSpec:
    """The chosen model; the reader's own stays what it was after a file that cannot be read."""
    name, own = state.settings().model, own_model()
    return own if own is not None and name == OWN_MODEL else find_model(name)


def sizes(top: int) -> list[int]:
    """Return the places of a size slider up to ``top``: powers of two and halfway between.

    >>> sizes(16)
    [1, 2, 3, 4, 6, 8, 12, 16]
    """
    found = {1}
    power = 2
    while power <= top:
        found |= {power, power + power // 2}
        power *= 2
    return sorted(n for n in found if n <= top)


def size(name: str, label: str, top: int) -> dict[str, Any]:
    """Return a size slider as the stage draws it; an exactly typed value is one more place."""
    value = int(getattr(state.settings(), name))
    places = sorted({*sizes(top), value})
    texts = [f"{place:,d}" for place in places]
    return {"name": name, "label": label, "places": places, "texts": texts, "value": value}


def number_of(text: str) -> int | float | str:
    """Return the number that somebody typed, or the text where it is none.

    >>> number_of("131,072"), number_of("2.5"), number_of("1e12"), number_of("many")
    (131072, 2.5, 1000000000000.0, 'many')
    """
    plain = text.strip().replace(",", "").replace("_", "").replace(" ", "")
    if not plain.isascii():
        return text
    for kind in (int, float):
        try:
            return kind(plain)
        except ValueError:
            continue
    return text


def exact_field(name: str, label: str, check: Callable[[object], int]) -> None:
    """Draw a field for an exact size; a bad value is named and the last one stays."""
    st.text_input(
        label, key=f"plan_{name}_text", placeholder="any whole number", autocomplete="off",
        on_change=_from_field, args=(name, check),
    )  # fmt: skip


def _from_field(name: str, check: Callable[[object], int]) -> None:
    typed = st.session_state[f"plan_{name}_text"]
    problems().pop(name, None)
    if not typed.strip():
        return
    try:
        value = check(number_of(typed))
    except ValueError as error:
        last = getattr(state.settings(), name)
        problems()[name] = f"{error}. The last value, {last:,d}, stays."
        return
    put(name, value)
    st.session_state[f"plan_{name}_text"] = ""


def problems() -> dict[str, str]:
    """What was typed and could not be used, by the choice it was meant for."""
    found: dict[str, str] = st.session_state.setdefault(_PROBLEMS, {})
    return found
