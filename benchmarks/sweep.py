"""The weight sweep in a browser: frames per second, rows and precision to the next frame, roofline.

The sweep plays in the browser alone. Rows and precision are painted in the next frame; only
the roofline beside it asks the server, and is held against an empty fragment in the same run.
"""

from __future__ import annotations

import statistics

from playwright.sync_api import Browser, Page

from benchmarks.app_browser import VIEWPORT, WATCH, EmptyFragment, chromium, served, settled
from benchmarks.figures import Figure, median_ratio

TITLE = "Weight sweep: frames, rows and precision to paint"
PLAY_MS = 5000
FIRST_COLUMN = 20
ROUNDS = 8

FRAMES = """
(ms) => new Promise((resolve) => {
  const gaps = []
  let last = performance.now()
  const end = last + ms
  const tick = (now) => {
    gaps.push(now - last)
    last = now
    if (now < end) requestAnimationFrame(tick)
    else resolve(gaps.slice(1))
  }
  requestAnimationFrame(tick)
})
"""
STAGE = """
window.__stage = () => [...document.querySelectorAll("*")].map((n) => n.shadowRoot)
  .find((root) => root && root.querySelector(".onr-sweep-tiles"))
"""
TO_PAINT = """
([act, value]) => new Promise((resolve) => {
  const root = window.__stage()
  const tiles = root.querySelector(".onr-sweep-tiles")
  const before = tiles.textContent
  const node = act === "dtype" ? root.querySelector("[aria-label='Precision of the weights']")
    : root.querySelector(`.onr-presets [data-value="${value}"]`)
  let frames = 0
  const start = performance.now()
  const tick = () => {
    frames += 1
    if (tiles.textContent !== before) return resolve([frames, performance.now() - start])
    requestAnimationFrame(tick)
  }
  if (act === "dtype") { node.value = value; node.dispatchEvent(new Event("change")) }
  else node.click()
  requestAnimationFrame(tick)
})
"""


def measure() -> list[Figure]:
    """Play the largest matrix, change what the browser can change, then what the server must."""
    with served() as app, served(EmptyFragment.SCRIPT) as floor, chromium() as browser:
        page = _opened(browser, f"{app.url}/weight_sweep?matrix=lm_head")
        return [*_frames(page), *_changes(page), *_roofline(browser, page, floor.url)]


def _opened(browser: Browser, url: str) -> Page:
    page = browser.new_page(viewport=VIEWPORT)
    page.set_default_timeout(120_000)  # a busy host may take its time to load torch
    page.add_init_script(WATCH + STAGE)
    page.goto(url)
    settled(page)
    page.locator(".onr-sweep-picture canvas").first.wait_for()
    page.locator(".js-plotly-plot").first.wait_for()
    return page


def _frames(page: Page) -> list[Figure]:
    """Frames per second while 1,024 columns play, with one row and with 512."""
    figures = []
    for rows in (1, 512):
        box = page.get_by_label("Number of rows, R")
        box.fill(str(rows))
        box.press("Enter")
        settled(page)
        page.locator(".onr-sweep-picture canvas").first.wait_for()
        page.get_by_role("slider", name="Step", exact=True).fill(str(FIRST_COLUMN))
        page.get_by_role("button", name="Play", exact=True).click()
        gaps = page.evaluate(FRAMES, PLAY_MS)
        page.get_by_role("button", name="Pause").click()
        rate = 1000 * len(gaps) / sum(gaps)
        slow = sum(gap > 25 for gap in gaps) / len(gaps)
        figures.append(
            Figure(
                f"frames per second, output head, R = {rows}", rate, "fps", at_least=50,
                note=f"{slow:.1%} of frames took over 25 ms",
            )
        )  # fmt: skip
    return figures


def _changes(page: Page) -> list[Figure]:
    """Frames from a change of rows or precision until its numbers stand on the screen."""
    figures = []
    for act, values in (("rows", ("8", "64", "5", "1")), ("dtype", ("int4", "int8", "float32"))):
        found = [
            page.evaluate(TO_PAINT, [act, value]) for _ in range(ROUNDS // 2) for value in values
        ]
        frames = statistics.median(frames for frames, _ in found)
        ms = statistics.median(ms for _, ms in found)
        what = "rows" if act == "rows" else "precision"
        figures.append(
            Figure(f"{what} to paint", frames, "frames", at_most=1, note=f"{ms:.1f} ms median")
        )
    return figures


def _roofline(browser: Browser, page: Page, floor: str) -> list[Figure]:
    """From the browser's send to the new words under the roofline, beside an empty fragment."""
    empty = EmptyFragment(browser, floor)
    empties, times = [], []
    for turn in range(2 * ROUNDS + 2):
        empties.append(empty.step())
        page.bring_to_front()
        before = page.evaluate("() => window.__seen('.onr-finding', null)")
        rows = "8" if turn % 2 == 0 else "64"
        page.evaluate(
            "(v) => window.__stage().querySelector(`.onr-presets [data-value='${v}']`).click()",
            rows,
        )
        times.append(page.evaluate("(b) => window.__changed('.onr-finding', null, b)", before))
        settled(page)
    ratio = median_ratio(times[2:], empties[2:])
    return [
        Figure("empty fragment, send to paint", statistics.median(empties[2:]), "ms"),
        Figure(
            "roofline after a change of rows, send to paint", statistics.median(times[2:]), "ms"
        ),
        Figure(
            "roofline, of the empty fragment", ratio, "times",
            note="a Plotly chart is built anew on every change of its data",
        ),
    ]  # fmt: skip
