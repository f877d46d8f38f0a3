"""Operation rows: closed forms, sums, and the properties that catch a wrong formula."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.config import STORYTELLER
from core.cost import kv
from core.cost.accounting import (
    OpCost,
    Pass,
    attended_pairs,
    attention_ops,
    forward_ops,
    forward_total,
    matmul_cost,
    tokens_read,
    total_cost,
)
from core.cost.dtypes import DTYPE_NAMES, number_format
from core.cost.hf_config import parse_config
from core.cost.parameters import expected_distinct, parameter_counts
from core.cost.spec import LayerKind, Matrix, ModelSpec
from core.cost.weights import weight_bytes_read, weight_bytes_stored

GROUPED: dict[str, Any] = {
    "model_type": "llama", "vocab_size": 1000, "hidden_size": 256, "intermediate_size": 512,
    "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2,
    "torch_dtype": "bfloat16",
}  # fmt: skip
EXPERTS = {
    **GROUPED, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2,
}  # fmt: skip
WINDOWED = {**GROUPED, "model_type": "mistral", "sliding_window": 16}
LATENT = {
    **GROUPED, "model_type": "deepseek_v2", "kv_lora_rank": 64, "q_lora_rank": 32,
    "qk_rope_head_dim": 16, "qk_nope_head_dim": 32, "v_head_dim": 32,
}  # fmt: skip
HYBRID = {
    **GROUPED, "model_type": "bamba", "attn_layer_indices": [1], "mamba_n_heads": 8,
    "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_conv": 4,
    "mamba_expand": 2,
}  # fmt: skip
ALL_MODELS = [
    pytest.param(config, id=str(config["model_type"]))
    for config in (GROUPED, EXPERTS, WINDOWED, LATENT, HYBRID)
]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(1, "0.50 1.00 2.0 4.0"), (8, "3.98 7.97 15.9 31.5"), (512, "205 410 683 1024")],
)
def test_intensity_of_a_4096_square_with_activations(rows: int, expected: str) -> None:
    """The ideal figures without scales; a value agrees when it rounds to the digits given."""
    for dtype, text in zip(("float32", "float16", "int8", "int4"), expected.split(), strict=True):
        cost = matmul_cost(4096, 4096, rows, dtype, count_scales=False)
        digits = len(text.partition(".")[2])
        assert f"{cost.intensity:.{digits}f}" == text


def test_intensity_of_int4_with_its_scales() -> None:
    cost = matmul_cost(4096, 4096, 1, "int4", group_size=32)
    assert cost.weight_bytes == 4096 * 4096 * 4.5 / 8
    assert round(cost.intensity_weights_only, 2) == 3.56
    ideal = matmul_cost(4096, 4096, 1, "int4", count_scales=False)
    assert ideal.intensity_weights_only == 4.0


@pytest.mark.parametrize("dtype", DTYPE_NAMES)
@pytest.mark.parametrize("rows", [1, 4, 512])
def test_a_product_costs_the_closed_form(dtype: str, rows: int) -> None:
    cost = matmul_cost(128, 352, rows, dtype)
    one = matmul_cost(128, 352, 1, dtype)
    assert cost.flops == 2 * cost.macs == 2 * rows * 128 * 352
    assert cost.weight_bytes == one.weight_bytes
    assert cost.activation_bytes == rows * (128 + 352) * (4 if dtype == "float32" else 2)
    plain = matmul_cost(128, 352, rows, dtype, count_scales=False)
    assert plain.intensity_weights_only == 2 * rows * 8 / number_format(dtype).value_bits


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": 0}, "rows must be a whole number"),
        ({"rows": -1}, "got -1"),
        ({"rows": 1.5}, "got 1.5"),
        ({"rows": float("nan")}, "got nan"),
        ({"rows": 1e40}, "got 1e\\+40"),
        ({"d_in": 0}, "d_in must be"),
        ({"dtype": "int3"}, "dtype must be one of .* got 'int3'"),
        ({"dtype": "int4", "group_size": 0}, "group_size must be"),
    ],
)
def test_bad_input_names_the_argument(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        matmul_cost(**{"d_in": 16, "d_out": 16, **changes})


@pytest.mark.parametrize("config", ALL_MODELS)
@pytest.mark.parametrize(("n_tokens", "context_len"), [(1, 1), (1, 40), (7, 7), (5, 40)])
def test_rows_add_up_to_the_totals(config: dict[str, Any], n_tokens: int, context_len: int) -> None:
    spec = parse_config(config)
    ops = forward_ops(spec, n_tokens, context_len, batch=3)
    assert total_cost(ops) == forward_total(spec, Pass(n_tokens, context_len, 3))
    assert all(op.flops == 2 * op.macs for op in ops)
    assert total_cost(ops).total_bytes == sum(op.total_bytes for op in ops)


@pytest.mark.parametrize("config", ALL_MODELS)
def test_one_decode_step_reads_what_the_parameter_and_cache_modules_say(
    config: dict[str, Any],
) -> None:
    spec = parse_config(config)
    total = total_cost(forward_ops(spec, 1, 40, batch=1))
    assert total.weight_bytes == weight_bytes_read(spec)
    assert total.kv_read_bytes == kv.kv_bytes_read(spec, 40)
    assert total.kv_write_bytes == kv.kv_bytes_per_token(spec)
    assert total.state_bytes == 2 * kv.state_bytes(spec)


def test_our_model_multiplies_every_read_weight_once() -> None:
    ops = forward_ops(STORYTELLER, 1, 10, weight_dtype="float32")
    products = [op for op in ops if op.macs and op.kv_read_bytes == 0]
    assert sum(op.macs for op in products) * 4 == sum(op.weight_bytes for op in products)
    matrices = STORYTELLER.matrices()
    for op in products:
        d_in, d_out = matrices[op.name]
        assert op.macs == d_in * d_out


@pytest.mark.parametrize("config", ALL_MODELS)
def test_decode_is_prefill_with_one_token(config: dict[str, Any]) -> None:
    """Token by token costs the same multiply-adds and cache writes as all at once."""
    spec = parse_config(config)
    at_once = forward_total(spec, Pass(24, 24))
    stepwise = total_cost(forward_total(spec, Pass(1, s)) for s in range(1, 25))
    assert stepwise.macs == at_once.macs
    assert stepwise.kv_write_bytes == at_once.kv_write_bytes
    assert stepwise.weight_bytes >= at_once.weight_bytes


@pytest.mark.parametrize("config", ALL_MODELS)
@pytest.mark.parametrize("grown", ["n_tokens", "context_len", "batch"])
def test_costs_grow_with_every_argument(config: dict[str, Any], grown: str) -> None:
    spec = parse_config(config)
    run = Pass(2, 20, 2)
    small = forward_total(spec, run)
    large = forward_total(spec, replace(run, **{grown: getattr(run, grown) + 3}))
    assert large.macs >= small.macs
    assert large.total_bytes >= small.total_bytes
    if grown != "context_len" or "sliding_window" not in config:
        assert large.macs > small.macs


@pytest.mark.parametrize("config", ALL_MODELS)
def test_fused_attention_never_reads_more(config: dict[str, Any]) -> None:
    spec = parse_config(config)
    fused = forward_total(spec, Pass(4, 30))
    unfused = forward_total(spec, Pass(4, 30, fused=False))
    assert fused.kv_read_bytes <= unfused.kv_read_bytes
    assert fused.activation_bytes < unfused.activation_bytes
    assert fused.macs == unfused.macs


def test_query_bytes_do_not_depend_on_kv_heads_nor_output_bytes_on_context() -> None:
    def queries(n_kv_heads: int, context_len: int) -> dict[str, OpCost]:
        spec = parse_config({**GROUPED, "num_key_value_heads": n_kv_heads})
        return {op.name: op for op in forward_ops(spec, 1, context_len) if op.layer == 0}

    few, many, late = queries(2, 50), queries(8, 50), queries(2, 5000)
    assert few["scores"].activation_read_bytes == many["scores"].activation_read_bytes
    assert few["q"] == many["q"]
    assert few["blend"].activation_write_bytes == late["blend"].activation_write_bytes
    assert many["scores"].kv_read_bytes == 4 * few["scores"].kv_read_bytes
    assert many["scores"].macs == few["scores"].macs


def test_ro05_bytes_follow_kv_heads_and_flops_query_heads() -> None:
    layer = LayerKind("full", n_heads=32, n_kv_heads=4, head_dim=64, value_dim=64)
    spec = ModelSpec("one layer", (layer,), complete=True, dtype="bfloat16")
    ops = attention_ops(spec, layer, Pass(1, 1000))
    total = total_cost(ops)
    assert total.kv_read_bytes == 1_024_000
    assert total.flops == 8_192_000
    assert total.flops / total.kv_read_bytes == 8.0


@pytest.mark.parametrize(
    ("tied", "params", "footprint"),
    [(True, 36_384_000, 72_768_000), (False, 52_768_000, 105_536_000)],
)
def test_ro04_tied_and_untied_tables(tied: bool, params: int, footprint: int) -> None:
    layer = LayerKind("none", matrices=(Matrix("other", 4000, 5000, "mlp"),))
    spec = ModelSpec(
        "tables",
        (layer,),
        complete=True,
        d_model=512,
        vocab_size=32000,
        tied_embeddings=tied,
        tables=(("embedding", 32000 * 512),),
        outer_matrices=(Matrix("lm_head", 512, 32000, "head"),),
        dtype="bfloat16",
    )
    ops = {op.name: op for op in forward_ops(spec, weight_dtype="bfloat16")}
    swept = sum(op.weight_bytes for op in ops.values()) + ops["embed"].activation_read_bytes
    assert parameter_counts(spec).total == params
    assert weight_bytes_stored(spec) == footprint
    assert swept == 72_769_024
    assert weight_bytes_read(spec) == swept - 1024
    assert sum(op.flops for op in ops.values()) == 72_768_000
    assert ops["embed"].flops == 0


def test_experts_read_the_expected_distinct_ones() -> None:
    spec = parse_config(EXPERTS)
    expert = 3 * 3 * 256 * 512 * 2
    one = weight_bytes_read(spec, 1)
    assert one - (weight_bytes_stored(spec) - 1000 * 256 * 2) == -6 * expert
    eight = weight_bytes_read(spec, 8)
    assert eight - one == round((expected_distinct(8, 2, 8) - 2) * expert)
    assert weight_bytes_read(spec, 10_000) == weight_bytes_stored(spec) - 1000 * 256 * 2
    assert expected_distinct(4, 4, 3) == 4.0


def test_pairs_under_mask_and_window_are_counted_one_by_one() -> None:
    for n_tokens in (1, 3, 9):
        for context_len in (9, 14, 40):
            for window in (None, 1, 5, 12, 64):
                lengths = range(context_len - n_tokens + 1, context_len + 1)
                counted = sum(
                    length if window is None else min(length, window) for length in lengths
                )
                assert attended_pairs(n_tokens, context_len, window) == counted
                first = context_len - n_tokens
                start = 0 if window is None else max(0, first + 1 - window)
                assert tokens_read(n_tokens, context_len, window) == context_len - start


@pytest.mark.parametrize(
    "change", [{"context_len": 0}, {"n_tokens": 5, "context_len": 4}, {"batch": 0}]
)
def test_a_pass_checks_its_sizes(change: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be a whole number"):
        Pass(**{"n_tokens": 1, "context_len": 4, "batch": 1, **change})


@pytest.mark.parametrize(
    ("dtype", "per_token", "total"),
    [("q8_0", 17408, 71_303_168), ("q4_0", 9216, 37_748_736), ("fp8", 16384, 67_108_864)],
)
def test_kv09_cache_formats_with_block_scales(dtype: str, per_token: int, total: int) -> None:
    layer = LayerKind("full", n_heads=8, n_kv_heads=8, head_dim=64, value_dim=64)
    spec = ModelSpec("sixteen", (layer,) * 16, complete=False)
    assert kv.kv_bytes_per_token(spec, dtype) == per_token
    assert kv.kv_bytes_total(spec, 4096, dtype=dtype) == total


def test_cache_precision_and_weight_precision_are_independent() -> None:
    spec = parse_config(GROUPED)
    low = total_cost(forward_ops(spec, 1, 64, weight_dtype="int4"))
    high = total_cost(forward_ops(spec, 1, 64, weight_dtype="float32"))
    assert low.kv_read_bytes == high.kv_read_bytes
    quantised = total_cost(forward_ops(spec, 1, 64, weight_dtype="int4", kv_dtype="q8_0"))
    assert quantised.weight_bytes == low.weight_bytes
    assert quantised.kv_read_bytes * 16 == low.kv_read_bytes * 8.5


def test_blocks_waste_at_most_one_block_less_one_token() -> None:
    spec = parse_config(GROUPED)
    per_token = kv.kv_bytes_per_token(spec)
    for context in range(1, 70):
        waste = kv.kv_bytes_allocated(spec, context, 2, block_size=16) - kv.kv_bytes_total(
            spec, context, 2
        )
        assert 0 <= waste <= 2 * 15 * per_token
    assert kv.kv_bytes_allocated(spec, 17, block_size=1) == kv.kv_bytes_total(spec, 17)
