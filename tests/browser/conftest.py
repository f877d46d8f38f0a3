"""A real browser on a server of its own: nothing leaves the host, no script error passes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, WebSocket, expect

from benchmarks.app_browser import FLAGS, VIEWPORT, Server, chromium_path, settled

__all__ = ["Go", "Server", "settled", "watching"]

Go = Callable[..., Page]

expect.set_options(timeout=20_000)  # a busy host is no fault of the app


@pytest.fixture(scope="session", autouse=True)
def _screenshots(pytestconfig: pytest.Config) -> None:
    """A test that fails leaves a picture in test-results/."""
    if pytestconfig.option.screenshot == "off":
        pytestconfig.option.screenshot = "only-on-failure"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Debian's chromium, or the one that CHROMIUM names."""
    return {**browser_type_launch_args, "executable_path": chromium_path(), "args": FLAGS}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """A small projector."""
    return {
        **browser_context_args,
        "viewport": VIEWPORT,
        "device_scale_factor": 1,
        "locale": "en-US",
    }


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Server]:
    """A server that nobody has visited yet."""
    server = Server(tmp_path / "server.log")
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that most tests share."""
    server = Server(tmp_path_factory.mktemp("server") / "server.log")
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def base_url(server: Server) -> str:
    """Where the shared server answers."""
    return server.url


@pytest.fixture
def go(context: BrowserContext, server: Server) -> Iterator[Go]:
    """Open a page in a new tab and wait until its script has run; watch it to the end."""
    with watching(context) as open_tab:
        yield lambda path="", at=server: open_tab(f"{at.url}/{path}")


class watching:  # noqa: N801  (used as a context manager)
    """Tabs whose script errors and foreign requests fail the test."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._faults: list[str] = []

    def __enter__(self) -> Callable[[str], Page]:
        self._context.on("request", lambda request: self._check(request.url))
        return self._open

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            assert self._faults == [], self._faults

    def _open(self, url: str) -> Page:
        tab = self._context.new_page()
        tab.on("pageerror", lambda error: self._faults.append(f"page error: {error}"))
        tab.on("websocket", self._check_socket)
        tab.goto(url)
        settled(tab)
        return tab

    def _check_socket(self, socket_: WebSocket) -> None:
        self._check(socket_.url)

    def _check(self, url: str) -> None:
        if not re.match(r"(https?|wss?)://127\.0\.0\.1:\d+/|data:|blob:|about:", url):
            self._faults.append(f"left the host: {url}")
