"""A run and its moving picture on a page: mounted once, fed with light view data.

Every page that steps through the session's run uses :func:`run_stage`; the picture itself is
an entry module in ``assets/js``. What the reader does inside it comes back through callbacks,
which run before the page is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pages.ui import caching, components, runbar, runs, state
from pages.ui.settings import RunSettings


def present_step(slug: str, run: caching.SessionRun) -> int:
    """The step that page ``slug`` is at, within the run it shows."""
    state.begin_run(slug, run.trace)
    return min(state.step(slug), run.trace.n_steps)


def steps_needed(slug: str) -> int:
    """How many steps the run must have for page ``slug``: where it is, and what it asked for."""
    return max(state.step(slug), state.wanted(slug))


def run_stage(
    entry: str,
    function: str,
    slug: str,
    run: caching.SessionRun,
    settings: RunSettings,
    **view: Any,
) -> None:
    """Send the run to the browser and mount a stage of page ``slug`` over it.

    ``view`` overrides fields of :class:`components.StageView`. The proof has a carrier of its
    own, which the page fills afterwards, so that the picture paints first.
    """
    runs.carry(run)
    key = stage_key(slug)
    fields = {
        "run": run.key,
        "step": present_step(slug, run),
        "layer": settings.layer,
        "head": settings.head,
        "lecture": state.lecture(),
        **{name: components.stage_state(key, name) for name in ("view", "scale", "mask")},
        **view,
    }
    listeners = {name: _listener(slug, name, run.trace.n_prompt) for name in _TAKERS}
    components.stage(entry, function, components.StageView(**fields), key=key, listeners=listeners)


def stage_key(slug: str) -> str:
    """The session key under which the stage of page ``slug`` keeps its state."""
    return f"{slug}_stage"


def _listener(slug: str, name: str, n_prompt: int) -> Callable[[], None]:
    def listen() -> None:
        value = components.stage_state(stage_key(slug), name)
        if value is not None:
            _TAKERS[name](slug, value, n_prompt)

    return listen


def _take_pick(slug: str, value: Any, n_prompt: int) -> None:
    settings = state.settings()
    layer, head = value.get("layer", settings.layer), value.get("head", settings.head)
    runbar.choose_head(int(layer), int(head))


def _take_step(slug: str, value: Any, n_prompt: int) -> None:
    state.set_step(slug, max(0, int(value)))


def _take_want(slug: str, n_rows: Any, n_prompt: int) -> None:
    state.set_wanted(slug, max(0, int(n_rows) - n_prompt))


_TAKERS = {"pick": _take_pick, "step": _take_step, "want": _take_want}
