"""The run bar: prompt, examples, layer, head, and a popover with the rest.

Widgets are given a key and never a value, and their state is set before they are drawn:
feeding a result back through ``value=`` loses every second edit. The prompt and its button
are a form, so a click on Run uses the text as it stands, with the cursor still in the box.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.config import STORYTELLER
from pages.ui import state
from pages.ui.examples import EXAMPLES
from pages.ui.settings import (
    DTYPES,
    MAX_SEED,
    MAX_STEPS,
    MAX_TEMPERATURE,
    RunSettings,
    checked,
)

_EMPTY = "_prompt_empty"


def run_bar(*, picks_head: bool = True) -> RunSettings:
    """Draw the run bar and return the settings to use.

    An empty prompt changes nothing: the last run stays, and :func:`prompt_is_empty` says so.
    """
    _seed_widgets()
    chosen = _collect()
    with st.container(key="onr_runbar", horizontal=True, vertical_alignment="center", gap="small"):
        _prompt_form()
        _examples()
        if picks_head:
            _pickers()
        _sampling(chosen)
    return chosen


def prompt_is_empty() -> bool:
    """Whether the reader asked for a run of an empty prompt, which is not done."""
    return bool(st.session_state.get(_EMPTY))


def choose_head(layer: int, head: int) -> None:
    """Make a head picked in the picture the one of the run bar, before it is drawn."""
    choose(layer=layer, head=head)


def choose(**values: Any) -> None:
    """Make what was picked in a picture the session's settings, before the bar is drawn."""
    state.change(**values)
    for name, value in values.items():
        state.renew_widget(name, value)


def _kept(name: str) -> dict[str, Any]:
    """The key of a widget, and that its value outlives a page that does not draw it."""
    return {"key": state.widget_key(name), "persist_state": "session"}


def _seed_widgets() -> None:
    """Give each widget its value; a widget that was not drawn on the last page has lost it."""
    for name, value in vars(state.settings()).items():
        st.session_state.setdefault(state.widget_key(name), value)


def _prompt_form() -> None:
    with st.form("run_form", border=False, enter_to_submit=True):
        row = st.container(horizontal=True, vertical_alignment="center", gap="small")
        row.text_input(
            "Prompt", **_kept("prompt"), label_visibility="collapsed", autocomplete="off"
        )
        row.form_submit_button("Run", type="primary", on_click=_submit)


def _submit() -> None:
    st.session_state[_EMPTY] = st.session_state[state.widget_key("prompt")] == ""
    state.dismiss_dropped()


def _examples() -> None:
    with st.popover("Examples", key="onr_examples"), st.container(width=520, gap="xxsmall"):
        for position, example in enumerate(EXAMPLES):
            st.button(
                example.name,
                key=f"example_{position}",
                on_click=_use_example,
                args=(position,),
                type="tertiary",
                icon=":material/arrow_forward:",
            )
            st.caption(example.watch)


def _use_example(position: int) -> None:
    example = EXAMPLES[position]
    st.session_state[state.widget_key("prompt")] = example.prompt
    st.session_state[state.widget_key("temperature")] = example.temperature
    st.session_state[_EMPTY] = False
    state.dismiss_dropped()


def _pickers() -> None:
    # Options keep their words: a picker whose words change loses its value.
    st.selectbox(
        "Layer",
        range(STORYTELLER.n_layers),
        format_func=lambda option: f"Layer {option}",
        **_kept("layer"),
        label_visibility="collapsed",
        width=112,
    )
    st.selectbox(
        "Head",
        range(STORYTELLER.n_heads),
        format_func=lambda option: f"Head {option}",
        **_kept("head"),
        label_visibility="collapsed",
        width=112,
    )


def _sampling(chosen: RunSettings) -> None:
    with st.popover(f"Sampling: {chosen.sampling_label}", key="onr_sampling"):
        left, right = st.container(width=480).columns(2, gap="medium")
        left.number_input("Decode steps", 1, MAX_STEPS, step=1, **_kept("steps"))
        right.number_input("Seed", 0, MAX_SEED, step=1, **_kept("seed"))
        left.slider(
            "Temperature",
            0.0,
            MAX_TEMPERATURE,
            step=0.05,
            **_kept("temperature"),
            help="0 is greedy: the likeliest token, always, and no filter below applies.",
        )
        right.number_input(
            "Top-k", min_value=0, step=1, **_kept("top_k"), help="0 is off. Applied first."
        )
        left.slider(
            "Top-p",
            0.01,
            1.0,
            step=0.01,
            **_kept("top_p"),
            help="1 is off. Applied second; the token that crosses the line is kept.",
        )
        right.slider("Min-p", 0.0, 1.0, step=0.01, **_kept("min_p"), help="0 is off. Applied last.")
        left.selectbox("Precision", DTYPES, **_kept("dtype"))


def same_order_switch() -> None:
    """Draw the switch that lets both paths of the proof add in the same order."""
    _seed_widgets()
    st.toggle("Same summation order", **_kept("same_order"), help=_SAME_ORDER_HELP)


_SAME_ORDER_HELP = (
    "Makes the cached pass and the full pass add the same numbers in the same order. Where the "
    "processor's arithmetic allows it, the difference then is exactly 0: what the cache does is "
    "exact, the rest is rounding. Slower, so off by default."
)


def _collect() -> RunSettings:
    """Read the widgets; an empty prompt and whatever is not allowed leave the old value."""
    before = state.settings()
    values = {
        name: checked(name, st.session_state[state.widget_key(name)], old)
        for name, old in vars(before).items()
    }
    return state.change(**values)
