"""The settings a session starts with: the default prompt, seen by the most telling head."""

from __future__ import annotations

from functools import cache

from pages.ui.heads import named_heads
from pages.ui.settings import RunSettings


@cache
def default_settings() -> RunSettings:
    """The settings where the address asks for nothing."""
    heads = named_heads()
    if not heads:
        return RunSettings()
    return RunSettings(layer=heads[0].layer, head=heads[0].head)
