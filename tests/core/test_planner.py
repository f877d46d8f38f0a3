"""The planner: floors, what binds, what fits, and formulas that evaluate to what they show."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest

from core.cost import kv
from core.cost.accounting import Pass, forward_total
from core.cost.catalog import accelerators, find_accelerator, find_model, model_names
from core.cost.energy import FLOP_PJ, MEMORY_PJ_PER_BIT, memory_constant
from core.cost.formula import Formula, evaluate, number_text
from core.cost.hf_config import parse_config
from core.cost.planner import PlanRequest, PlanResult, plan
from core.cost.spec import AcceleratorSpec
from core.cost.weights import weight_bytes_read

H100 = find_accelerator("H100 SXM 80GB")
LLAMA = find_model("Llama 3.1 8B")


def planned(name: str = "Llama 3.1 8B", context: int = 4096, **changes: Any) -> PlanResult:
    changes.setdefault("accelerator", H100)
    return plan(PlanRequest(find_model(name), context, **changes))


def typed(bandwidth: float, flops: float, memory: int | None = None) -> AcceleratorSpec:
    return AcceleratorSpec("typed in", bandwidth, flops, memory)


@pytest.mark.parametrize("name", model_names())
def test_every_formula_shown_is_the_one_evaluated(name: str) -> None:
    """Read back, the text left of the equals sign gives the number right of it and the result."""
    result = planned(name, 5000, batch=3, price_per_hour=2.5)
    assert {"itl_floor_s", "max_batch", "flops_per_step"} <= set(result.formulas)
    for key, formula in result.formulas.items():
        left, _, right = formula.text.rpartition(" = ")
        assert number_text(evaluate(left, {})) == right
        assert float(right) == pytest.approx(float(getattr(result, key)), rel=1e-15)
        python = {"max": max, "min": min, "ceil": math.ceil, "floor": math.floor, "round": round}
        assert eval(left, {"__builtins__": {}}, python) == pytest.approx(float(right), rel=1e-12)
        assert formula.symbolic.startswith(f"{key} = ")


@pytest.mark.parametrize("name", model_names())
@pytest.mark.parametrize(("context", "batch"), [(1, 1), (700, 3), (9000, 16)])
def test_planner_and_operation_rows_agree(name: str, context: int, batch: int) -> None:
    result = planned(name, context, batch=batch)
    total = forward_total(find_model(name), Pass(1, context, batch))
    assert result.flops_per_step == total.flops
    assert result.kv_bytes_read_per_step == total.kv_read_bytes
    assert result.kv_bytes_per_token * batch == total.kv_write_bytes
    assert result.weight_bytes_read_per_step == pytest.approx(total.weight_bytes, rel=1e-6)
    assert result.state_bytes_total is not None
    assert 2 * result.state_bytes_total == total.state_bytes


def test_the_floor_of_teaching_examples() -> None:
    """14 GB at 800 GB/s waits 17.5 ms; arithmetic alone would take 0.17 ms."""
    seven = find_model("Llama 2 7B")
    result = plan(PlanRequest(seven, 1000, 1, typed(800e9, 82e12), weight_dtype="float16"))
    assert result.kv_bytes_read_per_step == 524_288_000
    assert result.itl_floor_s is not None
    assert result.weights_s == pytest.approx(weight_bytes_read(seven, 1, "float16") / 800e9)
    assert result.kv_s == pytest.approx(524_288_000 / 800e9)
    assert result.itl_floor_s == pytest.approx(result.weights_s + result.kv_s)
    assert result.compute_s is not None
    assert result.compute_s < 0.011 * result.itl_floor_s
    assert (result.bound, result.binding) == ("memory", "weights")


def test_throughput_is_batch_over_latency_and_latency_is_not_divided() -> None:
    one, four = planned(batch=1), planned(batch=4)
    assert one.itl_floor_s is not None
    assert four.itl_floor_s is not None
    assert four.itl_floor_s > one.itl_floor_s
    assert four.tokens_per_s_total == pytest.approx(4 / four.itl_floor_s)
    assert four.tokens_per_s_per_request == pytest.approx(1 / four.itl_floor_s)


def test_what_binds_changes_with_batch_and_context() -> None:
    assert planned(context=1024, batch=1).binding == "weights"
    assert planned(context=131_072, batch=16).binding == "kv"
    assert planned(context=16, batch=2000).binding == "arithmetic"
    assert planned(context=16, batch=2000).bound == "compute"


def test_shares_add_up_to_the_memory_side() -> None:
    result = planned("Nemotron-H-56B (hybrid)", 4096, batch=8)
    parts = [result.weights_s, result.kv_s, result.state_s]
    assert all(part is not None and part > 0 for part in parts)
    assert sum(part for part in parts if part is not None) == pytest.approx(result.memory_s)
    assert result.itl_floor_s == pytest.approx(max(result.memory_s or 0, result.compute_s or 0))


def test_what_fits_is_the_largest_that_fits() -> None:
    result = planned(context=8192, batch=4, reserve_bytes=2 * 10**9)
    assert result.max_batch is not None
    assert result.max_context is not None
    at = planned(context=8192, batch=result.max_batch, reserve_bytes=2 * 10**9)
    over = planned(context=8192, batch=result.max_batch + 1, reserve_bytes=2 * 10**9)
    assert (at.fits, over.fits) == (True, False)
    longest = planned(context=result.max_context, batch=4, reserve_bytes=2 * 10**9)
    beyond = planned(context=result.max_context + 1, batch=4, reserve_bytes=2 * 10**9)
    assert (longest.fits, beyond.fits) == (True, False)


def test_memory_below_the_weights_is_reported_and_the_curve_stays() -> None:
    result = planned("Llama 3.1 405B")
    assert (result.max_batch, result.max_context, result.fits) == (0, 0, False)
    assert result.memory_full_context is None
    assert result.itl_floor_s is not None
    assert any("do not fit into the memory" in note for note in result.notes)


def test_crossings_are_where_the_lines_meet() -> None:
    result = planned(context=100, batch=2)
    equal, full = result.cache_equals_weights_context, result.memory_full_context
    assert equal is not None
    assert full is not None
    stored = result.weight_bytes_stored
    assert stored is not None
    assert kv.kv_bytes_total(LLAMA, math.ceil(equal), 2) >= stored
    assert kv.kv_bytes_total(LLAMA, math.floor(equal), 2) <= stored
    assert stored + kv.kv_bytes_total(LLAMA, math.floor(full), 2) <= 80e9
    assert stored + kv.kv_bytes_total(LLAMA, math.ceil(full), 2) >= 80e9


def test_a_model_with_windows_everywhere_never_reaches_its_weights() -> None:
    result = planned("Mistral 7B v0.1", batch=1)
    assert result.cache_equals_weights_context is None
    assert planned("Mistral 7B v0.1", batch=64).cache_equals_weights_context is not None


@pytest.mark.parametrize("name", ["Llama 3.1 8B", "Gemma 3 27B (text)", "DeepSeek-V3 671B"])
@pytest.mark.parametrize("grown", ["context", "batch"])
def test_the_floor_grows_with_context_and_batch(name: str, grown: str) -> None:
    steps = [{"context": 512, "batch": 2, grown: n} for n in (512, 1024, 4096, 40_000)]
    floors = [planned(name, **step).itl_floor_s or 0.0 for step in steps]
    assert floors == sorted(floors)
    assert floors[0] < floors[-1]


def test_scaling_book_200b_on_32_chips_takes_about_10_ms() -> None:
    """Its text says around 10 ms: 400 GB over 32 x 1.23 TB/s."""
    assert 400e9 / (32 * find_accelerator("TPU v4").bandwidth_bytes_per_s) == pytest.approx(
        0.0102, abs=2e-4
    )


def test_tensor_parallel_divides_weights_and_at_most_one_kv_head_per_device() -> None:
    one, eight = planned(n_devices=1), planned(n_devices=8)
    assert eight.itl_floor_s == pytest.approx((one.itl_floor_s or 0) / 8)
    sixteen = planned(n_devices=16)
    assert sixteen.kv_s == pytest.approx(eight.kv_s)
    assert sixteen.weights_s == pytest.approx((eight.weights_s or 0) / 2)
    latent = planned("DeepSeek-V3 671B", n_devices=8)
    assert latent.kv_s == pytest.approx(planned("DeepSeek-V3 671B").kv_s)
    assert any("all-reduces" in note for note in eight.notes)
    assert any("hold a copy of the cache" in note for note in sixteen.notes)
    assert (eight.max_batch or 0) > 8 * (one.max_batch or 0)
    assert planned("Llama 3.1 405B", n_devices=16).fits is True


def test_precisions_change_what_they_should() -> None:
    base, small = planned(weight_dtype="bfloat16"), planned(weight_dtype="int4")
    assert small.kv_bytes_total == base.kv_bytes_total
    assert (small.weight_bytes_read_per_step or 0) / (base.weight_bytes_read_per_step or 1) == (
        4.5 / 16
    )
    low = planned(kv_dtype="q8_0")
    assert low.kv_bytes_total == base.kv_bytes_total * 8.5 / 16
    assert low.weight_bytes_stored == base.weight_bytes_stored
    fp8 = planned(weight_dtype="fp8", batch=5000, context=16)
    assert fp8.compute_s == pytest.approx((fp8.flops_per_step or 0) / 1979e12)


def test_energy_is_modelled_from_sourced_constants() -> None:
    result = planned()
    assert result.energy_j_per_token is not None
    moved = (result.weight_bytes_read_per_step or 0) + result.kv_bytes_read_per_step
    expected = moved * 8 * 6.0e-12 + (result.flops_per_step or 0) * 0.75e-12
    expected += 70 * (result.itl_floor_s or 0)
    assert result.energy_j_per_token == pytest.approx(expected)
    assert result.formulas["energy_j_per_token"].kind == "modelled"
    for constant in (*MEMORY_PJ_PER_BIT.values(), FLOP_PJ):
        assert constant.source
        assert constant.value > 0
    assert all(memory_constant(device) is not None for device in accelerators().values())
    doubled = planned(static_w=140.0)
    assert (doubled.energy_j_per_token or 0) - expected == pytest.approx(
        70 * (result.itl_floor_s or 0)
    )


def test_cost_per_million_tokens_from_a_price() -> None:
    result = planned(batch=16, price_per_hour=3.6, n_devices=2)
    rate = result.tokens_per_s_total
    assert rate is not None
    assert result.cost_per_million_tokens == pytest.approx(2 * 3.6 / 3600 / rate * 1e6)
    assert planned().cost_per_million_tokens is None


def test_a_short_config_plans_its_cache_only() -> None:
    spec = parse_config(
        {"num_hidden_layers": 6, "hidden_size": 768, "num_attention_heads": 12, "dtype": "float16"}
    )
    result = plan(PlanRequest(spec, 1000, 2, H100))
    assert result.kv_bytes_total == 2 * 1000 * 18432
    unknown = {
        field.name for field in fields(PlanResult) if getattr(result, field.name) is None
    }  # fmt: skip
    assert {"weight_bytes_stored", "flops_per_step", "itl_floor_s", "max_batch", "bound"} <= unknown
    assert any("vocab_size missing" in note for note in result.notes)


def test_without_an_accelerator_there_are_no_times() -> None:
    result = planned(accelerator=None)
    assert result.itl_floor_s is None
    assert result.max_batch is None
    assert result.weight_bytes_stored == 16_060_522_496
    assert result.cache_equals_weights_context is not None


def test_notes_name_what_was_assumed() -> None:
    assert any("beyond the model's" in note for note in planned(context=500_000).notes)
    assert any("counted at bfloat16" in note for note in planned().notes)
    assert not any("counted at" in note for note in planned(kv_dtype="fp8").notes)
    assert any("constant state" in n for n in planned("Nemotron-H-56B (hybrid)").notes)


@pytest.mark.parametrize("name", ["context", "batch"])
@pytest.mark.parametrize(
    "bad", [0, -1, 1.5, 1e12, 10**12, float("nan"), float("inf"), "12", None, True]
)
def test_bad_sizes_are_named(name: str, bad: Any) -> None:
    request = replace(PlanRequest(LLAMA, 10, 1, H100), **{name: bad})
    with pytest.raises(ValueError, match=f"{name} must be a whole number from 1 to"):
        plan(request)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_devices": 0}, "n_devices must be"),
        ({"block_size": 0}, "block_size must be"),
        ({"reserve_bytes": -1}, "reserve_bytes must be"),
        ({"weight_dtype": "int5"}, "dtype must be one of"),
        ({"kv_dtype": "q8"}, r"got 'q8'; did you mean q8_0\?"),
        ({"price_per_hour": 0}, "price_per_hour must be"),
        ({"static_w": float("nan")}, "static_w must be"),
    ],
)
def test_other_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(replace(PlanRequest(LLAMA, 10, 1, H100), **change))


def test_whole_floats_are_whole_numbers() -> None:
    assert planned(context=4096.0).kv_bytes_total == planned().kv_bytes_total  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "expression",
    ["__import__('os')", "a.b", "open('x')", "[1]", "1 if a else 2", "missing + 1", "'x' * 3",
     "max", "lambda: 1", "1 +", "True and 2"],
)  # fmt: skip
def test_formulas_evaluate_arithmetic_only(expression: str) -> None:
    with pytest.raises(ValueError, match="not arithmetic"):
        evaluate(expression, {"a": 1})


def test_formulas_are_exact_for_large_whole_numbers() -> None:
    big = Formula("n", "a * b + 1", {"a": 10**15, "b": 10**15})
    assert big.value == 10**30 + 1
    assert Formula("p", "1 - (1 - k / n) ** b", {"k": 2, "n": 8, "b": 1}).value == 0.25
    assert Formula("p", "(1 - k / n) ** b", {"k": 2, "n": 8, "b": 10**6}).value == 0.0
    with pytest.raises(ValueError, match="division by zero"):
        evaluate("1 / 0", {})
