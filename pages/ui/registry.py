"""The list of pages, the navigation made from it, and the guard that keeps deep links whole.

Until some session has called ``st.navigation``, Streamlit answers a deep link by running the
file in ``pages/`` instead of ``app.py``, so the first visitor after a start would lose the
frame. ``routed()`` turns that run into a normal one. The slug has to equal the file name and
``set_page_config`` has to come first, or the same visitor sees "Page not found".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page as NavigationPage

from pages.ui import state

APP_NAME = "One New Row"
ROOT = Path(__file__).resolve().parents[2]
_ROUTED = "_routed"


@dataclass(frozen=True)
class Page:
    """One page: its file ``pages/<slug>.py``, its names, and the question that it answers."""

    slug: str
    title: str
    label: str
    question: str
    answer: str
    group: str

    @property
    def file(self) -> str:
        """The page's file, relative to app.py."""
        return f"pages/{self.slug}.py"

    @property
    def is_default(self) -> bool:
        """Whether the page answers ``/`` (a default page has no address under its own slug)."""
        return self.slug == "start"

    @property
    def path(self) -> str:
        """The page's address, such as ``/new_row``."""
        return "/" if self.is_default else f"/{self.slug}"


PAGES: tuple[Page, ...] = (
    Page(
        slug="start",
        title="Start",
        label="Start",
        question="What happens between two tokens?",
        answer="One token goes in, one new row is computed, and the next token comes out.",
        group="Start",
    ),
    Page(
        slug="new_row",
        title="One new row",
        label="New row",
        question="Why does one new token mean one new row?",
        answer="One new query asks every cached key. Nothing above it is computed again.",
        group="Learn",
    ),
    Page(
        slug="weight_sweep",
        title="Weight sweep",
        label="Sweep",
        question="Why does one row read every weight?",
        answer=(
            "Each column makes one output number. Every weight is read once, used once, and the "
            "arithmetic waits for the reading."
        ),
        group="Learn",
    ),
    Page(
        slug="cache_growth",
        title="Cache growth",
        label="Cache",
        question="What does remembering cost?",
        answer="Every token adds the same bytes in every layer: a straight line, never a curve.",
        group="Learn",
    ),
    Page(
        slug="live",
        title="Live latency",
        label="Live",
        question="How fast does this machine decode, and how close is that to its memory’s limit?",
        answer="Every step reads all weights again. The dashed line is the fastest it could be.",
        group="Machine",
    ),
    Page(
        slug="planner",
        title="Planner",
        label="Planner",
        question="What would my model cost on my accelerator?",
        answer="One step reads every weight once and every cache whole: bytes over bandwidth.",
        group="Machine",
    ),
)


def page(slug: str) -> Page:
    """Return the registered page ``slug``.

    Raises: ValueError if no page has that slug
    """
    for candidate in PAGES:
        if candidate.slug == slug:
            return candidate
    raise ValueError(f"slug must be one of {[p.slug for p in PAGES]}, got {slug!r}")


def neighbours(slug: str) -> tuple[Page | None, Page | None]:
    """Return the pages before and after ``slug`` in reading order."""
    position = PAGES.index(page(slug))
    before = PAGES[position - 1] if position > 0 else None
    after = PAGES[position + 1] if position + 1 < len(PAGES) else None
    return before, after


def build() -> NavigationPage:
    """Declare the frame's settings and the navigation; return the page to run."""
    st.set_page_config(
        page_title=APP_NAME, page_icon=str(ROOT / "assets/favicon.svg"), layout="wide"
    )
    entries = [st.Page(p.file, title=p.label, default=p.is_default, help=p.question) for p in PAGES]
    return st.navigation(entries, position="top")


def page_of(entry: NavigationPage) -> Page:
    """Return the record behind a page of the navigation."""
    return page(entry.url_path or "start")


def mark_routed() -> None:
    """Note that this session runs through app.py; called by app.py only."""
    st.session_state[_ROUTED] = True


def routed() -> None:
    """Start the run again through app.py if it began without; first statement of every page."""
    if not st.session_state.get(_ROUTED):
        build()
        st.rerun()
    state.begin()
