"""Curves are the planner's own formulas: every point equals a plan made for that place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.cost import kv
from core.cost.catalog import find_accelerator, find_model, model_names
from core.cost.curves import floor_curve, growth_curve, octaves, windows
from core.cost.planner import PlanRequest, plan

CASES = [
    ("Llama 3.1 8B", 1),
    ("Mixtral 8x7B", 2),
    ("DeepSeek-V3 671B", 8),
    ("Nemotron-H-56B (hybrid)", 4),
    ("Gemma 3 27B (text)", 16),
]


@pytest.mark.parametrize(("name", "n_devices"), CASES)
@pytest.mark.parametrize("axis", ["context", "batch"])
def test_every_point_of_a_floor_curve_is_the_plan_of_that_place(
    name: str, n_devices: int, axis: str
) -> None:
    ask = PlanRequest(find_model(name), 3000, 4, find_accelerator("H100 SXM 80GB"), n_devices)
    places = (1, 7, 130, 1024)
    curve = floor_curve(plan(ask), axis, places)  # type: ignore[arg-type]
    for i, place in enumerate(places):
        there = plan(replace(ask, **{axis: place}))
        assert curve.itl_floor_s[i] == there.itl_floor_s
        assert curve.weights_s[i] == pytest.approx(there.weights_s, rel=1e-12)
        assert curve.kv_s[i] == pytest.approx(there.kv_s + there.state_s, rel=1e-12)
        assert curve.compute_s[i] == pytest.approx(there.compute_s, rel=1e-12)
        assert curve.tokens_per_s_total[i] == pytest.approx(there.tokens_per_s_total, rel=1e-12)
        assert curve.intensity[i] == pytest.approx(there.intensity, rel=1e-12)


@pytest.mark.parametrize("name", model_names())
def test_every_point_of_a_growth_curve_is_the_formula(name: str) -> None:
    model = find_model(name)
    places = octaves(1, 1 << 20, windows(model))
    curve = growth_curve(model, places, 3, "q8_0", 32)
    for i in range(0, len(places), 7):
        assert curve.held_bytes[i] == kv.kv_bytes_total(model, places[i], 3, "q8_0")
        assert curve.read_bytes[i] == kv.kv_bytes_read(model, places[i], 3, "q8_0")
        assert curve.allocated_bytes[i] == kv.kv_bytes_allocated(model, places[i], 3, "q8_0", 32)


def test_a_window_is_a_knee_in_what_is_held_and_none_in_what_is_allocated() -> None:
    model = find_model("Mistral 7B v0.1")
    assert windows(model) == (4096,)
    curve = growth_curve(model, (2048, 4096, 8192))
    assert curve.held_bytes[1] == curve.held_bytes[2] == 2 * curve.held_bytes[0]
    assert curve.allocated_bytes[2] == 2 * curve.allocated_bytes[1]


def test_a_floor_needs_an_accelerator() -> None:
    with pytest.raises(ValueError, match="accelerator"):
        floor_curve(plan(PlanRequest(find_model("Llama 3.1 8B"), 10)), "batch", (1,))


def test_octaves_hold_both_ends_and_what_was_asked_for() -> None:
    places = octaves(1, 1000, (37, 5000))
    assert places[0] == 1
    assert places[-1] == 1000
    assert 37 in places
    assert list(places) == sorted(set(places))
