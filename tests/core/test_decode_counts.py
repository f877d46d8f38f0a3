"""The closed forms, the golden numbers, and the work that the running model counts."""

import pytest
import torch

from core.cost.decode_counts import (
    DecodeCounts,
    cached_counts,
    recomputed_counts,
    step_counts,
)
from core.model.transformer import WorkCounts

GOLDEN = [  # n_prompt, n_steps, (scores, projections) recomputed, the same cached
    pytest.param(1, 11, (364, 78), (78, 12), id="N=12 from the first token"),
    pytest.param(1, 99, (171_700, 5_050), (5_050, 100), id="N=100 from the first token"),
    pytest.param(9, 4, (335, 55), (91, 13), id="n=9 g=4"),
]


@pytest.mark.parametrize(("n_prompt", "n_steps", "recomputed", "cached"), GOLDEN)
def test_golden_numbers(n_prompt, n_steps, recomputed, cached):
    without, with_cache = recomputed_counts(n_prompt, n_steps), cached_counts(n_prompt, n_steps)
    assert (without.scores_kept, without.kv_projections) == recomputed
    assert (with_cache.scores_kept, with_cache.kv_projections) == cached


def per_head_and_layer(model, counts: WorkCounts) -> DecodeCounts:
    config = model.config
    units = config.n_layers * config.n_heads
    assert counts.scores_kept % units == counts.scores_executed % units == 0
    return DecodeCounts(
        counts.scores_kept // units,
        counts.scores_executed // units,
        counts.kv_projections // config.n_layers,
    )


@pytest.mark.parametrize(("n_prompt", "n_steps"), [(1, 11), (9, 4), (5, 0), (30, 20)])
def test_the_running_code_counts_the_closed_forms(tiny_model, n_prompt, n_steps):
    tokens = torch.arange(n_prompt + n_steps).remainder(20)[None] + 2
    cached, recomputed = WorkCounts(), WorkCounts()
    cache = tiny_model.new_cache()
    tiny_model.prefill(tokens[:, :n_prompt], cache, counts=cached)
    for length in range(n_prompt, n_prompt + n_steps):
        tiny_model.decode_step(tokens[:, length : length + 1], cache, counts=cached)
    with torch.inference_mode():
        for length in range(n_prompt, n_prompt + n_steps + 1):
            tiny_model.full_pass(tokens[:, :length], counts=recomputed)
    assert per_head_and_layer(tiny_model, cached) == cached_counts(n_prompt, n_steps)
    assert per_head_and_layer(tiny_model, recomputed) == recomputed_counts(n_prompt, n_steps)


@pytest.mark.parametrize(("n_new", "context_len"), [(1, 1), (1, 40), (9, 9), (6, 20)])
def test_one_pass_counts_its_own_part(tiny_model, n_new, context_len):
    tokens = torch.full((1, context_len), 3)
    cache, counts = tiny_model.new_cache(), WorkCounts()
    if context_len > n_new:
        tiny_model.prefill(tokens[:, : context_len - n_new], cache)
    tiny_model.prefill(tokens[:, -n_new:], cache, counts=counts)
    assert per_head_and_layer(tiny_model, counts) == step_counts(n_new, context_len)


@pytest.mark.parametrize(("n_prompt", "n_steps"), [(1, 0), (7, 13), (40, 3)])
def test_the_steps_sum_to_the_whole(n_prompt, n_steps):
    steps = [step_counts(n_prompt, n_prompt)]
    steps += [step_counts(1, n_prompt + s) for s in range(1, n_steps + 1)]
    total = cached_counts(n_prompt, n_steps)
    for name in ("scores_kept", "scores_executed", "kv_projections"):
        assert sum(getattr(step, name) for step in steps) == getattr(total, name)


def test_limits_are_named():
    with pytest.raises(ValueError, match="n_prompt must be at least 1, got 0"):
        cached_counts(0, 3)
    with pytest.raises(ValueError, match="n_steps must be at least 0, got -1"):
        recomputed_counts(3, -1)
    with pytest.raises(ValueError, match=r"n_new must be from 1 to context_len \(4\), got 5"):
        step_counts(5, 4)
