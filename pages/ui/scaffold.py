"""What every page has around its picture: heading, messages, limits, code, way on.

Messages have a line of their own in the heading, which is always there, so that none of them
moves the picture; their full text stands in the notes below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from pages.ui import state
from pages.ui.registry import PAGES, Page, neighbours
from pages.ui.source import source_of
from pages.ui.text import literal_html

MessageKind = Literal["problem", "dropped", "note", "recorded"]
_WORDS: dict[MessageKind, str] = {
    "problem": "not done",
    "dropped": "address",
    "note": "note",
    "recorded": "recorded",
}
KEYS = (
    "Keys on every page that steps: → or Page Down next, ← or Page Up back, Space plays, "
    "Home and End jump. L switches lecture mode on every page."
)
"""The help on the keyboard that every page offers."""


@dataclass(frozen=True)
class Message:
    """One sentence for the reader, shown literally."""

    kind: MessageKind
    text: str


def heading(page: Page, messages: Sequence[Message] = ()) -> None:
    """Draw the question, the answer in one sentence, and the most pressing message."""
    first = messages[0] if messages else None
    st.html(
        '<header class="onr-head"><div>'
        f"<h1>{literal_html(page.question)}</h1><p>{literal_html(page.answer)}</p></div>"
        f"{_status(first, len(messages) - 1)}</header>"
    )


def _status(message: Message | None, more: int) -> str:
    if message is None:
        return '<p class="onr-status" role="status"></p>'
    text = literal_html(message.text)
    others = f" (+{more} below)" if more > 0 else ""
    return (
        f'<p class="onr-status" role="status" title="{text}">'
        f'<span class="onr-kind" data-kind="{message.kind}">{_WORDS[message.kind]}</span>'
        f"{text}{others}</p>"
    )


def notes(messages: Sequence[Message]) -> None:
    """Draw every message in full, below the picture."""
    if not messages:
        return
    items = "".join(
        f'<li class="onr-note"><span class="onr-kind" data-kind="{m.kind}">{_WORDS[m.kind]}</span>'
        f"{literal_html(m.text)}</li>"
        for m in messages
    )
    st.html(f'<ul class="onr-notes" aria-label="Notes">{items}</ul>')


def findings(sentences: Sequence[str]) -> None:
    """Draw what the switches found out, one line each."""
    for sentence in sentences:
        st.html(f'<p class="onr-finding" role="status">{literal_html(sentence)}</p>')


def dropped_messages() -> list[Message]:
    """One message for every value of the address that could not be used."""
    return [Message("dropped", str(item)) for item in state.dropped()]


def what_this_is_not(*sentences: str) -> None:
    """Draw the limits of the page in one or two sentences."""
    st.html(
        '<p class="onr-limits"><strong>What this is not.</strong> '
        f"{literal_html(' '.join(sentences))}</p>"
    )


def code_that_ran(title: str, *names: tuple[str, str]) -> None:
    """Draw the source of core functions, given as (module, name), in the order of the call."""
    with st.expander(f"Code that ran: {title}", icon=":material/code:"):
        for module, name in names:
            st.caption(f"{module.replace('.', '/')}.py")
            st.code(source_of(module, name), language="python")


def chapters(page: Page) -> None:
    """Draw a way into every other page: its name and the question it answers."""
    with st.container(key="onr_chapters"):
        for other in PAGES:
            if other.slug != page.slug:
                with st.container(border=True, gap=None, height="stretch"):
                    st.page_link(other.file, label=f"**{other.title}** →")
                    st.html(f'<p class="onr-question">{literal_html(other.question)}</p>')


def way_on(page: Page) -> None:
    """Draw the links to the pages before and after, and the switch of lecture mode."""
    before, after = neighbours(page.slug)
    with st.container(horizontal=True, vertical_alignment="center", key="onr_way_on"):
        if before is not None:
            st.page_link(before.file, label=f"← {before.title}")
        on = state.lecture()
        st.button(
            "Leave lecture mode" if on else "Lecture mode",
            key="lecture_switch",
            type="tertiary",
            icon=":material/close_fullscreen:" if on else ":material/present_to_all:",
            help="Large type and nothing but the picture, for a projector. " + KEYS,
            shortcut="L",
            on_click=state.set_lecture,
            args=(not on,),
        )
        if after is not None:
            st.page_link(after.file, label=f"{after.title} →")
