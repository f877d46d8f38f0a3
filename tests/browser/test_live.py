"""Live latency in a real browser: start, watch it move, cancel, leave, come back; nothing leaks."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from .conftest import Server, settled, watching

PATIENCE_MS = 60_000
MB_64 = "64000000"
AT_REST = re.compile("idle|done")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose probe is small and alone on one thread: a measurement takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONE_NEW_ROW_MEASURE_MAX_PROBE_BYTES", MB_64)
        patch.setenv("ONE_NEW_ROW_MEASURE_THREADS", "1")
        server = Server(tmp_path_factory.mktemp("live") / "server.log")
        server.start()
    yield server
    server.stop()


@pytest.fixture
def open_live(context: BrowserContext, host: Server) -> Iterator[Callable[[], Page]]:
    """Open the page in a new tab; its script errors and foreign requests fail the test."""
    with watching(context) as open_tab:
        yield lambda: open_tab(f"{host.url}/live")


def live(page: Page) -> Locator:
    """The stage of the measurement."""
    return page.locator(".st-key-live_stage [data-onr=stage]")


def choose(page: Page, name: str, option: str) -> None:
    """Pick an option of a choice in the row above the picture."""
    page.get_by_role("combobox", name=name).click()
    page.get_by_role("option", name=option, exact=True).click()
    settled(page)


def small(page: Page, steps: str) -> None:
    """The shipped model and that many steps: quick anywhere."""
    choose(page, "Weights", "Shipped model")
    page.locator(".st-key-onr_live_more button").click()
    choose(page, "Steps", steps)
    page.keyboard.press("Escape")


def measure(page: Page) -> None:
    page.get_by_role("button", name="Measure", exact=True).click()


def wait_for_steps(page: Page) -> None:
    """Until steps are timed and drawn."""
    expect(live(page)).to_have_attribute("data-state", "running", timeout=PATIENCE_MS)
    expect(live(page)).to_have_attribute("data-painted", re.compile("[1-9]"), timeout=PATIENCE_MS)


def test_start_watch_it_move_cancel_leave_and_come_back(open_live: Callable[[], Page]) -> None:
    page = open_live()
    small(page, "16,384 steps")
    measure(page)
    wait_for_steps(page)
    first = int(live(page).get_attribute("data-painted") or 0)
    expect(live(page)).not_to_have_attribute("data-painted", str(first), timeout=PATIENCE_MS)
    expect(live(page).locator("[data-onr=itl]")).to_have_text(re.compile(r"\d"))
    expect(live(page).locator("[data-onr=queue]")).to_contain_text("You are measuring")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(live(page)).to_have_attribute("data-state", AT_REST, timeout=PATIENCE_MS)
    small(page, "64 steps")
    measure(page)
    expect(live(page)).to_have_attribute("data-state", "done", timeout=PATIENCE_MS)
    figure = live(page).locator("[data-onr=itl]").inner_text()
    page.get_by_role("link", name="Start", exact=True).click()
    settled(page)
    page.get_by_role("link", name="Live", exact=True).click()
    expect(live(page).locator("[data-onr=itl]")).to_have_text(figure)
    expect(page.get_by_role("combobox", name="Weights")).to_have_value("Shipped model")


def test_ui_05_leaving_the_page_ends_what_nobody_watches(
    open_live: Callable[[], Page], host: Server
) -> None:
    page = open_live()
    small(page, "16,384 steps")
    measure(page)
    wait_for_steps(page)
    assert measuring(host) == 1
    page.get_by_role("link", name="Start", exact=True).click()
    settled(page)
    until(lambda: measuring(host) == 0)
    page.get_by_role("link", name="Live", exact=True).click()
    expect(live(page)).to_have_attribute("data-state", AT_REST)
    expect(page.get_by_role("combobox", name="Weights")).to_have_value("Shipped model")


def test_ui_05_switched_off_it_stays_still_and_the_console_clean(
    open_live: Callable[[], Page], host: Server
) -> None:
    page = open_live()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    small(page, "16,384 steps")
    measure(page)
    wait_for_steps(page)
    page.get_by_text("Follow live").click()
    settled(page)
    ticks = page.evaluate(
        "() => new Promise((resolve) => { let n = 0;"
        " addEventListener('onr:store', () => n++); setTimeout(() => resolve(n), 3000) })"
    )
    assert ticks <= 1
    assert not [text for text in said if "delta path" in text.lower()]
    expect(page.locator("[data-testid=stException]")).to_have_count(0)
    until(lambda: measuring(host) == 0)


def test_ui_05_five_reloads_and_a_closed_tab_leak_nothing(
    open_live: Callable[[], Page], host: Server
) -> None:
    page = open_live()
    expect(page.locator("[data-onr=device]")).not_to_contain_text("looking", timeout=PATIENCE_MS)
    before = threads(host)
    for _ in range(5):
        page.reload()
        settled(page)
        measure(page)
        expect(live(page)).to_have_attribute("data-state", "running", timeout=PATIENCE_MS)
    page.close()
    until(lambda: measuring(host) == 0)
    until(lambda: threads(host) <= before + 1)


def measured(open_live: Callable[[], Page]) -> Page:
    """The page with a result on screen: the one this server has, or a quick one made now."""
    page = open_live()
    if live(page).get_attribute("data-state") != "done":
        small(page, "16 steps")
        measure(page)
    expect(live(page)).to_have_attribute("data-state", "done", timeout=PATIENCE_MS)
    return page


def open_section(page: Page, name: str) -> None:
    """Choose what is shown below the picture."""
    page.locator(".st-key-live_section").get_by_text(name, exact=True).click()
    settled(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_section_opens_without_an_error(scheme: str, open_live: Callable[[], Page]) -> None:
    page = measured(open_live)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for name in ("Sweeps", "One step", "Published", "Other tools", "Conditions", "Take it away"):
        open_section(page, name)
        expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_the_text_streams_at_every_pace(open_live: Callable[[], Page]) -> None:
    page = measured(open_live)
    open_section(page, "Feel it")
    lanes = page.locator(".onr-feel-lane")
    expect(lanes).to_have_count(6)
    page.get_by_role("button", name="Play ▶").click()
    expect(lanes.last.locator(".onr-feel-text")).to_contain_text("Every word you see")
    expect(lanes.first).to_contain_text("faster than reading")


def measuring(server: Server) -> int:
    """Measuring processes that this server has started and that still run."""
    found = 0
    for task in Path(f"/proc/{pid(server)}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
            lines = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
        except OSError:
            continue  # a thread or a process that has just ended
        found += sum(b"core.machine.worker_main" in line for line in lines)
    return found


def threads(server: Server) -> int:
    """Threads of the server."""
    return len(list(Path(f"/proc/{pid(server)}/task").iterdir()))


def pid(server: Server) -> int:
    process = server._process
    assert isinstance(process, subprocess.Popen)
    return process.pid


def until(done: object, patience_s: float = 60.0) -> None:
    """Look again until it is so."""
    pause = threading.Event()
    for _ in range(int(patience_s / 0.2)):
        if done():  # type: ignore[operator]
            return
        pause.wait(0.2)
    raise AssertionError("it never happened")
