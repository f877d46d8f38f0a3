"""A config.json by hub id, only where this server allows it and somebody presses the button."""

from __future__ import annotations

import os
import re
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from core.cost.config_text import MAX_CONFIG_BYTES

SWITCH = "ONE_NEW_ROW_HUB"
"""Environment variable that allows fetching when it is 1; off by default."""

TIMEOUT_S = 10.0
_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_ADDRESS = "https://huggingface.co/{name}/resolve/main/config.json"


class HubError(Exception):
    """A config that could not be fetched, in one line for a person."""


def allowed() -> bool:
    """Whether this server may fetch a config that a reader asks for."""
    return os.environ.get(SWITCH) == "1"


def fetch_config(name: str) -> bytes:
    """Return the config.json of a model on the hub.

    Raises: HubError if fetching is off, the id is malformed, or the hub cannot be reached
    """
    if not allowed():
        raise HubError("Fetching by hub id is switched off on this server.")
    if not _ID.fullmatch(name) or ".." in name:
        raise HubError("A hub id has the form org/name, with letters, digits, dots and dashes.")
    request = Request(_ADDRESS.format(name=name), headers={"User-Agent": "one-new-row"})
    try:
        with urlopen(request, timeout=TIMEOUT_S) as answer:
            found: bytes = answer.read(MAX_CONFIG_BYTES + 1)
    except HTTPError as error:
        raise HubError(_refusal(name, error.code)) from error
    except (URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise HubError(f"The hub cannot be reached from this server ({reason}).") from error
    return found


def _refusal(name: str, code: int) -> str:
    if code in (401, 403):
        return f"{name} is private or gated: download its config.json yourself and upload it."
    if code == 404:
        return f"The hub has no config.json under {name}."
    return f"The hub answered with error {code} for {name}."
