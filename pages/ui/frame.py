"""What stands around every page: wordmark, style, the session's settings, the address bar."""

from __future__ import annotations

import streamlit as st

from pages.ui import assets, caching, components, state
from pages.ui.registry import APP_NAME, ROOT, Page


def open_frame(page: Page) -> None:
    """Draw what comes before the page and read the settings it needs."""
    components.begin_run()
    state.begin()
    if not page.is_default:
        st.set_page_config(page_title=f"{page.title} · {APP_NAME}")
    st.logo(str(ROOT / "assets/logo.svg"), size="medium")
    st.html(f"<style>{assets.styles('frame')}</style>")
    if state.lecture():
        st.html(f"<style>{assets.read('css/lecture.css')}</style>")


def close_frame(page: Page) -> None:
    """Draw what comes after the page: the address follows the state it ended in."""
    caching.prepare()
    components.address(state.address(page.slug))
