"""What a reader plans with: model, accelerator, sizes and precisions, kept for the session.

A widget that is not drawn on a page loses its state; each choice is therefore kept beside it
and given back. Two pages share the choices, so a model chosen on one is there on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        for name in (key, f"{key}_slider", f"{key}_text"):
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


def size_input(
    key: str, label: str, options: Sequence[int], check: Callable[[object], int], unit: str
) -> None:
    """Draw a slider with a field for exact values; a bad value is named and the last one stays."""
    slider, field = f"{key}_slider", f"{key}_text"
    value = int(kept(key))
    st.session_state.setdefault(slider, _nearest(value, options))
    st.session_state.setdefault(field, f"{value:,d}")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.select_slider(
            label, options, key=slider, format_func=lambda n: f"{n:,d}",
            on_change=_from_slider, args=(key,),
        )  # fmt: skip
        st.text_input(
            f"{label}, exactly", key=field, label_visibility="collapsed", width=132,
            on_change=_from_field, args=(key, options, check),
            help=f"Any whole number of {unit}.", autocomplete="off",
        )  # fmt: skip


def _from_slider(key: str) -> None:
    value = st.session_state[f"{key}_slider"]
    put(key, value)
    st.session_state[f"{key}_text"] = f"{value:,d}"
    problems().pop(key, None)


def _from_field(key: str, options: Sequence[int], check: Callable[[object], int]) -> None:
    try:
        value = check(number_of(st.session_state[f"{key}_text"]))
    except ValueError as error:
        problems()[key] = f"{error}. The last value, {int(kept(key)):,d}, stays."
        return
    problems().pop(key, None)
    put(key, value)
    st.session_state[f"{key}_text"] = f"{value:,d}"
    st.session_state[f"{key}_slider"] = _nearest(value, options)


def problems() -> dict[str, str]:
    """What was typed and could not be used, by the choice it was meant for."""
    found: dict[str, str] = st.session_state.setdefault(_PROBLEMS, {})
    return found


def _nearest(value: int, options: Sequence[int]) -> int:
    return min(options, key=lambda option: abs(option - value))
