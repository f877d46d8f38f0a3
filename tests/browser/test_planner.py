"""The planner in a real browser: sliders that follow the hand, an address that follows them."""

from __future__ import annotations

import io
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Locator, Page, expect

from .conftest import Go


def chart(page: Page) -> Locator:
    return page.locator(".onr-chart canvas")


def pixels(page: Page) -> Image.Image:
    """The chart's own pixels."""
    return Image.open(io.BytesIO(chart(page).screenshot())).convert("RGB")


def slider(page: Page, name: str) -> Locator:
    return page.locator(f"[data-size={name}] input")


def big(page: Page) -> Locator:
    return page.locator(".onr-big-value")


@pytest.fixture
def planner(go: Go) -> Page:
    page = go("planner")
    chart(page).wait_for()
    expect(big(page)).to_have_text("4.8 ms")
    return page


def test_everything_that_matters_is_on_the_first_screen(planner: Page) -> None:
    for part in (".onr-big-value", ".onr-tiles", ".onr-chart", ".onr-stack", ".onr-words li"):
        box = planner.locator(part).first.bounding_box()
        assert box is not None
        assert box["y"] + min(box["height"], 200) <= 720, part


def test_a_slider_changes_numbers_chart_and_address(planner: Page) -> None:
    before = pixels(planner)
    slider(planner, "batch").focus()
    for _ in range(4):
        planner.keyboard.press("ArrowRight")
    expect(slider(planner, "batch")).to_have_attribute("aria-valuetext", "6")
    expect(planner.locator(".onr-tile[data-id=total]")).not_to_contain_text("208")
    planner.wait_for_url(re.compile("batch=6"))
    assert ImageChops.difference(pixels(planner), before).getbbox() is not None


def test_the_last_of_many_quick_moves_wins(planner: Page) -> None:
    slider(planner, "context").focus()
    for _ in range(12):
        planner.keyboard.press("ArrowRight")
    planner.keyboard.press("ArrowLeft")
    wanted = slider(planner, "context").get_attribute("aria-valuetext")
    assert wanted is not None
    planner.wait_for_url(re.compile(f"context={wanted.replace(',', '')}(&|$)"))
    expect(planner.locator("[data-painted]")).to_have_attribute(
        "data-painted", re.compile(f"{wanted} tokens")
    )
    assert slider(planner, "context").get_attribute("aria-valuetext") == wanted


def test_views_and_scales_are_switched_without_the_server(planner: Page) -> None:
    seen = [pixels(planner)]
    for name in ("over context", "tokens/s", "Roofline"):
        planner.get_by_role("button", name=name, exact=True).click()
        seen.append(pixels(planner))
    planner.get_by_role("button", name="over requests", exact=True).click()
    planner.get_by_role("button", name="log", exact=True).click()
    seen.append(pixels(planner))
    for one, other in pairwise(seen):
        assert ImageChops.difference(one, other).getbbox() is not None


def test_a_view_stays_when_a_slider_moves(planner: Page) -> None:
    view = planner.get_by_role("button", name="tokens/s", exact=True)
    view.click()
    slider(planner, "batch").press("ArrowRight")
    planner.wait_for_url(re.compile("batch=2"))
    expect(view).to_have_attribute("aria-pressed", "true")


def test_the_pointer_reads_values_off(planner: Page) -> None:
    box = chart(planner).bounding_box()
    assert box is not None
    planner.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = planner.locator(".onr-chart .onr-tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("requests")
    expect(tip).to_contain_text("floor:")


def test_picture_and_numbers_can_be_taken_away(planner: Page, tmp_path: Path) -> None:
    menu = planner.get_by_role("button", name="Take away")
    for name, extension in (("Save as SVG", "svg"), ("Save the figures (JSON)", "json")):
        menu.click()
        with planner.expect_download() as download:
            planner.get_by_role("button", name=name).click()
        assert download.value.suggested_filename.endswith(f".{extension}")
        download.value.save_as(tmp_path / f"plan.{extension}")
    assert "59 requests fit" in (tmp_path / "plan.svg").read_text(encoding="utf-8")
    figures = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["figures"]
    assert figures["model"] == "Llama 3.1 8B"
    assert figures["itl_floor_s"] == pytest.approx(4.8e-3, rel=0.01)


def test_formulas_unfold(planner: Page) -> None:
    planner.get_by_text("Formulas, as they were evaluated").click()
    formulas = planner.locator(".onr-formula-list")
    expect(formulas).to_contain_text("itl_floor_s = max(")
    expect(formulas).to_contain_text("3350000000000")


def test_a_pasted_config_that_is_no_json_leaves_the_picture(planner: Page) -> None:
    planner.get_by_role("button", name="Your config.json").click()
    planner.get_by_label("or paste its text").fill("<!doctype html><html></html>")
    planner.get_by_role("button", name="Use this text").click()
    expect(planner.locator(".onr-finding")).to_contain_text("looks like a web page")
    expect(big(planner)).to_have_text("4.8 ms")


def test_dark_is_readable_and_nothing_leaves_the_host(go: Go) -> None:
    page = go("planner")
    chart(page).wait_for()
    expect(big(page)).to_have_text("4.8 ms")
    light = pixels(page).getpixel((2, 2))
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".onr[data-kind=plan]")).to_have_class(re.compile("onr-dark"))
    assert sum(pixels(page).getpixel((2, 2))) < sum(light) - 300


def test_on_a_phone_nothing_is_wider_than_the_screen(go: Go) -> None:
    page = go("planner")
    page.set_viewport_size({"width": 390, "height": 844})
    chart(page).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = chart(page).bounding_box()
    assert box is not None
    assert box["width"] > 300
