"""Rows and the ridge, and the cases of peaks, shared tables and batches (RO-01, RO-04, RO-05)."""

from __future__ import annotations

import math

import pytest

from core.config import STORYTELLER
from core.cost.accounting import Pass, attention_ops, forward_ops, forward_total, matmul_cost
from core.cost.catalog import find_accelerator
from core.cost.roofline import bandwidth_from_clock, floor_seconds, ridge, roofline_point
from core.cost.spec import LayerKind, Matrix, ModelSpec
from core.cost.sweep_roof import rows_to_ridge, without_activations

DTYPES = ("float32", "float16", "bfloat16", "int8", "int4")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count_activations", [False, True])
def test_rows_to_ridge_is_the_first_row_past_it(dtype: str, count_activations: bool) -> None:
    for d_in, d_out in STORYTELLER.matrices().values():
        for there in (3.0, 20.0, 295.22):
            needed = rows_to_ridge(d_in, d_out, dtype, there, count_activations=count_activations)

            def intensity(rows: int, d_in: int = d_in, d_out: int = d_out) -> float:
                cost = matmul_cost(d_in, d_out, rows, dtype)
                return (cost if count_activations else without_activations(cost)).intensity

            if needed is None:
                assert count_activations
                assert intensity(10**6) <= there
            else:
                assert intensity(needed) > there
                assert needed == 1 or intensity(needed - 1) <= there


@pytest.mark.parametrize("there", [0.0, -1.0, math.nan, math.inf])
def test_a_ridge_that_is_no_number_is_refused(there: float) -> None:
    with pytest.raises(ValueError, match="the ridge must be a number above 0"):
        rows_to_ridge(128, 128, "float32", there)


def test_the_dot_walks_right_with_rows_until_the_ridge_and_weight_bytes_stay() -> None:
    h100 = find_accelerator("H100 SXM 80GB")
    points = [
        roofline_point(without_activations(matmul_cost(4096, 4096, rows, "bfloat16")), h100)
        for rows in (1, 5, 8, 64, 295, 296, 512)
    ]
    assert [point.intensity for point in points] == [1, 5, 8, 64, 295, 296, 512]
    assert {point.n_bytes for point in points} == {2 * 4096 * 4096}
    assert [point.bound for point in points] == ["memory"] * 5 + ["compute"] * 2
    assert points[-1].attainable_flops_per_s == h100.flops_per_s


def test_batch_32_of_float16_decode_is_32_flop_per_byte_on_the_weights() -> None:
    cost = matmul_cost(4096, 4096, 32, "float16")
    assert cost.intensity_weights_only == 32
    assert all(
        op.intensity_weights_only == 32
        for op in forward_ops(STORYTELLER, 1, 100, 32, "float16", "float16")
        if op.name in STORYTELLER.matrices()
    )


def test_attention_does_not_share_what_it_reads() -> None:
    """Each sequence reads its own K and V: bytes grow with the batch, weight bytes do not."""
    one, many = (
        forward_total(STORYTELLER, Pass(1, 100, batch, "float16", "float16")) for batch in (1, 32)
    )
    assert many.weight_bytes == one.weight_bytes
    assert many.kv_read_bytes == 32 * one.kv_read_bytes
    assert many.flops == 32 * one.flops


def test_ro_01_peaks_are_dense_and_the_double_data_rate_counts_once() -> None:
    assert round(find_accelerator("H100 SXM 80GB").ridge_flops_per_byte, 2) == 295.22
    assert round(ridge(989e12, 3350e9), 2) == 295.22 != 590.75
    assert bandwidth_from_clock(2619e6, 5120) / 1e9 == pytest.approx(3352.32)
    assert bandwidth_from_clock(7001e6, 192) / 1e9 == pytest.approx(336.048)


@pytest.mark.parametrize(("tied", "footprint"), [(True, 72_768_000), (False, 105_536_000)])
def test_ro_04_a_looked_up_table_is_not_swept_and_a_head_is(tied: bool, footprint: int) -> None:
    vocab, hidden, other = 32_000, 512, 20_000_000
    layer = LayerKind("none", matrices=(Matrix("rest", 1000, other // 1000, "mlp"),))
    model = ModelSpec(
        "case", (layer,), True, d_model=hidden, vocab_size=vocab, tied_embeddings=tied,
        tables=(("embedding", vocab * hidden),),
        outer_matrices=(Matrix("lm_head", hidden, vocab, "head"),), dtype="bfloat16",
    )  # fmt: skip
    tables = vocab * hidden * (1 if tied else 2)
    assert 2 * (other + tables) == footprint
    step = forward_ops(model, weight_dtype="bfloat16")
    look_up = next(op for op in step if op.name == "embed")
    swept = sum(op.weight_bytes for op in step) + look_up.activation_read_bytes
    assert swept == 72_769_024
    assert look_up.activation_read_bytes == 1024
    assert sum(op.flops for op in step) == 72_768_000
    assert look_up.flops == 0


def test_ro_05_weights_once_a_step_and_cache_once_a_sequence() -> None:
    def step_s(batch: int) -> float:
        return floor_seconds(8e9 + batch * 0.5e9, 1.0, 1e12, 1e15)

    assert step_s(1) == pytest.approx(8.5e-3)
    assert step_s(16) == pytest.approx(16e-3)
    assert 16 / step_s(16) == pytest.approx(1000.0)


def test_ro_05_bytes_follow_kv_heads_and_flops_query_heads() -> None:
    layer = LayerKind("full", n_heads=32, n_kv_heads=4, head_dim=64, value_dim=64)
    model = ModelSpec("case", (layer,), True, d_model=2048, dtype="bfloat16")
    ops = attention_ops(model, layer, Pass(1, 1000, 1, "bfloat16", "bfloat16"))
    read = sum(op.kv_read_bytes for op in ops)
    flops = sum(op.flops for op in ops)
    assert (read, flops) == (1_024_000, 8_192_000)
    assert flops / read == 8.0
