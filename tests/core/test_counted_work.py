"""Formulas against the running model: its own counters, and torch's as an outside judge."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from core.config import STORYTELLER
from core.cost.accounting import OpCost, forward_ops, total_cost
from core.model.transformer import Transformer, WorkCounts

FUSED = {"qkv": ("q", "k", "v"), "o": ("o",), "gate_up": ("gate", "up"), "down": ("down",)}
PASSES = [
    pytest.param(0, 1, 1, id="first token"),
    pytest.param(0, 17, 1, id="prefill"),
    pytest.param(0, 9, 3, id="prefill, batch 3"),
    pytest.param(20, 1, 1, id="decode"),
    pytest.param(20, 1, 8, id="decode, batch 8"),
    pytest.param(12, 5, 1, id="verification of 4 drafted tokens"),
]


def run(model: Transformer, cached: int, n_new: int, batch: int) -> tuple[WorkCounts, int]:
    """Work counted by the model in one pass, and the FLOPs that torch counted in it."""
    cache = model.new_cache(batch)
    if cached:
        model.prefill(torch.full((batch, cached), 5), cache)
    counts = WorkCounts()
    step = model.decode_step if cached and n_new == 1 else model.prefill
    with FlopCounterMode(display=False) as judge:
        step(torch.full((batch, n_new), 7), cache, counts=counts)
    return counts, judge.get_total_flops()


def ops_of(cached: int, n_new: int, batch: int) -> list[OpCost]:
    return forward_ops(STORYTELLER, n_new, cached + n_new, batch, "float32", "float32")


@pytest.mark.parametrize(("cached", "n_new", "batch"), PASSES)
def test_every_matrix_costs_what_the_model_counts(
    random_model: Transformer, cached: int, n_new: int, batch: int
) -> None:
    counts, _ = run(random_model, cached, n_new, batch)
    ops = ops_of(cached, n_new, batch)
    assert set(counts.products) == {*FUSED, "lm_head"}
    for product, names in {**FUSED, "lm_head": ("lm_head",)}.items():
        mine = [op for op in ops if op.name in names]
        macs, weights_read = counts.products[product]
        assert sum(op.macs for op in mine) == macs
        assert sum(op.weight_bytes for op in mine) == 4 * weights_read


@pytest.mark.parametrize(("cached", "n_new", "batch"), PASSES)
def test_scores_and_projections_cost_what_the_model_counts(
    random_model: Transformer, cached: int, n_new: int, batch: int
) -> None:
    counts, _ = run(random_model, cached, n_new, batch)
    ops = ops_of(cached, n_new, batch)
    for name in ("scores", "blend"):
        macs = sum(op.macs for op in ops if op.name == name)
        assert macs == counts.scores_kept * STORYTELLER.head_dim
    per_token = 2 * STORYTELLER.kv_width * 4
    written = sum(op.kv_write_bytes for op in ops)
    assert written == counts.kv_projections * per_token


@pytest.mark.parametrize(("cached", "n_new", "batch"), PASSES)
def test_torchs_own_counter_agrees(
    random_model: Transformer, cached: int, n_new: int, batch: int
) -> None:
    """It counts executed scores; the accounting counts those kept under the mask."""
    counts, flops = run(random_model, cached, n_new, batch)
    masked = counts.scores_executed - counts.scores_kept
    work = total_cost(ops_of(cached, n_new, batch))
    assert flops == work.flops + 2 * 2 * masked * STORYTELLER.head_dim


def test_decode_is_prefill_with_one_token(random_model: Transformer) -> None:
    """One path: summed over tokens, steps cost the prefill's FLOPs but read every weight again."""
    n = 9
    whole = total_cost(ops_of(0, n, 1))
    steps = [total_cost(ops_of(cached, 1, 1)) for cached in range(n)]
    assert sum(step.flops for step in steps) == whole.flops
    assert sum(step.weight_bytes for step in steps) == n * whole.weight_bytes
    assert sum(step.kv_write_bytes for step in steps) == whole.kv_write_bytes
    counted = [run(random_model, cached, 1, 1)[0] for cached in range(n)]
    together, _ = run(random_model, 0, n, 1)
    for name, (macs, _read) in together.products.items():
        assert sum(one.products[name][0] for one in counted) == macs
    assert sum(one.scores_kept for one in counted) == together.scores_kept
