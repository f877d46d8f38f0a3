"""The growing cache in a real browser: one column and one point a step, back and forth."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Locator, Page, expect

from .conftest import Go, settled


def live_stage(page: Page) -> Locator:
    """The stage of the session's own run."""
    return page.locator("[data-onr=stage]").filter(has=page.locator(".onr-growth"))


def pixels(page: Page) -> Image.Image:
    """The picture's own pixels."""
    shot = live_stage(page).locator(".onr-growth canvas").screenshot()
    return Image.open(io.BytesIO(shot)).convert("RGB")


def caption(page: Page) -> Locator:
    return live_stage(page).locator("[data-onr=caption]")


def step_of(page: Page) -> Locator:
    return live_stage(page).get_by_role("slider", name="Step")


@pytest.fixture
def growth(go: Go) -> Page:
    """The page, with whole steps only and the live model in place."""
    page = go("cache_growth")
    page.emulate_media(reduced_motion="reduce")
    live_stage(page).locator("canvas").wait_for()
    expect(page.locator(".onr-status")).not_to_contain_text("recorded", timeout=30_000)
    return page


def test_a_step_adds_one_entry_and_says_so(growth: Page) -> None:
    expect(caption(growth)).to_have_text(re.compile(r"^Prefill stores all \d+ prompt tokens"))
    growth.keyboard.press("ArrowRight")
    expect(caption(growth)).to_have_text(re.compile(r"^Token \d+ “.+” adds one key and one value"))
    tiles = live_stage(growth).locator(".onr-tile")
    expect(tiles.filter(has_text="Added now")).to_contain_text("2 KiB")
    expect(live_stage(growth).locator("[data-onr=proof]")).to_contain_text("Measured = formula")


@pytest.mark.parametrize("keys", [("ArrowRight", "ArrowLeft"), ("PageDown", "PageUp")])
def test_back_restores_every_pixel(keys: tuple[str, str], growth: Page) -> None:
    forward, back = keys
    growth.keyboard.press(forward)
    expect(step_of(growth)).to_have_value("1")
    first = pixels(growth)
    growth.keyboard.press(forward)
    expect(step_of(growth)).to_have_value("2")
    second = pixels(growth)
    assert ImageChops.difference(first, second).getbbox() is not None
    growth.keyboard.press(back)
    expect(step_of(growth)).to_have_value("1")
    assert ImageChops.difference(pixels(growth), first).getbbox() is None


def test_what_is_stored_does_not_move(growth: Page) -> None:
    """Left of the newest column, the blocks of two steps are the same pixels."""
    growth.keyboard.press("ArrowRight")
    expect(step_of(growth)).to_have_value("1")
    first = pixels(growth)
    growth.keyboard.press("ArrowRight")
    expect(step_of(growth)).to_have_value("2")
    second = pixels(growth)
    lanes = (0, int(first.height * 0.62), first.width, first.height)
    box = ImageChops.difference(first.crop(lanes), second.crop(lanes)).getbbox()
    assert box is not None
    assert box[2] - box[0] < 40, "only the newest column and the one before change"


def test_playing_goes_on_past_the_steps_that_were_there(go: Go) -> None:
    page = go("cache_growth?steps=40")
    live_stage(page).locator("canvas").wait_for()
    page.keyboard.press("End")
    expect(step_of(page)).to_have_value("16")
    expect(step_of(page)).to_have_attribute("max", re.compile("^(32|40)$"), timeout=30_000)
    page.keyboard.press("ArrowRight")
    expect(step_of(page)).to_have_value("17")


def test_the_step_survives_a_reload_by_the_address(growth: Page) -> None:
    for _ in range(3):
        growth.keyboard.press("ArrowRight")
    growth.wait_for_url(re.compile(r"step=3"))
    settled(growth)
    growth.reload()
    expect(step_of(growth)).to_have_value("3")


def test_the_whole_context_is_one_click_away(growth: Page) -> None:
    before = pixels(growth)
    live_stage(growth).get_by_role("button", name="Whole context").click()
    assert ImageChops.difference(pixels(growth), before).getbbox() is not None


def test_the_picture_can_be_taken_away(growth: Page, tmp_path: Path) -> None:
    menu = live_stage(growth).get_by_role("button", name=re.compile("Picture"))
    menu.click()
    with growth.expect_download() as download:
        live_stage(growth).get_by_role("button", name="Save as SVG").click()
    file = tmp_path / "growth.svg"
    download.value.save_as(file)
    svg = file.read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "2,048 B a token" in svg


def test_the_offline_page_plays_without_a_server(
    growth: Page, browser: Browser, tmp_path: Path
) -> None:
    settled(growth).get_by_text("Take it away").click()
    with growth.expect_download() as download:
        growth.get_by_role("button", name="A page that plays offline").click()
    file = tmp_path / "growth.html"
    download.value.save_as(file)
    page = browser.new_context(offline=True).new_page()
    page.goto(file.as_uri())
    expect(caption(page)).to_have_text(re.compile(r"^Prefill stores all"))
    page.keyboard.press("ArrowRight")
    expect(step_of(page)).to_have_value("1")
    page.context.close()


def test_the_data_hold_every_step(growth: Page, tmp_path: Path) -> None:
    settled(growth).get_by_text("Take it away").click()
    with growth.expect_download() as download:
        growth.get_by_role("button", name="Bytes of every step (JSON)").click()
    file = tmp_path / "growth.json"
    download.value.save_as(file)
    steps = json.loads(file.read_text(encoding="utf-8"))["steps"]
    assert [step["step"] for step in steps] == list(range(len(steps)))
    assert all(step["kv_bytes_in_use"] == step["kv_bytes_formula"] for step in steps)


def test_on_a_phone_nothing_is_wider_than_the_screen(go: Go) -> None:
    page = go("cache_growth")
    page.set_viewport_size({"width": 390, "height": 844})
    live_stage(page).locator("canvas").wait_for()
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    box = live_stage(page).locator(".onr-growth").bounding_box()
    assert box is not None
    assert box["height"] > 300
