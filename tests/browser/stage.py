"""Where things are in the stage, for all browser tests."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def stage(page: Page) -> Locator:
    """The stage, once its picture is there."""
    found = page.locator("[data-onr=stage]")
    found.locator("canvas").first.wait_for()
    return found


def next_button(page: Page) -> Locator:
    """The main button of the transport bar."""
    return stage(page).get_by_role("button", name="Process next token")


def step_of(page: Page) -> Locator:
    """The scrubber: its value is the present step."""
    return stage(page).get_by_role("slider", name="Step")


def caption(page: Page) -> Locator:
    """The live region that says what happens in this frame."""
    return stage(page).locator("[data-onr=caption]")


def picture(page: Page) -> Locator:
    """The canvas of the triangle."""
    return stage(page).locator(".onr-pinned canvas").first


def prompt_box(page: Page) -> Locator:
    """The prompt in the run bar."""
    return page.get_by_role("textbox", name="Prompt")


def wait_live(page: Page) -> None:
    """Wait until the live model has taken over from the recording: then the proof arrives."""
    expect(stage(page).locator("[data-onr=proof]")).not_to_have_attribute(
        "data-state", "checking", timeout=30_000
    )


def run_prompt(page: Page, prompt: str) -> None:
    """Type a prompt, click Run, and wait for its text in the stage."""
    prompt_box(page).fill(prompt)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(stage(page).locator("[data-onr=text]")).to_contain_text(prompt)
