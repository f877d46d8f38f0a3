"""A run and its moving picture on a page: mounted once, fed with light view data.

Every page that steps through the session's run uses :func:`run_stage`; the picture itself is
an entry module in ``assets/js``. What the reader does inside it comes back as state, which
:func:`follow` takes over at the start of the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pages.ui import caching, components, runbar, runs, state
from pages.ui.settings import RunSettings


def present_step(slug: str, run: caching.SessionRun) -> int:
    """The step that page ``slug`` is at, within the run it shows."""
    state.begin_run(slug, run.trace)
    return min(state.step(slug), run.trace.n_steps)


def steps_needed(slug: str) -> int:
    """How many steps page ``slug`` needs: up to where it is, and up to the rows it asked for."""
    rows = state.wanted(slug)
    return max(state.step(slug), rows - state.prompt_rows(slug) if rows else 0)


def follow(slug: str) -> None:
    """Take over what the reader did in the picture; call it before anything is drawn.

    The browser numbers its reports, so that the same choice made twice counts twice.
    """
    seen = state.seen(slug)
    for name, take in _TAKERS.items():
        reported = components.stage_state(stage_key(slug), name)
        if reported == seen.get(name):
            continue
        seen[name] = reported
        if reported is None:
            continue  # the stage is new: it counts from the start again
        numbered = isinstance(reported, Mapping) and "n" in reported
        take(slug, reported["value"] if numbered else reported)


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
    components.stage(entry, function, components.StageView(**fields), key=key)


def stage_key(slug: str) -> str:
    """The session key under which the stage of page ``slug`` keeps its state."""
    return f"{slug}_stage"


def _take_pick(slug: str, value: Any) -> None:
    settings = state.settings()
    layer, head = value.get("layer", settings.layer), value.get("head", settings.head)
    runbar.choose_head(int(layer), int(head))


def _take_step(slug: str, value: Any) -> None:
    state.set_step(slug, max(0, int(value)))


def _take_want(slug: str, value: Any) -> None:
    state.set_wanted(slug, max(0, int(value)))


_TAKERS: dict[str, Callable[[str, Any], None]] = {
    "pick": _take_pick,
    "step": _take_step,
    "want": _take_want,
}
