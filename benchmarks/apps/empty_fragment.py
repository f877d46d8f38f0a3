"""The floor of a slider: in the app's own frame, a fragment that shows its value and no more."""

import sys
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pages.ui.frame import open_frame
from pages.ui.registry import page


@st.fragment
def empty() -> None:
    """A slider and its value."""
    value = st.select_slider("Value", list(range(64)), key="floor_slider")
    with st.container(key="floor_value"):
        st.text(str(value))


open_frame(page("planner"))
empty()
