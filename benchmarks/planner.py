"""Sliders of the planning pages against an empty fragment: from the browser's send to the paint."""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.figures import Figure, interleaved_s, median_ratio
from core.cost.catalog import find_accelerator, find_model
from core.cost.planner import PlanRequest, plan

TITLE = "Planner: slider to paint, beside an empty fragment"
ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 15
WARM_UPS = 4
PAINTED = ("[data-painted]", "data-painted")
FLAGS = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking".split()

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


def measure() -> list[Figure]:
    """Step each slider and the empty one in turn; report medians and their ratio."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with (
        _server("app.py") as app,
        _server("benchmarks/apps/empty_fragment.py") as floor,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        figures = _sliders(browser, app, floor)
        browser.close()
    return [*figures, _plan_time()]


def _sliders(browser: Browser, app: str, floor: str) -> list[Figure]:
    empty = _Stepper(browser, floor, "floor_slider", ".st-key-floor_value")
    tabs = {name: _Tab(browser, f"{app}/{name}", *PAINTED) for name in ("planner", "cache_growth")}
    ways = {f"{name}, {size}": (tabs[name], size) for name in tabs for size in ("context", "batch")}
    times: dict[str, list[float]] = {name: [] for name in ("empty fragment", *ways)}
    for turn in range(ROUNDS + WARM_UPS):
        found = {"empty fragment": empty.step(forward=turn % 2 == 0)}
        for name, (tab, size) in ways.items():
            found[name] = tab.step(f"[data-size={size}]", forward=turn % 2 == 0)
        if turn >= WARM_UPS:
            for name, value in found.items():
                times[name].append(value)
    base = times.pop("empty fragment")
    figures = [Figure("empty fragment, send to paint", statistics.median(base), "ms")]
    for name, values in times.items():
        figures.append(Figure(f"{name}, send to paint", statistics.median(values), "ms"))
        ratio = median_ratio(values, base)
        figures.append(Figure(f"{name}, of the empty fragment", ratio, "times", at_most=2.0))
    return figures


class _Tab:
    """One page in a tab of its own, whose sliders are moved by the arrow keys."""

    def __init__(self, browser: Browser, url: str, seen: str, attribute: str | None) -> None:
        self._page: Page = browser.new_page(viewport={"width": 1280, "height": 720})
        self._page.add_init_script(WATCH)
        self._page.goto(url)
        idle = "[data-testid=stApp][data-test-script-state=notRunning]"
        self._page.locator(idle).wait_for()
        self._seen = [seen, attribute]
        self._page.wait_for_function("([s, a]) => window.__seen(s, a) !== null", arg=self._seen)

    def step(self, slider: str, *, forward: bool) -> float:
        """Move the slider by one place; return milliseconds from the send to the paint."""
        self._page.bring_to_front()
        before = self._page.evaluate("([s, a]) => window.__seen(s, a)", self._seen)
        thumb = self._page.locator(f"{slider} input[type=range]")
        thumb.press("ArrowRight" if forward else "ArrowLeft")
        found: float = self._page.evaluate(
            "([s, a, b]) => window.__changed(s, a, b)", [*self._seen, before]
        )
        return found


class _Stepper:
    """One Streamlit slider, by its key, in a tab of its own."""

    def __init__(
        self, browser: Browser, url: str, key: str, seen: str, attribute: str | None = None
    ) -> None:
        self._tab = _Tab(browser, url, seen, attribute)
        self._slider = f".st-key-{key}"

    def step(self, *, forward: bool) -> float:
        """Move the slider by one place; return milliseconds from the send to the paint."""
        return self._tab.step(self._slider, forward=forward)


def _plan_time() -> Figure:
    model, machine = find_model("Llama 3.1 8B"), find_accelerator("H100 SXM 80GB")
    times = interleaved_s({"plan": lambda: plan(PlanRequest(model, 8192, 4, machine))}, rounds=50)
    return Figure("one plan in Python", 1e3 * statistics.median(times["plan"]), "ms")


@contextmanager
def _server(script: str) -> Iterator[str]:
    """Serve a script on a free port until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", script, f"--server.port={port}"]
    command += ["--server.headless=true", "--server.address=127.0.0.1"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(url)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def _wait(url: str) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise TimeoutError(f"{url} did not answer within a minute")
