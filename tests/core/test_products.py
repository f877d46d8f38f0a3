"""The start-up comparison of products: correct ones only, and the transformer unchanged."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from core.config import STORYTELLER
from core.machine.products import (
    PRODUCTS,
    ProductChoice,
    best_thread_count,
    compare_products,
    onednn,
    relative_error,
    sample_of,
    sweep_threads,
    total_bytes,
)
from core.machine.timing import clock_for
from core.model.transformer import Transformer
from core.model.weights import Weights

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.machine.products.SPAN_S", 0.001)


def _matrices(dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(1)
    shapes = ((96, 64), (64, 96), (128, 64))
    return tuple(torch.randn(shape, generator=generator).to(dtype) for shape in shapes)


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("n_rows", [1, 3])
def test_every_product_equals_the_exact_one(name: str, n_rows: int) -> None:
    assert relative_error(_matrices(), PRODUCTS[name], n_rows) < 1e-5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_comparison_puts_the_fastest_correct_product_first(dtype: torch.dtype) -> None:
    timings = compare_products(_matrices(dtype), 1, clock_for(CPU), layouts=True)
    rates = [timing.bytes_per_s for timing in timings if timing.correct]
    assert len(timings) == (6 if dtype == torch.float32 else 4)
    assert rates
    assert rates == sorted(rates, reverse=True)
    assert timings[0].correct


def test_a_wrong_product_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRODUCTS, "linear", lambda x, w, _: x.new_zeros(*x.shape[:-1], len(w)))
    timings = compare_products(_matrices(), 1, clock_for(CPU))
    assert timings[0].choice.name == "matrix-vector"
    assert not timings[-1].correct


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_transformer_gives_the_same_logits_whatever_the_product(name: str) -> None:
    config = replace(STORYTELLER, n_layers=2)
    weights = Weights.random(config, seed=3)
    tokens = torch.tensor([[5, 9, 200]])
    plain = Transformer(config, weights)
    other = Transformer(config, weights, PRODUCTS[name])
    caches = plain.new_cache(), other.new_cache()
    for column in range(3):
        step = tokens[:, column : column + 1]
        expected = plain.decode_step(step, caches[0]).logits
        got = other.decode_step(step, caches[1]).logits
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def test_the_onednn_switch_is_put_back() -> None:
    before = torch.backends.mkldnn.enabled
    with onednn(False):
        assert not torch.backends.mkldnn.enabled
    assert torch.backends.mkldnn.enabled == before


def test_thread_sweep_leaves_the_thread_count_as_it_was() -> None:
    before = torch.get_num_threads()
    sweep = sweep_threads(_matrices(), ProductChoice("linear"), 2, clock_for(CPU))
    assert [count for count, _ in sweep] == [1, 2]
    assert all(rate > 0 for _, rate in sweep)
    assert torch.get_num_threads() == before


def test_a_thread_that_brings_nothing_is_left_to_the_others() -> None:
    assert best_thread_count([(1, 20.0), (2, 20.5), (4, 30.0)]) == 4


def test_sample_holds_at_least_the_bytes_asked_for() -> None:
    matrices = _matrices()
    assert total_bytes(sample_of(matrices, 96 * 64 * 4 + 1)) == 2 * 96 * 64 * 4
    assert sample_of(matrices, 10**9) == matrices
