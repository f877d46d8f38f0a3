"""The floor of a slider: an empty page of the app, frame, navigation and heading included.

Its fragment shows the slider's value and no more.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pages.ui import scaffold
from pages.ui.frame import close_frame, open_frame
from pages.ui.registry import APP_NAME, PAGES, ROOT, Page


@st.fragment
def empty() -> None:
    """A slider and its value."""
    value = st.select_slider("Value", list(range(64)), key="floor_slider")
    with st.container(key="floor_value"):
        st.text(str(value))


def empty_page(page: Page) -> Callable[[], None]:
    """Return a page of the app with nothing on it but the fragment."""

    def draw() -> None:
        open_frame(page)
        scaffold.heading(page)
        empty()
        close_frame(page)

    draw.__name__ = page.slug
    return draw


st.set_page_config(page_title=APP_NAME, page_icon=str(ROOT / "assets/favicon.svg"), layout="wide")
entries = [
    st.Page(empty_page(p), title=p.label, url_path=p.slug, default=p.is_default) for p in PAGES
]
st.navigation(entries, position="top").run()
