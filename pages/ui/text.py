"""Showing text that somebody typed: always literally, never as markup."""

from __future__ import annotations

import html

from core.model.token_text import readable_text


def literal_html(text: str) -> str:
    """Return ``text`` as HTML that shows exactly these characters, in attributes too.

    Control and direction-changing characters become visible: a right-to-left override in a
    prompt must not turn the rest of a sentence around.

    >>> literal_html('<b> & "q"')
    '&lt;b&gt; &amp; &quot;q&quot;'
    """
    return html.escape(readable_text(text), quote=True)


def shortened(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of ``text``, with an ellipsis where it was cut.

    >>> shortened("a long prompt", 8)
    'a long …'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"
