"""Sliders of the planning pages against an empty fragment: from the browser's send to the paint."""

from __future__ import annotations

import statistics

from playwright.sync_api import Browser

from benchmarks.app_browser import EmptyFragment, Tab, chromium, served
from benchmarks.figures import Figure, interleaved_s, median_ratio
from core.cost.catalog import find_accelerator, find_model
from core.cost.planner import PlanRequest, plan

TITLE = "Planner: slider to paint, beside an empty fragment"
ROUNDS = 15
WARM_UPS = 4
PAINTED = ("[data-painted]", "data-painted")


def measure() -> list[Figure]:
    """Step each slider and the empty one in turn; report medians and their ratio."""
    with served() as app, served(EmptyFragment.SCRIPT) as floor, chromium() as browser:
        figures = _sliders(browser, app.url, floor.url)
    return [*figures, _plan_time()]


def _sliders(browser: Browser, app: str, floor: str) -> list[Figure]:
    empty = EmptyFragment(browser, floor)
    tabs = {name: Tab(browser, f"{app}/{name}", *PAINTED) for name in ("planner", "cache_growth")}
    ways = {f"{name}, {size}": (tabs[name], size) for name in tabs for size in ("context", "batch")}
    times: dict[str, list[float]] = {name: [] for name in ("empty fragment", *ways)}
    for turn in range(ROUNDS + WARM_UPS):
        found = {"empty fragment": empty.step()}
        for name, (tab, size) in ways.items():
            found[name] = tab.step(f"[data-size={size}]", forward=turn % 2 == 0)
        if turn >= WARM_UPS:
            for name, value in found.items():
                times[name].append(value)
    base = times.pop("empty fragment")
    figures = [Figure("empty fragment, send to paint", statistics.median(base), "ms")]
    for name, values in times.items():
        figures.append(Figure(f"{name}, send to paint", statistics.median(values), "ms"))
        ratio = median_ratio(values, base)
        figures.append(Figure(f"{name}, of the empty fragment", ratio, "times", at_most=2.0))
    return figures


def _plan_time() -> Figure:
    model, machine = find_model("Llama 3.1 8B"), find_accelerator("H100 SXM 80GB")
    times = interleaved_s({"plan": lambda: plan(PlanRequest(model, 8192, 4, machine))}, rounds=50)
    return Figure("one plan in Python", 1e3 * statistics.median(times["plan"]), "ms")
