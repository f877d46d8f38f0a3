"""Stored weights: half a step of error at most, bytes as promised, and a loss that barely moves."""

from functools import cache

import pytest
import torch
from tokenizers import Tokenizer

from core.config import STORYTELLER
from core.cost.dtypes import number_format
from core.model.checkpoint import load_model
from core.model.manifest import MODEL_FOLDER
from core.model.quantization import (
    LARGEST,
    PLAIN,
    WEIGHT_DTYPES,
    quantized_weights,
    storage_error,
    store,
)
from core.model.training.measures import held_out
from core.model.transformer import Transformer
from core.model.weights import Weights

MATRICES = tuple(STORYTELLER.matrices())


@cache
def shipped() -> Transformer:
    return load_model().transformer


def matrix(name: str) -> torch.Tensor:
    return shipped().weights.matrix(name, None if name == "lm_head" else 1)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("dtype", WEIGHT_DTYPES)
@pytest.mark.parametrize("group_size", [1, 16, 32])
def test_bytes_are_those_of_the_formula(name: str, dtype: str, group_size: int) -> None:
    stored = store(matrix(name), dtype, group_size)
    d_in, d_out = STORYTELLER.matrices()[name]
    bits = number_format(dtype, group_size).matrix_bits(d_in, d_out)
    assert stored.n_bytes * 8 == bits
    assert stored.column_bytes * d_out == stored.n_bytes


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("dtype", LARGEST)
def test_no_weight_is_off_by_more_than_half_a_step(name: str, dtype: str) -> None:
    weight = matrix(name)
    stored = store(weight, dtype)
    assert stored.scales is not None
    step = stored.scales.float().repeat_interleave(stored.group_size, -1)
    error = (stored.dequantize() - weight).abs()
    assert bool((error <= step / 2 * (1 + 1e-5)).all())  # 1e-5: rounding of the product itself
    assert int(stored.whole_numbers.abs().max()) <= LARGEST[dtype]


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES)
def test_columns_are_the_rows_of_what_is_read_back(dtype: str) -> None:
    stored = store(matrix("k"), dtype)
    together = torch.stack([stored.column(j) for j in range(stored.d_out)])
    assert torch.equal(together, stored.dequantize())


def test_plain_storage_is_plain_rounding() -> None:
    weight = torch.randn(6, 8, generator=torch.Generator().manual_seed(0))
    for dtype, kind in PLAIN.items():
        assert torch.equal(store(weight, dtype).dequantize(), weight.to(kind).float())
    assert storage_error(weight, store(weight, "float32")).max_abs == 0.0


def test_a_small_matrix_worked_by_hand() -> None:
    weight = torch.tensor([[0.7, -0.35, 0.1, 0.0], [0.0, 0.0, 1.4, -1.4]])
    stored = store(weight, "int4", group_size=2)
    assert stored.whole_numbers.tolist() == [[7, -4, 7, 0], [0, 0, 7, -7]]
    # Two nibbles to a byte, each plus 8, the first one low: 7 + 8 and -4 + 8 make 0x4F.
    assert stored.values.tolist() == [[0x4F, 0x8F], [0x88, 0x1F]]
    assert stored.scales is not None
    assert stored.scales.float().tolist() == [
        pytest.approx([0.1, 0.1 / 7], rel=1e-3),
        pytest.approx([0.0, 0.2], rel=1e-3),
    ]


@pytest.mark.parametrize("dtype", LARGEST)
def test_storing_what_was_read_back_changes_nothing(dtype: str) -> None:
    once = store(matrix("o"), dtype).dequantize()
    twice = store(once, dtype).dequantize()
    assert float((twice - once).abs().max()) <= 1e-3 * float(once.abs().max())


def test_negating_the_weights_negates_what_is_stored() -> None:
    weight = matrix("v")
    assert torch.equal(store(-weight, "int4").dequantize(), -store(weight, "int4").dequantize())


def test_smaller_groups_and_more_bits_lose_less() -> None:
    weight = matrix("up")
    errors = [
        storage_error(weight, store(weight, dtype, group)).root_mean_square
        for dtype, group in (("int4", 128), ("int4", 32), ("int4", 8), ("int8", 32))
    ]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize(
    "group", [0, -32, 48, 3, 256, True, 32.0, 32.5, float("nan"), 10**40, "32"]
)
def test_groups_that_do_not_divide_the_row_are_refused(group: object) -> None:
    with pytest.raises(ValueError, match="group_size must divide d_in = 128"):
        store(torch.ones(2, 128), "int4", group)  # type: ignore[arg-type]


def test_odd_rows_are_refused_for_int4() -> None:
    with pytest.raises(ValueError, match="d_in must be even for int4"):
        store(torch.ones(2, 3), "int4", 1)


@pytest.mark.parametrize("dtype", ["fp8", "int3", "", "FLOAT32"])
def test_unknown_dtypes_are_refused(dtype: str) -> None:
    with pytest.raises(ValueError, match="dtype must be one of float32, float16"):
        store(torch.ones(2, 32), dtype)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e8])
def test_weights_that_cannot_be_quantised_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="weights must"):
        store(torch.full((2, 32), value), "int4")


def test_plain_storage_has_no_whole_numbers() -> None:
    with pytest.raises(ValueError, match="only int8, int4 hold whole numbers, got float16"):
        _ = store(torch.ones(2, 4), "float16").whole_numbers


def test_an_untied_head_is_quantised_on_its_own() -> None:
    tied = Weights.random(STORYTELLER)
    untied = Weights(tied.embedding, tied.layers, tied.final_norm, tied.lm_head.clone())
    read = quantized_weights(untied, "int8")
    assert read.lm_head is not read.embedding
    assert torch.equal(read.lm_head, read.embedding)
    kept = quantized_weights(tied, "int8", include_tables=False)
    assert kept.lm_head is tied.embedding
    assert not torch.equal(kept.layers[0].q, tied.layers[0].q)


def test_the_loss_of_the_shipped_model_hardly_moves() -> None:
    tokenizer = Tokenizer.from_file(str(MODEL_FOLDER / "tokenizer.json"))

    def loss(weights: Weights) -> float:
        return held_out(Transformer(STORYTELLER, weights), tokenizer, n_stories=40).loss

    exact = loss(shipped().weights)
    assert abs(loss(quantized_weights(shipped().weights, "int8")) - exact) <= 0.002
    int4 = loss(quantized_weights(shipped().weights, "int4", 32)) - exact
    assert 0 < int4 <= 0.02
