"""One self-contained HTML file that plays a run offline: payloads, script and style inside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pages.ui import assets
from pages.ui.text import literal_html, shortened

_FOOTER = (
    "Made with One New Row: a real run of a tiny model, {kind}. Every number was counted by the "
    "code that ran. Nothing on this page uses a network."
)


def player_html(
    payloads: Mapping[str, Mapping[str, Any]],
    view: Mapping[str, Any],
    *,
    stage: str = "newrow",
    player: str = "player",
) -> str:
    """Return a page that shows a run as the app does, without a server or a network.

    ``payloads`` are those of the browser's store by key, ``view`` is the stage's view of them;
    ``stage`` names its style sheet and ``player`` the module that starts it.
    Payloads are data, not script: every ``<`` in them is escaped, so that no prompt can close
    the element that holds it.
    """
    run = payloads[view["run"]]
    text = "".join(text for text, _ in run["steps"][-1]["text"])
    kind = "recorded when the app was built" if run["recorded"] else "run live"
    parts = {
        "title": literal_html(shortened(text, 80)),
        "footer": literal_html(_FOOTER.format(kind=kind)),
        "css": assets.stage_styles(stage) + assets.read("css/player.css"),
        "js": assets.script(player, None),
        "payload": _inert({"view": view, "payloads": payloads}),
    }
    return "".join(
        parts.get(piece, piece) if position % 2 else piece
        for position, piece in enumerate(_split(assets.read("html/player.html")))
    )


def _split(template: str) -> list[str]:
    """The template cut at its ``{{names}}``: text and names in turn, so no value is read again."""
    pieces: list[str] = []
    for chunk in template.split("{{"):
        pieces += chunk.split("}}", 1) if pieces else [chunk]
    return pieces


def _inert(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
