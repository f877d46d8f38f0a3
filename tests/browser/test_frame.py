"""The frame in a real browser: deep links, addresses, themes, widths, hostile text."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import BrowserContext, expect

from pages.ui.registry import PAGES

from .conftest import Go, Server, settled, watching
from .stage import next_button, prompt_box, run_prompt, stage, step_of, wait_live

HOSTILE = 'x<b>y</b> "q" onmouseover="z" <script>w()</script> $5 and $7 *i* ~~s~~ :red[r] # h &amp;'


def test_first_deep_link_after_a_start_shows_the_page_inside_the_frame(
    context: BrowserContext, new_server: Server
) -> None:
    with watching(context) as open_tab:
        page = open_tab(f"{new_server.url}/new_row?layer=0&head=1&step=3")
        expect(
            page.get_by_role("heading", name="Why does one new token mean one new row?")
        ).to_be_visible()
        expect(page.get_by_role("link", name="Start", exact=True)).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_text("Page not found")).to_have_count(0)
        expect(page).to_have_title("One new row · One New Row")
        stage(page)
        expect(step_of(page)).to_have_value("3")


@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_page_opens_by_its_address_with_heading_and_picture_on_one_screen(
    path: str, go: Go
) -> None:
    page = go(path.lstrip("/"))
    question = next(p.question for p in PAGES if p.path == path)
    heading = page.get_by_role("heading", name=question)
    expect(heading).to_be_visible()
    expect(heading).to_be_in_viewport()
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_start_leads_into_every_page(go: Go) -> None:
    page = go()
    for target in PAGES[1:]:
        chapters = page.locator(".st-key-onr_chapters")
        chapters.get_by_role("link", name=f"{target.title} →").click()
        expect(page.get_by_role("heading", name=target.question)).to_be_visible()
        expect(page).to_have_url(re.compile(re.escape(target.path)))
        page.get_by_role("link", name="Start", exact=True).click()
        expect(page.get_by_role("heading", name=PAGES[0].question)).to_be_visible()


def test_a_link_restores_prompt_seed_step_layer_and_head(go: Go) -> None:
    prompt = "Mia has a blue kite."
    query = f"prompt={quote(prompt)}&seed=7&temperature=0.7&layer=3&head=1&step=4"
    page = go(f"new_row?{query}")
    stage(page)
    expect(prompt_box(page)).to_have_value(prompt)
    expect(step_of(page)).to_have_value("4")
    expect(page.locator(".onr-head[aria-pressed=true]")).to_have_attribute(
        "aria-label", re.compile("Layer 3, head 1")
    )
    page.get_by_role("button", name="Sampling: T 0.7").click()
    expect(page.get_by_label("Seed")).to_have_value("7")


def test_the_address_follows_and_back_does_not_lose_settings(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    run_prompt(page, "Tom has a red ball.")
    next_button(page).click()
    next_button(page).click()
    expect(page).to_have_url(re.compile("step=2"))
    assert parse_qs(urlsplit(page.url).query)["prompt"] == ["Tom has a red ball."]
    page.get_by_role("link", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name=PAGES[0].question)).to_be_visible()
    expect(prompt_box(page)).to_have_value("Tom has a red ball.")
    page.go_back()
    expect(page.get_by_role("heading", name=PAGES[1].question)).to_be_visible()
    expect(prompt_box(page)).to_have_value("Tom has a red ball.")
    expect(step_of(page)).to_have_value("2")


def test_the_same_address_in_another_tab_shows_the_same(go: Go) -> None:
    one = go("new_row?layer=2")
    wait_live(one)
    run_prompt(one, "Ben has a green hat.")
    next_button(one).click()
    expect(one).to_have_url(re.compile("step=1"))
    two = go(one.url.split("/", 3)[3])
    stage(two)
    expect(prompt_box(two)).to_have_value("Ben has a green hat.")
    expect(step_of(two)).to_have_value("1")
    run_prompt(two, "Mia found a stone.")
    expect(stage(one).locator("[data-onr=text]")).to_contain_text("Ben has a green hat.")


def test_nonsense_in_the_address_is_named(go: Go) -> None:
    page = go("new_row?layer=9&seed=-1&step=abc&top_p=nan")
    notes = page.get_by_label("Notes")
    for name in ("layer = “9”", "seed = “-1”", "step = “abc”", "top_p = “nan”"):
        expect(notes).to_contain_text(name)
    expect(page.get_by_role("status").filter(has_text="was dropped").first).to_be_in_viewport()


def test_ui_06_click_with_the_cursor_still_in_the_box(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    box = prompt_box(page)
    box.fill("Tom has a")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(stage(page).locator("[data-onr=text]")).to_contain_text("Tom has a")
    for prompt in ("ab", "abc", "abcd", "abcde"):
        run_prompt(page, prompt)
        expect(box).to_have_value(prompt)


def test_text_being_typed_survives_a_step(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    prompt_box(page).fill("half a sente")
    next_button(page).click()
    expect(page).to_have_url(re.compile("step=1"))
    expect(prompt_box(page)).to_have_value("half a sente")


def test_a_double_click_on_run_is_one_run(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    prompt_box(page).fill("Mia has a blue kite.")
    page.get_by_role("button", name="Run", exact=True).dblclick()
    expect(stage(page).locator("[data-onr=text]")).to_contain_text("Mia has a blue kite.")
    settled(page)
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_an_empty_prompt_keeps_the_picture_where_it_is(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    before = stage(page).bounding_box()
    prompt_box(page).fill("")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(
        page.get_by_role("status").filter(has_text="at least one character").first
    ).to_be_visible()
    assert stage(page).bounding_box() == before
    expect(stage(page).locator("[data-onr=text]")).to_contain_text("Zolimo")


def test_tk_02_a_hostile_prompt_is_shown_literally(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    run_prompt(page, HOSTILE)
    expect(prompt_box(page)).to_have_value(HOSTILE)
    page.locator("summary", has_text="Take it away").click()
    settled(page)
    for selector in ("b", "script", ".katex", "del", "em", "[onmouseover]"):
        found = page.locator(
            f"[data-testid=stMain] {selector}", has_text=re.compile("^(y|w\\(\\)|i|s|q)$")
        )
        expect(found).to_have_count(0)


def test_an_emoji_and_right_to_left_text_run(go: Go) -> None:
    page = go("new_row")
    wait_live(page)
    for prompt in ("A🤗é B", "שלום עולם", "e\u0301 \u202eabc"):
        prompt_box(page).fill(prompt)
        page.get_by_role("button", name="Run", exact=True).click()
        expect(stage(page).locator("[data-onr=text]")).to_contain_text(prompt[:1])
        settled(page)
    expect(stage(page).locator("[data-onr=text]")).to_contain_text("⟨U+202E⟩")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system(scheme: str, context: BrowserContext, go: Go) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.close()
    page = go("new_row")
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    host = stage(page)
    ground = "rgb(255, 255, 255)" if scheme == "light" else "rgb(16, 20, 24)"
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", ground)
    expect(host).to_have_class(re.compile(f"onr-{scheme}"))


@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_a_phone_has_no_sideways_scroll(path: str, go: Go) -> None:
    page = go(path.lstrip("/"))
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    page.wait_for_function(
        "() => { const m = document.querySelector('[data-testid=stMain]');"
        " return m.scrollWidth <= m.clientWidth && document.body.scrollWidth <= innerWidth }"
    )


def test_lecture_mode_folds_controls_and_enlarges_type(go: Go) -> None:
    page = go("new_row?lecture=1")
    host = stage(page)
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_hidden()
    size = host.locator(".onr-caption").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert size >= 20
    next_button(page).click()
    expect(page).to_have_url(re.compile("lecture=1"))


def test_the_key_l_switches_lecture_mode_and_keeps_the_step(go: Go) -> None:
    page = go("new_row?step=3")
    wait_live(page)
    run = page.get_by_role("button", name="Run", exact=True)
    page.keyboard.press("l")
    expect(page).to_have_url(re.compile("lecture=1"))
    expect(run).to_be_hidden()
    expect(step_of(page)).to_have_value("3")
    page.keyboard.press("l")
    expect(run).to_be_visible()
    prompt_box(page).focus()
    page.keyboard.type("ll")
    page.keyboard.press("Tab")
    settled(page)
    expect(run).to_be_visible()
    expect(page).not_to_have_url(re.compile("lecture=1"))


@pytest.mark.parametrize("query", ["step=8", "step=8&lecture=1"])
def test_the_newest_token_is_seen_on_a_small_projector(query: str, go: Go) -> None:
    page = go(f"new_row?{query}")
    wait_live(page)
    page.wait_for_function(WORD_INSIDE)


WORD_INSIDE = """() => {
  const stage = [...document.querySelectorAll("*")].map((e) => e.shadowRoot)
    .find((root) => root?.querySelector("[data-onr=text]")) ?? document
  const text = stage.querySelector("[data-onr=text]").getBoundingClientRect()
  const panel = stage.querySelector(".onr-panel").getBoundingClientRect()
  const word = stage.querySelector(".onr-new-text").getBoundingClientRect()
  return word.top >= text.top && word.bottom <= Math.min(text.bottom, panel.bottom) + 1
}"""


def test_a_lost_server_comes_back_to_the_same_state(
    context: BrowserContext, new_server: Server
) -> None:
    with watching(context) as open_tab:
        page = open_tab(f"{new_server.url}/new_row?prompt=Tom%20has%20a%20red%20ball.&layer=0")
        next_button(page).click()
        expect(page).to_have_url(re.compile("step=1"))
        new_server.stop()
        with page.expect_websocket(timeout=60_000):  # the browser tries again by itself
            new_server.start()
        settled(page)
        expect(prompt_box(page)).to_have_value("Tom has a red ball.")
        expect(step_of(page)).to_have_value("1")
        next_button(page).click()
        expect(page).to_have_url(re.compile("layer=0.*step=2"), timeout=20_000)
