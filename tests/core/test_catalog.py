"""The shipped catalogues: every row complete, sane, sourced, and equal to the formulas."""

from __future__ import annotations

import pytest

from core.cost import kv
from core.cost.catalog import (
    accelerators,
    attention_variant,
    find_accelerator,
    find_model,
    model_names,
    model_rows,
    read_table,
    unverified_fields,
    verified_fields,
)
from core.cost.layer_text import layer_words
from core.cost.parameters import parameter_counts
from core.cost.weights import weight_bytes_read, weight_bytes_stored

ROWS = {row["name"]: row for row in model_rows()}
CHECKED_TOTALS = [name for name, row in ROWS.items() if row["published_params"]]


@pytest.mark.parametrize("name", ROWS)
def test_every_model_equals_its_columns(name: str) -> None:
    row, spec = ROWS[name], find_model(name)
    counts = parameter_counts(spec)
    assert spec.complete
    assert counts.total == int(row["total_params"])
    assert counts.active == int(row["active_params"])
    assert counts.read_per_step == int(row["read_params_per_step"])
    assert kv.kv_bytes_per_token(spec, "bfloat16") == int(row["kv_bytes_per_token_16bit"])
    assert row["source"]


@pytest.mark.parametrize("name", ROWS)
def test_windows_stop_growing_where_the_columns_say(name: str) -> None:
    row, spec = ROWS[name], find_model(name)
    far = 10_000_000
    slope = kv.kv_bytes_total(spec, far + 1, dtype="float16") - kv.kv_bytes_total(
        spec, far, dtype="float16"
    )
    assert slope == int(row["kv_bytes_per_token_16bit_past_windows"])
    cap = kv.kv_bytes_total(spec, far, dtype="float16") - far * slope
    assert cap == int(row["kv_window_cap_bytes_16bit"])


def test_totals_equal_the_published_counts_to_the_last_unit() -> None:
    assert len(CHECKED_TOTALS) == 23
    for name in CHECKED_TOTALS:
        assert parameter_counts(find_model(name)).total == int(ROWS[name]["published_params"])


def test_every_field_is_marked_as_verified_or_not() -> None:
    assert list(verified_fields()) == list(model_names())
    for name, marks in verified_fields().items():
        for field, mark in marks.items():
            if field == "name":
                continue
            filled = ROWS[name][field] != ""
            assert mark in ("yes", "no") if filled else mark == "", (name, field)
    assert "total_params" in unverified_fields("DeepSeek-V2 236B")
    assert unverified_fields("Llama 3.1 8B") == ()


@pytest.mark.parametrize("name", ROWS)
def test_layer_kinds_cover_every_layer(name: str) -> None:
    words, spec = layer_words(ROWS[name]["layer_kinds"]), find_model(name)
    names = {"mlp": "none"}
    assert [names.get(word, word) for word in words] == [layer.kind for layer in spec.layers]


@pytest.mark.parametrize("text", ["full*0", "odd", "(full", "full)", "full*x", "(full))*2"])
def test_layer_text_refuses_what_it_cannot_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"layer|bracket|repeat"):
        layer_words(text)


def test_names_match_but_for_case_and_else_name_the_nearest() -> None:
    assert find_model("LLAMA 3.1 8b") is not None
    assert find_model("llama 3.1 8B").name == "Llama 3.1 8B"
    with pytest.raises(ValueError, match=r"no model named 'Llama 3 8B'.*'Llama 3.1 8B'"):
        find_model("Llama 3 8B")
    with pytest.raises(ValueError, match=r"no accelerator named 'H100'; the nearest is"):
        find_accelerator("H100")


def test_native_formats_size_the_stored_weights() -> None:
    gpt_oss = find_model("gpt-oss-20b")
    experts = 24 * 32 * (3 * 2880 * 2880)
    rest = 20_914_757_184 - experts
    assert weight_bytes_stored(gpt_oss) == experts * 4.25 / 8 + rest * 2
    assert weight_bytes_stored(find_model("GPT-2 (124M)")) == 4 * 124_439_808
    assert kv.kv_bytes_per_token(find_model("GPT-2 (124M)")) == 36_864
    deepseek = find_model("DeepSeek-V3 671B")
    assert 671e9 < weight_bytes_stored(deepseek) < 674e9


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("bfloat16", 13_214_687_232),
        ("q8_0", 7_020_302_592),
        ("int4", 6_607_343_616 * 4.5 / 8),
        ("fp8", 6_607_343_616),
    ],
)
def test_bytes_read_per_step_by_precision(dtype: str, expected: float) -> None:
    assert weight_bytes_read(find_model("Llama 2 7B"), 1, dtype) == expected


def test_int8_counts_one_scale_per_output_channel() -> None:
    per_layer = 4 * 4096 + 2 * 11008 + 4096
    scales = 2 * (32 * per_layer + 32000)
    assert weight_bytes_read(find_model("Llama 2 7B"), 1, "int8") == 6_607_343_616 + scales


def test_embedding_rows_are_not_read() -> None:
    """Share of the parameters that a step does not read, as the untied table implies."""
    for name, share in {"Llama 3.1 8B": 0.065, "Llama 2 7B": 0.019, "SmolLM2 135M": 0.0}.items():
        counts = parameter_counts(find_model(name))
        assert round(1 - counts.read_per_step / counts.total, 3) == share


def test_attention_variants_change_the_cache_and_two_matrices() -> None:
    base = find_model("Llama 3.1 8B")
    multi_head, single = attention_variant(base, 32), attention_variant(base, 1)
    assert kv.kv_bytes_per_token(multi_head) == 524_288
    assert kv.kv_bytes_per_token(single) == 16_384
    gained = parameter_counts(multi_head).total - parameter_counts(base).total
    assert gained == 32 * 2 * 4096 * (24 * 128)
    with pytest.raises(ValueError, match="must divide 32, got 5"):
        attention_variant(base, 5)


@pytest.mark.parametrize("name", list(accelerators()))
def test_every_accelerator_is_sane_and_sourced(name: str) -> None:
    device = find_accelerator(name)
    assert device.source
    assert device.verified
    assert 1 <= device.ridge_flops_per_byte <= 500
    assert 10e9 <= device.bandwidth_bytes_per_s <= 10e12
    assert device.memory_bytes is not None
    assert 8e9 <= device.memory_bytes <= 300e9
    if device.fp8_flops_per_s is not None:
        assert 1.95 <= device.fp8_flops_per_s / device.flops_per_s <= 2.05
    if device.int8_ops_per_s is not None:
        assert 0.95 <= device.int8_ops_per_s / device.flops_per_s <= 4.1
    if device.fp4_flops_per_s is not None:
        assert device.fp8_flops_per_s is not None
        assert 1.95 <= device.fp4_flops_per_s / device.fp8_flops_per_s <= 4.1
    if device.l2_bytes is not None:
        assert 1e6 <= device.l2_bytes <= 512e6
    if device.tdp_w is not None:
        assert 10 <= device.tdp_w <= 1500


def test_the_ridge_column_is_peak_over_bandwidth() -> None:
    for row in read_table("accelerators.csv"):
        device = find_accelerator(row["name"])
        stated = float(row["ridge_flop_per_byte_bf16"])
        assert abs(device.ridge_flops_per_byte - stated) <= 0.51


def test_columns_carry_their_units() -> None:
    units = ("_gb", "_gb_per_s", "_tflop_per_s", "_top_per_s", "_mb", "_w", "_bf16")
    numeric = [
        key
        for key, value in read_table("accelerators.csv")[0].items()
        if value.replace(".", "").isdigit()
    ]
    assert numeric
    assert all(key.endswith(units) for key in numeric)


def test_ro01_dense_figures_are_shipped() -> None:
    assert find_accelerator("H100 SXM 80GB").flops_per_s == 989e12
    assert find_accelerator("A100 80GB SXM").flops_per_s == 312e12
