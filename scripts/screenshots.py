"""Draw the pictures of the app that README and docs show: `python -m scripts.screenshots`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from benchmarks.app_browser import ROOT, VIEWPORT, chromium, served, settled
from pages.ui.registry import PAGES

FOLDER = ROOT / "docs/pictures"
MOST_BYTES = 150_000
STEPS = 3
PATIENCE_MS = 120_000
Theme = Literal["light", "dark"]


def main() -> int:
    """Draw every registered page in light, One new row in dark as well."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted: list[tuple[str, str, Theme]] = [(page.slug, page.path, "light") for page in PAGES]
    wanted.append(("new_row", "/new_row", "dark"))
    with served() as app, chromium() as browser:
        _warm_up(browser, app.url)
        for slug, path, theme in wanted:
            file = FOLDER / f"{slug}-{theme}.png"
            size = _draw(browser, app.url + path, slug, theme, file)
            print(f"{file.relative_to(ROOT)}  {size / 1e3:.0f} kB", flush=True)
            if size > MOST_BYTES:
                print(f"{file.name} is larger than {MOST_BYTES / 1e3:.0f} kB", file=sys.stderr)
                return 1
    return 0


def _warm_up(browser: Browser, url: str) -> None:
    """Wait until the live model has taken over from the recording."""
    page = _open(browser, f"{url}/new_row", "light")
    _proven(page)
    page.close()


def _draw(browser: Browser, url: str, slug: str, theme: Theme, file: Path) -> int:
    """Open a page, bring it to what it shows best, save it; return the size of the file."""
    page = _open(browser, url, theme)
    if slug == "new_row":
        _proven(page)
        scrubber = page.locator("[data-onr=stage]").get_by_role("slider", name="Step", exact=True)
        for step in range(STEPS):
            page.keyboard.press("ArrowRight")
            expect(scrubber).to_have_value(str(step + 1))
    settled(page)
    page.evaluate("() => document.fonts.ready")
    page.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    # 256 colours are enough for flat pictures, and a quarter of the bytes.
    shot.quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
    return file.stat().st_size


def _open(browser: Browser, url: str, theme: Theme) -> Page:
    page = browser.new_page(
        viewport=VIEWPORT, color_scheme=theme, reduced_motion="reduce", device_scale_factor=1
    )
    page.set_default_timeout(PATIENCE_MS)
    page.goto(url)
    settled(page)
    page.locator("canvas, svg.main-svg, .onr-curves, [data-onr=stage]").first.wait_for()
    return page


def _proven(page: Page) -> None:
    proof = page.locator("[data-onr=stage] [data-onr=proof]")
    expect(proof).not_to_have_attribute("data-state", "checking", timeout=PATIENCE_MS)
    settled(page)


if __name__ == "__main__":
    sys.exit(main())
