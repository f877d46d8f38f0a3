"""What a reader plans with: model, accelerator, sizes and precisions, kept for the session.

A widget that is not drawn on a page loses its state; each choice is therefore kept beside it
and given back. Two pages share the choices, so a model chosen on one is there on the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.cost.catalog import find_model, model_names
from core.cost.spec import ModelSpec

_KEPT = "_plan_kept"
_PAGE = "_plan_page"
_OWN = "_own_model"
_PROBLEMS = "_plan_problems"
OWN_LABEL = "Your config.json"
MAX_CONTEXT = 1 << 20
MAX_BATCH = 1 << 10

DEFAULTS: dict[str, Any] = {
    "plan_model": "Llama 3.1 8B",
    "plan_accelerator": "H100 SXM 80GB",
    "plan_devices": 1,
    "plan_context": 8192,
    "plan_batch": 1,
    "plan_weights": "as published",
    "plan_cache": "16 bit",
    "plan_block": 16,
    "plan_reserve": 0.0,
    "plan_price": 0.0,
    "plan_static": 0.0,
    "plan_compare": False,
}

CACHE_FORMATS: dict[str, str | None] = {
    "16 bit": None,
    "8 bit, scales (q8_0)": "q8_0",
    "8 bit, fp8": "fp8",
    "4 bit, scales (q4_0)": "q4_0",
}
WEIGHT_FORMATS: dict[str, str | None] = {
    "as published": None,
    "bfloat16": "bfloat16",
    "fp8": "fp8",
    "int8": "int8",
    "int4, groups of 32": "int4",
    "mxfp4": "mxfp4",
    "q8_0": "q8_0",
    "q4_0": "q4_0",
}


def kept(key: str) -> Any:
    """Return a choice as it stands, before or after its widget is drawn."""
    if key in st.session_state:
        st.session_state[_store()][key] = st.session_state[key]
    return st.session_state[_store()].get(key, DEFAULTS.get(key))


def begin(slug: str) -> None:
    """Start page ``slug``: another page's widgets have the same keys but not the same values.

    A widget that moves to another page would begin at its first option, so what it held is
    kept and its key freed, to be given back when the widget is drawn.
    """
    if st.session_state.get(_PAGE) == slug:
        return
    st.session_state[_PAGE] = slug
    for key in DEFAULTS:
        kept(key)
        for name in (key, f"{key}_text"):
            if name in st.session_state:
                del st.session_state[name]


def seed(key: str) -> str:
    """Give the widget of that key its kept value, and return the key."""
    st.session_state.setdefault(key, kept(key))
    return key


def put(key: str, value: Any) -> None:
    """Set a choice from a callback, before its widget is drawn."""
    st.session_state[key] = value
    st.session_state[_store()][key] = value


def _store() -> str:
    st.session_state.setdefault(_KEPT, {})
    return _KEPT


def own_model() -> ModelSpec | None:
    """The model of the reader's own config, if one has been read."""
    found: ModelSpec | None = st.session_state.get(_OWN)
    return found


def use_own_model(model: ModelSpec) -> None:
    """Take the reader's own model and choose it."""
    st.session_state[_OWN] = model
    put("plan_model", OWN_LABEL)


def model_options() -> list[str]:
    """The names to choose from: the reader's own first, then the catalogue."""
    return ([OWN_LABEL] if own_model() else []) + list(model_names())


def chosen_model() -> ModelSpec:
    """The chosen model; the reader's own stays what it was after a file that cannot be read."""
    name, own = kept("plan_model"), own_model()
    return own if own is not None and name == OWN_LABEL else find_model(name)


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


def size(name: str, label: str, top: int) -> dict[str, Any]:
    """Return a size slider as the stage draws it; an exactly typed value is one more place."""
    value = int(kept(f"plan_{name}"))
    places = sorted({*sizes(top), value})
    texts = [f"{place:,d}" for place in places]
    return {"name": name, "label": label, "places": places, "texts": texts, "value": value}


def exact_field(key: str, label: str, check: Callable[[object], int]) -> None:
    """Draw a field for an exact size; a bad value is named and the last one stays."""
    st.text_input(
        label, key=f"{key}_text", placeholder="any whole number", autocomplete="off",
        on_change=_from_field, args=(key, check),
    )  # fmt: skip


def _from_field(key: str, check: Callable[[object], int]) -> None:
    typed = st.session_state[f"{key}_text"]
    if not typed.strip():
        problems().pop(key, None)
        return
    try:
        value = check(number_of(typed))
    except ValueError as error:
        problems()[key] = f"{error}. The last value, {int(kept(key)):,d}, stays."
        return
    problems().pop(key, None)
    put(key, value)
    st.session_state[f"{key}_text"] = ""


def problems() -> dict[str, str]:
    """What was typed and could not be used, by the choice it was meant for."""
    found: dict[str, str] = st.session_state.setdefault(_PROBLEMS, {})
    return found
