"""A plain table of texts, shown literally, that scrolls sideways on a phone."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.ui.text import literal_html

LONG = 48
"""Longer texts break over lines; shorter ones stay on one, and the table scrolls."""
_MARK = ' aria-current="true"'


def table_html(head: Sequence[str], rows: Sequence[Sequence[str]], mark: int | None = None) -> str:
    """Return the table; the row ``mark`` is the one that is meant.

    >>> table_html(("a",), [("<b>",)])
    '<div class="onr-live-table"><table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table></div>'
    """  # noqa: E501
    top = "".join(f"<th>{literal_html(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr{_MARK if index == mark else ''}>" + "".join(_cell(cell) for cell in row) + "</tr>"
        for index, row in enumerate(rows)
    )
    return (
        f'<div class="onr-live-table"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    long = ' class="onr-long"' if len(text) > LONG else ""
    return f"<td{long}>{literal_html(text)}</td>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], mark: int | None = None) -> None:
    """Draw a table."""
    st.html(table_html(head, rows, mark))
