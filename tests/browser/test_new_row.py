"""One new row in a real browser: a step changes exactly one row, by button, key and clock."""

from __future__ import annotations

import io
import itertools
import re

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Page, expect

from .conftest import Go
from .stage import caption, next_button, picture, run_prompt, stage, step_of, wait_live

SHORT = "Tom has a red ball. Mia has"


def canvas_pixels(page: Page) -> Image.Image:
    """The picture's pixels, once the frame that was asked for has been painted."""
    page.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
    return Image.open(io.BytesIO(picture(page).screenshot())).convert("RGB")


def changed(before: Image.Image, after: Image.Image) -> tuple[int, int, int, int] | None:
    """The box of what differs by more than the rounding of a compositor: 2 levels of 255."""
    difference = ImageChops.difference(before, after).point(lambda level: 255 * (level > 2))
    box: tuple[int, int, int, int] | None = difference.getbbox()
    return box


def test_a_step_says_what_happened(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    run_prompt(page, SHORT)
    expect(caption(page)).to_have_text(re.compile(r"^Prefill: all \d+ prompt tokens at once"))
    next_button(page).click()
    expect(caption(page)).to_have_text(re.compile(r"^Token \d+ “.+” asks \d+ keys"))
    assert caption(page).get_attribute("aria-live") == "polite"
    shapes = stage(page).locator(".onr-shapes")
    expect(shapes).to_contain_text("(1, 32)")


@pytest.mark.parametrize("key_pair", [("ArrowRight", "ArrowLeft"), ("PageDown", "PageUp")])
def test_a_step_changes_exactly_one_row_and_back_restores_it(
    key_pair: tuple[str, str], go: Go
) -> None:
    forward, back = key_pair
    tab = go("new_row")
    tab.emulate_media(reduced_motion="reduce")  # whole steps: no frame in between
    wait_live(tab)
    run_prompt(tab, SHORT)
    frames = []
    for step in ("1", "2", "3"):
        tab.keyboard.press(forward)
        expect(step_of(tab)).to_have_value(step)
        frames.append(canvas_pixels(tab))
    one, two = (changed(grid(a), grid(b)) for a, b in itertools.pairwise(frames))
    assert one is not None
    assert two is not None
    # Each step moves on by one row, and touches two: the new one, and the one the blue leaves.
    row_height = two[1] - one[1]
    assert row_height > 0
    for box in (one, two):
        assert box[3] - box[1] <= 2 * row_height + 8  # 8: the frame around the newest row
    for step in ("2", "1"):
        tab.keyboard.press(back)
        expect(step_of(tab)).to_have_value(step)
        assert changed(canvas_pixels(tab), frames[int(step) - 1]) is None


def grid(image: Image.Image) -> Image.Image:
    """The part of the picture below the column labels and left of the legend."""
    return image.crop((90, 80, int(image.width * 0.6), image.height))


def test_twenty_fast_presses_are_twenty_steps(go: Go) -> None:
    page = go("new_row?temperature=1&seed=11&prompt=Once%20upon%20a%20time")
    wait_live(page)
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    expect(step_of(page)).to_have_value("20")
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    expect(step_of(page)).to_have_value("0")


def test_keys_typed_in_the_prompt_do_not_step(go: Go) -> None:
    page = go("new_row")
    stage(page)
    page.get_by_role("textbox", name="Prompt").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.type("  ")
    expect(step_of(page)).to_have_value("0")


def test_space_plays_and_pauses(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    play = stage(page).locator("[data-act=play]")
    page.keyboard.press("Space")
    expect(play).to_have_attribute("aria-pressed", "true")
    expect(step_of(page)).not_to_have_value("0")
    page.keyboard.press("Space")
    expect(play).to_have_attribute("aria-pressed", "false")


def test_a_new_prompt_while_playing_starts_at_its_prefill(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    stage(page).locator("[data-act=play]").click()
    expect(step_of(page)).not_to_have_value("0")
    run_prompt(page, SHORT)
    expect(step_of(page)).to_have_value("0")
    expect(stage(page).locator("[data-act=play]")).to_have_attribute("aria-pressed", "false")
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_the_limit_of_steps_ends_the_play_with_a_sentence(go: Go) -> None:
    page = go("new_row?steps=3&prompt=Once%20upon%20a%20time")
    wait_live(page)
    page.keyboard.press("End")
    expect(step_of(page)).to_have_value("3")
    page.keyboard.press("ArrowRight")
    expect(stage(page)).to_contain_text("3 decode steps")
    expect(step_of(page)).to_have_value("3")


def test_steps_come_before_they_run_out(go: Go) -> None:
    page = go("new_row?temperature=1&seed=4&prompt=Once%20upon%20a%20time")
    wait_live(page)
    most = int(step_of(page).get_attribute("max") or 0)
    page.keyboard.press("End")
    expect(step_of(page)).not_to_have_attribute("max", str(most))
    expect(step_of(page)).to_have_value(str(most))


def test_reduced_motion_moves_in_whole_steps(go: Go) -> None:
    page = go("new_row")
    page.emulate_media(reduced_motion="reduce")
    wait_live(page)
    next_button(page).click()
    at_once = canvas_pixels(page)
    expect(caption(page)).to_have_text(re.compile("^Token"))
    assert changed(at_once, canvas_pixels(page)) is None


def test_the_proof_is_green_and_names_its_numbers(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    proof = stage(page).locator("[data-onr=proof]")
    expect(proof).to_contain_text("Same as without a cache")
    expect(proof).to_contain_text("max |Δlogit|")
    expect(proof).not_to_contain_text("Not the same")


def test_picking_a_head_keeps_the_step_and_reaches_the_address(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    next_button(page).click()
    stage(page).get_by_role("button", name=re.compile("^Layer 0, head 1")).click()
    expect(page).to_have_url(re.compile("layer=0"))
    expect(page).to_have_url(re.compile("head=1"))
    expect(step_of(page)).to_have_value("1")
    expect(page.get_by_role("combobox", name=re.compile("Head"))).to_have_value(
        re.compile("Head 1")
    )


def test_a_head_switched_off_shows_two_runs(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    page.get_by_text("Switch this head off").click()
    expect(stage(page).locator(".onr-pinned canvas >> visible=true")).not_to_have_count(1)
    expect(page.get_by_text(re.compile("^Without layer")).first).to_be_visible()


def test_the_cache_is_seen_as_growing_matrices(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    stage(page).get_by_role("button", name="K, V cache").click()
    expect(stage(page)).to_contain_text("The cache holds K and V, not these rows")
    next_button(page).click()
    expect(step_of(page)).to_have_value("1")


def test_another_layer_keeps_the_head(go: Go) -> None:
    page = go("new_row?layer=1&head=3")
    wait_live(page)
    page.get_by_role("combobox", name="Layer").click()
    page.get_by_role("option", name="Layer 2").click()
    shown = stage(page).locator(".onr-head[aria-pressed=true]")
    expect(shown).to_have_attribute("aria-label", re.compile("^Layer 2, head 3"))
    expect(page.get_by_role("combobox", name="Head")).to_have_value("Head 3")


def test_the_shapes_of_a_long_prefill_are_not_cut(go: Go) -> None:
    page = go("new_row?prompt=" + "Lily%20had%20a%20ball.%20" * 60)
    shapes = stage(page).locator(".onr-shapes")
    expect(shapes).to_contain_text("(239, 239)")
    assert shapes.evaluate("e => e.scrollWidth <= e.clientWidth")
