"""The stage of One new row in a browser: steps, frames, a new run, bytes sent, memory held."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from urllib.parse import urlencode

import torch
from playwright.sync_api import Browser, Page, expect

from benchmarks.app_browser import (
    VIEWPORT,
    WATCH,
    EmptyFragment,
    Server,
    chromium,
    served,
    settled,
)
from benchmarks.figures import Figure, median_ratio
from core.decode.settings import SamplingSettings
from core.decode.trace import Run
from core.decode.trace_file import DEFAULT_STEPS
from core.model.checkpoint import LoadedModel, load_model

TITLE = "The stage: steps, frames, a new run, bytes and memory"
SIZES = (8, 64, 256)
FRAME_MS = 17.0
LEAST_FPS = {64: 50.0, 256: 30.0}
MOST_BYTES = {64: 400e3, 256: 5e6}
STEP_ROUNDS = 15
RUN_ROUNDS = 10
WARM_UPS = 2
PLAY_MS = 5000
SESSIONS = 8
STORY = (
    "Once upon a time, there was a little girl named Mia. She had a red ball. One day, she went "
    "to the park with Tom. Tom has a blue kite. Mia has a green hat. Ben has a yellow cup. "
)

PROBE = """
window.__draws = 0
window.__frames = 0
let seenDraws = 0
const drawn = (kind) => {
  const draw = CanvasRenderingContext2D.prototype[kind]
  CanvasRenderingContext2D.prototype[kind] = function (...args) {
    window.__draws += 1
    return draw.apply(this, args)
  }
}
for (const kind of ["clearRect", "fillRect", "drawImage", "putImageData"]) drawn(kind)
const step = () => {
  if (window.__draws !== seenDraws) window.__frames += 1
  seenDraws = window.__draws
  requestAnimationFrame(step)
}
requestAnimationFrame(step)
// Milliseconds from a key press to the animation frame after the one that painted for it;
// a key that paints nothing tells what the two frames alone take.
window.__press = (key, paints) => new Promise((resolve) => {
  const before = window.__draws
  const start = performance.now()
  const options = { key, code: key, bubbles: true, cancelable: true }
  document.body.dispatchEvent(new KeyboardEvent("keydown", options))
  const tick = () => {
    if (paints && window.__draws === before) return requestAnimationFrame(tick)
    requestAnimationFrame(() => resolve(performance.now() - start))
  }
  requestAnimationFrame(tick)
})
window.__played = (ms) => new Promise((resolve) => {
  const [start, frames] = [performance.now(), window.__frames]
  setTimeout(() => resolve(1000 * (window.__frames - frames) / (performance.now() - start)), ms)
})
"""


@dataclass(frozen=True)
class Story:
    """A run of exactly ``n_rows`` rows that the end token does not cut short."""

    prompt: str
    n_prompt: int
    n_rows: int
    seed: int

    @property
    def n_steps(self) -> int:
        """Decode steps of the run."""
        return self.n_rows - self.n_prompt

    def address(self, url: str, seed: int | None = None) -> str:
        """The page that opens at the last step of this run."""
        found = {"prompt": self.prompt, "seed": self.seed if seed is None else seed}
        found |= {"temperature": 1, "steps": self.n_steps, "step": self.n_steps}
        return f"{url}/new_row?{urlencode(found)}"


def measure() -> list[Figure]:
    """Step, play, run, count bytes and weigh sessions, each at its sizes."""
    torch.set_num_threads(1)  # as the app serves; more threads wait for each other on a busy host
    model = load_model()
    most = model.config.max_seq_len - 1  # the last token that fits is chosen, not processed
    stories = {size: story_of(model, min(size, most)) for size in SIZES}
    figures: list[Figure] = []
    with served() as app, served(EmptyFragment.SCRIPT) as floor, chromium() as browser:
        _opened_counting(browser, stories[8].address(app.url))[0].close()  # the model is there
        for size, story in stories.items():
            page, n_bytes = _opened_counting(browser, story.address(app.url))
            if size in MOST_BYTES:
                name = f"sent to the browser, {size} tokens, whole page"
                figures.append(Figure(name, n_bytes / 1e3, "kB", at_most=MOST_BYTES[size] / 1e3))
            figures += _steps(page, size)
            if size in LEAST_FPS:
                figures.append(_playing(page, size))
            page.close()
        figures += _new_run(browser, app, floor, model)
        figures.append(_memory(browser, app, stories[64]))
    return figures


def story_of(model: LoadedModel, n_rows: int) -> Story:
    """Find a prompt and a seed whose run has ``n_rows`` rows, half of them decoded, at most 24.

    Raises: RuntimeError if no seed of 200 goes on for so long
    """
    n_prompt = n_rows - min(24, n_rows // 2)
    text = STORY * 8
    near = len(model.tokenizer.decode(model.tokenizer.encode(text)[: n_prompt - 1]))
    ends = (near + shift for shift in (0, 1, -1, 2, -2, 3, -3, 4, -4))
    prompt = next(text[:end] for end in ends if _n_tokens(model, text[:end]) == n_prompt)
    for seed in range(200):
        run = Run(model, prompt, SamplingSettings(temperature=1.0, seed=seed), room=DEFAULT_STEPS)
        if run.extend(n_rows - n_prompt).n_rows == n_rows:
            return Story(prompt, n_prompt, n_rows, seed)
    raise RuntimeError(f"no seed below 200 gives {n_rows} rows")


def _n_tokens(model: LoadedModel, prompt: str) -> int:
    return len(model.tokenizer.encode_prompt(prompt, model.config.max_seq_len - 1).ids)


def _opened_counting(browser: Browser, address: str) -> tuple[Page, int]:
    """Open a run, wait for its picture and its proof; return the bytes its socket brought."""
    sizes: list[int] = []
    page = browser.new_page(viewport=VIEWPORT)
    page.add_init_script(WATCH)
    page.add_init_script(PROBE)

    def received(payload: str | bytes) -> None:
        sizes.append(len(payload if isinstance(payload, bytes) else payload.encode()))

    page.on("websocket", lambda socket: socket.on("framereceived", received))
    page.goto(address)
    settled(page)
    stage = page.locator("[data-onr=stage]")
    stage.locator("canvas").first.wait_for()
    proof = stage.locator("[data-onr=proof]")
    expect(proof).not_to_have_attribute("data-state", "checking", timeout=60_000)
    settled(page)
    return page, sum(sizes)


def _steps(page: Page, size: int) -> list[Figure]:
    """Back and forward by key, beside a key that paints nothing, turn by turn."""
    page.bring_to_front()
    ways = {"two frames alone": ("F9", False)}
    ways |= {"back": ("ArrowLeft", True), "forward": ("ArrowRight", True)}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(STEP_ROUNDS + WARM_UPS):
        for name, (key, paints) in ways.items():
            found = page.evaluate("([key, paints]) => window.__press(key, paints)", [key, paints])
            if turn >= WARM_UPS:
                times[name].append(found)
    alone = times["two frames alone"]
    figures = []
    for name in ("back", "forward"):
        extra = statistics.median(t - a for t, a in zip(times[name], alone, strict=True))
        note = f"{statistics.median(times[name]):.1f} ms with the harness's two frames"
        what = f"step {name} to paint, {size} tokens"
        figures.append(Figure(what, extra, "ms", at_most=FRAME_MS, note=note))
    return figures


def _playing(page: Page, size: int) -> Figure:
    """Frames that drew something, per second, while the last steps play."""
    page.bring_to_front()
    slider = page.get_by_role("slider", name="Step", exact=True)
    last = int(slider.get_attribute("max") or 0)
    page.keyboard.press("Home")
    expect(slider).to_have_value("0")
    for _ in range(last - PLAY_MS // 1000 - 1):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    rate = page.evaluate("(ms) => window.__played(ms)", PLAY_MS)
    page.keyboard.press("Space")
    return Figure(f"frames while playing, {size} tokens", rate, "fps", at_least=LEAST_FPS[size])


def _new_run(browser: Browser, app: Server, floor: Server, model: LoadedModel) -> list[Figure]:
    """From the send of a prompt to its triangle, beside an empty fragment and the model alone."""
    empty = EmptyFragment(browser, floor.url)
    page, _ = _opened_counting(browser, f"{app.url}/new_row")
    prompts = ("Tom has a red ball. Mia has", "Ben has a blue kite. Anna has")
    runs, empties, models = [], [], []
    for turn in range(RUN_ROUNDS + WARM_UPS):
        prompt = prompts[turn % 2]
        empties.append(empty.step())
        start = time.perf_counter()
        Run(model, prompt, room=DEFAULT_STEPS).extend(DEFAULT_STEPS)
        models.append(1e3 * (time.perf_counter() - start))
        runs.append(_submitted(page, prompt))
    runs, empties, models = (found[WARM_UPS:] for found in (runs, empties, models))
    ratio = median_ratio(runs, [e + m for e, m in zip(empties, models, strict=True)])
    return [
        Figure("empty fragment, send to paint", statistics.median(empties), "ms"),
        Figure(f"prefill and {DEFAULT_STEPS} steps, model alone", statistics.median(models), "ms"),
        Figure("new run, send to its triangle", statistics.median(runs), "ms"),
        Figure("new run, of empty fragment + model", ratio, "times", at_most=2.0),
    ]


def _submitted(page: Page, prompt: str) -> float:
    """Run a prompt; return milliseconds from the send to the painted triangle."""
    page.bring_to_front()
    before = page.evaluate("() => window.__seen('[data-onr=text]', null)")
    page.get_by_role("textbox", name="Prompt").fill(prompt)
    page.get_by_role("button", name="Run", exact=True).click()
    arg = ["[data-onr=text]", None, before]
    found: float = page.evaluate("([s, a, b]) => window.__changed(s, a, b)", arg)
    proof = page.locator("[data-onr=stage] [data-onr=proof]")
    expect(proof).not_to_have_attribute("data-state", "checking", timeout=60_000)
    settled(page)
    return found


def _memory(browser: Browser, app: Server, story: Story) -> Figure:
    """How much the server grows by a session that stays open, each with a run of its own."""
    sizes, pages = [], []
    for extra in range(SESSIONS + WARM_UPS):
        page, _ = _opened_counting(browser, story.address(app.url, seed=story.seed + extra))
        pages.append(page)
        sizes.append(app.resident_bytes())
    for page in pages:
        page.close()
    each = (sizes[-1] - sizes[WARM_UPS - 1]) / SESSIONS
    return Figure(
        f"memory per extra session, {story.n_rows} tokens", each / 1e6, "MB", at_most=3.0,
        note=f"{SESSIONS} sessions opened after {WARM_UPS}, runs of at most so many tokens",
    )  # fmt: skip
