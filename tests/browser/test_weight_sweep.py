"""The weight sweep in a real browser: one column a step, on the closed form, undone exactly."""

from __future__ import annotations

import io
import re

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Locator, Page, expect

from core.cost.accounting import matmul_cost

from .conftest import Go
from .stage import caption, stage, step_of

D_IN, D_OUT = 128, 352


def opened(go: Go, address: str = "") -> Page:
    """The page with its weights there, without tweens: whole columns only."""
    tab = go(f"weight_sweep{address}")
    tab.emulate_media(reduced_motion="reduce")
    stage(tab)
    return tab


def tile(page: Page, name: str) -> Locator:
    return stage(page).locator(f".onr-tile[data-id={name}] .onr-value")


def pixels(page: Page) -> Image.Image:
    """The picture alone, after the frame that shows the present column."""
    page.evaluate(
        "async () => { await document.fonts.ready; await new Promise((done) =>"
        " requestAnimationFrame(() => requestAnimationFrame(done))) }"
    )
    shot = stage(page).locator(".onr-sweep-picture").screenshot()
    return Image.open(io.BytesIO(shot)).convert("RGB")


@pytest.mark.parametrize(
    ("address", "rows", "dtype"),
    [
        ("", 1, "bfloat16"),
        ("?weights=int4&rows=64", 64, "int4"),
        ("?weights=float32&rows=5", 5, "float32"),
    ],
)
def test_counters_end_on_the_closed_form(go: Go, address: str, rows: int, dtype: str) -> None:
    page = opened(go, address)
    expect(tile(page, "bytes")).to_have_text("0 B")
    page.keyboard.press("End")
    cost = matmul_cost(D_IN, D_OUT, rows, dtype)
    expect(tile(page, "weights")).to_have_text(f"{D_IN * D_OUT:,}")
    expect(tile(page, "bytes")).to_have_text(f"{cost.weight_bytes:,} B")
    expect(tile(page, "macs")).to_have_text(f"{cost.macs:,}")
    expect(tile(page, "flops")).to_have_text(f"{cost.flops:,}")
    only = cost.intensity_weights_only
    expect(tile(page, "ratio")).to_have_text(f"{only:.2f}" if only < 100 else f"{only:,.1f}")
    expect(tile(page, "outputs")).to_have_text(f"{D_OUT} of {D_OUT}")
    beside = stage(page).locator(".onr-tile[data-id=ratio] .onr-beside")
    expect(beside).to_have_text(f"{cost.intensity:.2f} with activations")
    expect(stage(page).locator("[data-onr=proof]")).to_have_attribute("data-state", "ok")
    expect(stage(page).locator("[data-onr=proof]")).to_contain_text("Equals torch’s product")


@pytest.mark.parametrize("key_pair", [("ArrowRight", "ArrowLeft"), ("PageDown", "PageUp")])
def test_stepping_back_undoes_exactly_one_column(go: Go, key_pair: tuple[str, str]) -> None:
    forward, back = key_pair
    page = opened(go, "?columns=100")
    expect(step_of(page)).to_have_value("100")
    before = pixels(page)
    expect(tile(page, "weights")).to_have_text(f"{100 * D_IN:,}")
    page.keyboard.press(forward)
    expect(tile(page, "weights")).to_have_text(f"{101 * D_IN:,}")
    expect(tile(page, "bytes")).to_have_text(f"{101 * D_IN * 2:,} B")
    expect(caption(page)).to_have_text(re.compile(r"^Column 100: 128 weights read, 128"))
    after = pixels(page)
    box = ImageChops.difference(before, after).getbbox()
    assert box is not None
    page.keyboard.press(back)
    expect(tile(page, "weights")).to_have_text(f"{100 * D_IN:,}")
    assert ImageChops.difference(before, pixels(page)).getbbox() is None


def test_rows_and_precision_change_at_once_and_weight_bytes_stay(go: Go) -> None:
    page = opened(go, "?columns=352")
    expect(tile(page, "bytes")).to_have_text("90,112 B")
    for name, rows in (("verify 5", 5), ("batch 8", 8), ("prefill 64", 64), ("decode 1", 1)):
        stage(page).get_by_role("button", name=name).click()
        expect(tile(page, "flops")).to_have_text(f"{2 * rows * D_IN * D_OUT:,}")
        expect(tile(page, "bytes")).to_have_text("90,112 B")
        expect(step_of(page)).to_have_value("352")
    stage(page).get_by_label("Precision of the weights").select_option("int4")
    expect(tile(page, "bytes")).to_have_text("25,344 B")
    expect(tile(page, "ratio")).to_have_text("3.56")
    expect(stage(page).locator(".onr-ideal")).to_have_text("ideal 4")
    expect(page.locator(".onr-finding").first).to_contain_text("3.56 FLOP per byte is left of")


def test_quick_changes_there_and_back_lose_neither_the_last_nor_the_connection(go: Go) -> None:
    page = opened(go, "?columns=352")
    precision = stage(page).get_by_label("Precision of the weights")
    for name in ("int4", "int8", "float32") * 4:
        precision.select_option(name)
    stage(page).get_by_role("button", name="batch 8").click()
    expect(tile(page, "bytes")).to_have_text("180,224 B")
    expect(page.locator(".onr-finding").first).to_contain_text("4.00 FLOP per byte is left of")
    for matrix in ("k", "q", "v", "k", "q", "k"):
        stage(page).get_by_label("Matrix").select_option(matrix)
    expect(stage(page).locator(".onr-counter")).to_have_text("0 / 64")
    expect(page).to_have_url(re.compile("matrix=k"))


def test_rows_that_cannot_be_leave_the_last_picture(go: Go) -> None:
    page = opened(go, "?columns=10&rows=8")
    flops = f"{2 * 8 * D_IN * 10:,}"
    expect(tile(page, "flops")).to_have_text(flops)
    box = stage(page).get_by_label("Number of rows, R")
    for bad in ("0", "-1", "nan", "1e40", "many", "513"):
        box.fill(bad)
        box.press("Enter")
        expect(stage(page).get_by_role("alert")).to_have_text(
            "Rows must be a whole number from 1 to 512; the last picture stays."
        )
        expect(tile(page, "flops")).to_have_text(flops)
    box.fill("512")
    box.press("Enter")
    expect(stage(page).get_by_role("alert")).to_be_hidden()
    expect(tile(page, "flops")).to_have_text(f"{2 * 512 * D_IN * 10:,}")


def test_a_group_that_cannot_be_is_said_in_the_heading(go: Go) -> None:
    page = opened(go, "?weights=int4&columns=352")
    box = stage(page).get_by_label("Group size of int4: weights that share a scale")
    box.fill("48")
    box.press("Enter")
    expect(page.locator(".onr-status")).to_contain_text("Group size must be 1, 2, 4, 8, 16, 32")
    expect(tile(page, "bytes")).to_have_text("25,344 B")
    box.fill("16")
    box.press("Enter")
    expect(tile(page, "bytes")).to_have_text("28,160 B")
    expect(page.locator(".onr-status")).to_have_text("")


def test_another_matrix_starts_with_its_first_column(go: Go) -> None:
    page = opened(go, "?columns=50")
    stage(page).get_by_label("Matrix").select_option("lm_head")
    expect(stage(page).locator(".onr-counter")).to_have_text("0 / 1024")
    expect(stage(page).get_by_label("Layer")).to_be_hidden()
    page.keyboard.press("End")
    expect(tile(page, "bytes")).to_have_text("262,144 B")


def test_arrow_keys_read_single_weights(go: Go) -> None:
    page = opened(go)
    picture = stage(page).locator(".onr-sweep-picture")
    picture.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    told = stage(page).locator("[data-onr=cell]")
    expect(told).to_have_text(re.compile(r"^row 1, column 1, w = .*, x = .*, x · w = "))
    expect(step_of(page)).to_have_value("0")
    text = told.inner_text().replace("−", "-")
    w, x, product = (float(found) for found in re.findall(r"= (-?[\d.]+)(?:,|$)", text))
    assert product == pytest.approx(w * x, abs=2e-4)  # each shown with four decimals


def test_it_plays_to_the_end_and_pauses_there(go: Go) -> None:
    page = go("weight_sweep?matrix=k&columns=40")
    stage(page).get_by_label("Speed").select_option("4")
    stage(page).get_by_role("button", name="Play").click()
    expect(step_of(page)).to_have_value("64", timeout=15_000)
    expect(stage(page).get_by_role("button", name="Play")).to_be_visible()
    expect(tile(page, "weights")).to_have_text("8,192")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1440, 900), (390, 844)])
def test_nothing_is_wider_than_the_window(go: Go, width: int, height: int) -> None:
    page = opened(go, "?weights=int4&rows=512&columns=352&matrix=lm_head")
    page.set_viewport_size({"width": width, "height": height})
    expect(tile(page, "flops")).to_be_visible()
    page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")
    if width > 1000:
        bottom = stage(page).locator(".onr-caption").bounding_box()
        assert bottom is not None
        assert bottom["y"] + bottom["height"] <= height
