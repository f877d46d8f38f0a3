"""The app on a free port and a browser on it: for benchmarks, browser tests and the pictures."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
START_S = 60
STOP_S = 20
VIEWPORT: ViewportSize = {"width": 1280, "height": 720}
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --font-render-hinting=none "
    "--force-color-profile=srgb"
).split()

WATCH = """
window.__sent = 0
const send = WebSocket.prototype.send
WebSocket.prototype.send = function (...args) {
  window.__sent = performance.now()
  return send.apply(this, args)
}
window.__seen = (selector, attribute) => {
  const look = (root) => {
    const found = root.querySelector(selector)
    if (found) return attribute ? found.getAttribute(attribute) : found.textContent
    for (const node of root.querySelectorAll("*")) {
      const inside = node.shadowRoot && look(node.shadowRoot)
      if (inside) return inside
    }
    return null
  }
  return look(document)
}
window.__changed = (selector, attribute, before) => new Promise((resolve) => {
  const tick = () => {
    if (window.__seen(selector, attribute) === before) return requestAnimationFrame(tick)
    requestAnimationFrame(() => resolve(performance.now() - window.__sent))
  }
  tick()
})
"""


class Server:
    """A Streamlit script on a free port, from start to stop; its output goes to ``log``."""

    def __init__(self, log: Path | None = None, script: str = "app.py") -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._log, self._script = log, script
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises: RuntimeError if it ends or does not answer within a minute
        """
        command = [sys.executable, "-m", "streamlit", "run", self._script]
        command += ["--server.headless=true", "--server.address=127.0.0.1"]
        with open(self._log or os.devnull, "ab") as out:
            self._process = subprocess.Popen(
                [*command, f"--server.port={self.port}"], cwd=ROOT, stdout=out, stderr=out
            )
        end = time.monotonic() + START_S
        while not self._is_healthy():
            if self._process.poll() is not None or time.monotonic() > end:
                said = self._log.read_text() if self._log else "no log was kept"
                raise RuntimeError(f"{self.url} did not start: {said}")
            time.sleep(0.05)  # between two polls; nothing is concluded from waiting

    def stop(self) -> None:
        """Stop it and wait until it is gone."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(STOP_S)
            self._process = None

    def resident_bytes(self) -> int:
        """The memory that the server's process holds now, as Linux counts it.

        Raises: RuntimeError if it does not run
        """
        if self._process is None:
            raise RuntimeError("the server does not run: call start first")
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


@contextmanager
def served(script: str = "app.py") -> Iterator[Server]:
    """Serve a script until the block ends."""
    server = Server(script=script)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's chromium, or the one that CHROMIUM names, until the block ends."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def chromium_path() -> str | None:
    """Where the browser is, or nothing, for Playwright's own."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium")


def settled(page: Page) -> Page:
    """Wait until the script of the page has run to its end."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    return page


DRAWN = "() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"


class Tab:
    """One page in a tab of its own, whose sliders are moved by the arrow keys."""

    def __init__(self, browser: Browser, url: str, seen: str, attribute: str | None) -> None:
        self._page: Page = browser.new_page(viewport=VIEWPORT)
        self._page.add_init_script(WATCH)
        self._page.goto(url)
        settled(self._page)
        self._seen = [seen, attribute]
        self._page.wait_for_function("([s, a]) => window.__seen(s, a) !== null", arg=self._seen)

    def step(self, slider: str, *, forward: bool) -> float:
        """Move the slider by one place; return milliseconds from the send to the paint."""
        self._page.bring_to_front()
        self._page.evaluate(DRAWN)  # a tab that has just come to the front draws itself first
        before = self._page.evaluate("([s, a]) => window.__seen(s, a)", self._seen)
        thumb = self._page.locator(f"{slider} input[type=range]")
        thumb.press("ArrowRight" if forward else "ArrowLeft")
        found: float = self._page.evaluate(
            "([s, a, b]) => window.__changed(s, a, b)", [*self._seen, before]
        )
        return found


class EmptyFragment:
    """The floor of every round trip: a fragment in the app's frame that shows one value."""

    SCRIPT = "benchmarks/apps/empty_fragment.py"

    def __init__(self, browser: Browser, url: str) -> None:
        self._tab = Tab(browser, url, ".st-key-floor_value", None)
        self._forward = False

    def step(self) -> float:
        """Move its slider, there and back in turn; return milliseconds from send to paint."""
        self._forward = not self._forward
        return self._tab.step(".st-key-floor_slider", forward=self._forward)
