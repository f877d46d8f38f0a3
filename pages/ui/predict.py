"""Predict first: a question to commit to before the picture moves. Off in lecture mode."""

from __future__ import annotations

import streamlit as st

from core.cost.decode_counts import triangle
from pages.ui import caching, state, units


def next_step(run: caching.SessionRun, step: int) -> None:
    """Ask how many scores the next step computes, and answer with the reason."""
    if state.lecture():
        return
    n_keys = run.trace.rows_after(step) + 1
    answers = {
        "1": 1,
        units.count(n_keys): n_keys,
        units.count(triangle(n_keys)): triangle(n_keys),
        units.count(n_keys * n_keys): n_keys * n_keys,
    }
    with st.expander("Predict first", icon=":material/psychology:"):
        chosen = st.radio(
            f"The next step processes token {n_keys - 1}. How many scores does one head compute?",
            list(answers),
            index=None,
            horizontal=True,
            key=f"predict_{n_keys}",
        )
        if chosen is not None:
            st.markdown(_verdict(answers[chosen], n_keys))


def _verdict(chosen: int, n_keys: int) -> str:
    if chosen == n_keys:
        return f"Yes: one query asks {n_keys} keys, its own included. Now press the button."
    if chosen == 1:
        return f"One query, but it asks every key there is: {n_keys}, its own included."
    if chosen == triangle(n_keys):
        return (
            f"That is the whole triangle. Its upper {n_keys - 1} rows are there already and do "
            f"not change: one row of {n_keys} is left."
        )
    return (
        f"That is the full square, what a written-out prefill of {n_keys} tokens multiplies "
        f"before the mask. A decode step has one query: {n_keys} scores."
    )
