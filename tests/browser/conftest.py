"""A real browser on a server of its own: nothing leaves the host, no script error passes."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, WebSocket

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --font-render-hinting=none "
    "--force-color-profile=srgb"
).split()
START_S = 60
Go = Callable[..., Page]


@pytest.fixture(scope="session", autouse=True)
def _screenshots(pytestconfig: pytest.Config) -> None:
    """A test that fails leaves a picture in test-results/."""
    if pytestconfig.option.screenshot == "off":
        pytestconfig.option.screenshot = "only-on-failure"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Debian's chromium, or the one that CHROMIUM names."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    return {**browser_type_launch_args, "executable_path": path, "args": CHROMIUM_FLAGS}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """A small projector."""
    size = {"width": 1280, "height": 720}
    return {**browser_context_args, "viewport": size, "device_scale_factor": 1, "locale": "en-US"}


class Server:
    """The app on a free port, from start to stop; ``go`` polls its health."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        flags = ["--server.headless=true", "--server.address=127.0.0.1"]
        command = [sys.executable, "-m", "streamlit", "run", "app.py", *flags]
        with self._log.open("ab") as out:
            self._process = subprocess.Popen(
                [*command, f"--server.port={self.port}"],
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        end = time.monotonic() + START_S
        while not self._is_healthy():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < end, self._log.read_text()
            time.sleep(0.05)  # between two polls; nothing is asserted by waiting

    def stop(self) -> None:
        """Stop it and wait until it is gone."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


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


def settled(page: Page) -> Page:
    """Wait until the script of the page has run to its end."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    return page
