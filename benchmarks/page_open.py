"""Does looking on slow what is looked at? The same bench with no page and with the live page open.

Turn by turn on this host: once by a measuring process alone, once asked for on the page in a
real browser, whose server and picture run beside it. Equal within their spread is the aim.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, expect

from benchmarks.app_browser import VIEWPORT, Server, chromium, served, settled
from benchmarks.figures import Figure
from core.machine.jsonable import from_plain
from core.machine.records import MeasureResult
from core.machine.spec import MeasureSpec
from core.machine.worker import WorkerProcess

TITLE = "Inter-token latency without a page and with the live page open"
ROUNDS = 4
PATIENCE_MS = 180_000
PROBE_BYTES = 128_000_000
SPEC = MeasureSpec(
    device="cpu",
    weight_bytes=128_000_000,
    n_steps=128,
    n_threads=1,
    probe_bytes=PROBE_BYTES,
)
LIMITS = {
    "ONE_NEW_ROW_MEASURE_THREADS": "1",
    "ONE_NEW_ROW_MEASURE_MAX_PROBE_BYTES": str(PROBE_BYTES),
}
P50_S = """
() => {
  const { big } = globalThis.__oneNewRow.get("live").payload
  const scale = { s: 1, ms: 1e-3, "µs": 1e-6 }[big.unit]
  return parseFloat(big.marks[0][1].replace(/,/g, "")) * scale
}
"""
"""The median as the picture shows it: three digits, so to within half a per cent."""


def measure() -> list[Figure]:
    """Measure both ways in turns."""
    without, opened = [], []
    with _limits(), served() as server, chromium() as browser:
        for _ in range(ROUNDS):
            without.append(_headless())
            opened.append(_with_page(browser, server))
    middles = statistics.median(without), statistics.median(opened)
    spread = max((max(runs) - min(runs)) / statistics.median(runs) for runs in (without, opened))
    ratio = middles[1] / middles[0]
    return [
        Figure("ITL p50, no page", middles[0] * 1e3, "ms", note=_all(without)),
        Figure("ITL p50, page open", middles[1] * 1e3, "ms", note=_all(opened)),
        Figure(
            "open over none, less 1, over the spread",
            max(0.0, ratio - 1) / spread,
            "",
            at_most=1.0,
            note=f"ratio {ratio:.3f}, spread {spread:.0%}",
        ),
    ]


@contextmanager
def _limits() -> Iterator[None]:
    """The page's measurement on as many threads and with as large a probe as the other."""
    before = {name: os.environ.get(name) for name in LIMITS}
    os.environ.update(LIMITS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _all(runs: list[float]) -> str:
    return ", ".join(f"{value * 1e3:.3g}" for value in runs)


def _headless() -> float:
    worker = WorkerProcess(SPEC)
    try:
        while True:
            event = worker.next_event(600.0)
            if event is None or event["event"] == "error":
                raise RuntimeError(f"the measurement failed: {event}")
            if event["event"] == "result":
                return from_plain(MeasureResult, event["result"]).points[0].itl_s.p50
    finally:
        worker.stop()


def _with_page(browser: Browser, server: Server) -> float:
    page = browser.new_page(viewport=VIEWPORT)
    try:
        page.goto(f"{server.url}/live")
        settled(page)
        _choose(page, "Weights", "Weights 128 MB")
        stage = page.locator(".st-key-live_stage [data-onr=stage]")
        page.get_by_role("button", name="Measure", exact=True).click()
        expect(stage).to_have_attribute("data-state", "running", timeout=PATIENCE_MS)
        expect(stage).to_have_attribute("data-state", "done", timeout=PATIENCE_MS)
        return float(page.evaluate(P50_S))
    finally:
        page.close()


def _choose(page: Page, name: str, option: str) -> None:
    page.get_by_role("combobox", name=name).click()
    page.get_by_role("option", name=option, exact=True).click()
    settled(page)
