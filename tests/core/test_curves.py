"""Curves are the planner's own formulas: every point equals a plan made for that place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.cost import kv
from core.cost.catalog import find_accelerator, find_model, model_names
from core.cost.curves import arithmetic_batch, floor_curve, growth_curve, octaves, windows
from core.cost.fast_formula import compiled
from core.cost.formula import evaluate
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
        assert curve.itl_floor_s[i] == pytest.approx(there.itl_floor_s, rel=1e-12)
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


def test_quick_and_exact_evaluation_agree() -> None:
    given = {"a": 7, "b": 2.5, "n": 1_000_003}
    for expression in (
        "a * b - n / a", "max(a, b) ** 3", "ceil(n / 16) * 16", "floor(n / a)", "-a + min(b, n)",
        "round(a / 2)", "a * (1 - (1 - a / n) ** 8)",
    ):  # fmt: skip
        quick = compiled(expression, given)(given)
        assert quick == pytest.approx(evaluate(expression, given), rel=1e-12)


@pytest.mark.parametrize("text", ["__import__('os')", "a.b", "a if b else c", "unknown", "[1]"])
def test_quick_evaluation_takes_arithmetic_only(text: str) -> None:
    with pytest.raises(ValueError, match="arithmetic"):
        compiled(text, {"a": 1, "b": 2})


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


def test_arithmetic_binds_from_the_batch_where_its_side_is_the_longer() -> None:
    ask = PlanRequest(find_model("Llama 3.1 8B"), 128, 1, find_accelerator("H100 SXM 80GB"))
    binding = arithmetic_batch(plan(ask), 4096)
    assert binding is not None
    assert plan(replace(ask, batch=binding)).bound == "compute"
    assert plan(replace(ask, batch=binding - 1)).bound == "memory"


def test_long_contexts_never_become_bound_by_arithmetic() -> None:
    ask = PlanRequest(find_model("Llama 3.1 8B"), 32_768, 1, find_accelerator("H100 SXM 80GB"))
    assert arithmetic_batch(plan(ask), 4096) is None
