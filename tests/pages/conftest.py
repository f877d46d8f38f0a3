"""Pages without a browser: always through app.py, with no model loading in the background."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["ONE_NEW_ROW_WARM_UP_S"] = "86400"

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
OpenPage = Callable[..., AppTest]


def open_app(slug: str = "start", **address: str) -> AppTest:
    """Open a page through app.py, as a deep link with these query parameters."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, app.exception
    if slug != "start":
        app.switch_page(f"pages/{slug}.py").run()
        assert not app.exception, app.exception
    return app


def mounted(app: AppTest) -> dict[str, Any]:
    """The data of every mounted component, by the component's name; carriers by their slot."""
    found: dict[str, Any] = {}
    for element in app.get("bidi_component"):
        data = json.loads(element.proto.json)
        name = element.proto.component_name.removeprefix("onr.")
        if name == "store":
            name = "proof" if data["key"].endswith(":proof") else _free("run", found)
        found[name] = data
    return found


def _free(name: str, taken: dict[str, Any]) -> str:
    return name if name not in taken else f"other_{name}"


def shown_html(app: AppTest) -> list[str]:
    """Every piece of HTML and Markdown that the page shows."""
    html = [element.proto.body for element in app.get("html")]
    return html + [element.value for element in app.markdown]


def status(app: AppTest) -> str:
    """The message line of the heading."""
    return next(text for text in shown_html(app) if "onr-status" in text and "<style" not in text)


@pytest.fixture
def open_page() -> OpenPage:
    """Open a page; whatever models other tests have loaded are there."""
    return open_app


@pytest.fixture
def fresh_server() -> None:
    """As after a server start: no model is loaded, nothing is cached."""
    st.cache_resource.clear()
