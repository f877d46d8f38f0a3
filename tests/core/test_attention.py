"""Attention: written out equals fused, rows sum to 1, grouped heads are laid out right."""

import pytest
import torch

from core.model.attention import attend, attend_fused, attend_same_order, causal_mask

H, K, D = 4, 2, 32


def qkv(n_tokens: int, context_len: int, seed: int = 0) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    shapes = ((1, H, n_tokens, D), (1, K, context_len, D), (1, K, context_len, D))
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


@pytest.mark.parametrize(("n_tokens", "context_len"), [(1, 1), (1, 50), (9, 9), (5, 30)])
def test_written_out_equals_fused_and_same_order(n_tokens, context_len):
    q, k, v = qkv(n_tokens, context_len)
    mask = None if n_tokens == 1 else causal_mask(n_tokens, context_len)
    rows = attend(q, k, v, mask)
    torch.testing.assert_close(rows.output, attend_fused(q, k, v, mask), atol=1e-5, rtol=0)
    ordered = attend_same_order(q, k, v, mask, length=64)
    torch.testing.assert_close(rows.weights, ordered.weights, atol=1e-6, rtol=0)
    torch.testing.assert_close(rows.output, ordered.output, atol=1e-5, rtol=0)
    # Measured |sum - 1| at most 2.4e-7.
    torch.testing.assert_close(rows.weights.sum(-1), torch.ones(1, H, n_tokens), atol=1e-6, rtol=0)


def test_masked_cells_have_no_weight():
    q, k, v = qkv(6, 6)
    weights = attend(q, k, v, causal_mask(6, 6)).weights
    assert torch.count_nonzero(weights.triu(1)) == 0
    assert bool((weights.tril() > 0).eq(torch.ones(6, 6).tril().bool()).all())


def test_dots_are_the_products_before_scaling():
    q, k, v = qkv(1, 7)
    rows = attend(q, k, v)
    assert rows.dots[0, 3, 0, 5] == pytest.approx(float(q[0, 3, 0] @ k[0, 1, 5]), abs=1e-4)
    by_hand = torch.softmax(rows.dots * D**-0.5, -1)
    torch.testing.assert_close(rows.weights, by_hand, atol=1e-6, rtol=0)


def test_worked_example_by_hand():
    q = torch.tensor([2.0, 2.0]).view(1, 1, 1, 2)
    k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).view(1, 1, 3, 2)
    v = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]).view(1, 1, 3, 2)
    rows = attend(q, k, v)
    assert rows.dots.flatten().tolist() == [2.0, 2.0, 4.0]
    expected = torch.tensor([0.1636, 0.1636, 0.6728])
    torch.testing.assert_close(rows.weights.flatten(), expected, atol=5e-5, rtol=0)
    expected = torch.tensor([1.5093, 1.5093])
    torch.testing.assert_close(rows.output.flatten(), expected, atol=5e-5, rtol=0)


def test_mc_01_query_heads_0_0_1_1_share_the_kv_heads():
    q, k, v = qkv(1, 12)
    intact = attend(q, k, v).output[0, :, 0]
    k[:, 1], v[:, 1] = 0.0, 0.0
    zeroed = attend(q, k, v).output[0, :, 0]
    changed = [not torch.equal(zeroed[head], intact[head]) for head in range(H)]
    assert changed == [False, False, True, True]
    assert torch.equal(attend_fused(q, k, v)[0, 2:], torch.zeros(2, 1, D))


def test_grouped_heads_equal_repeated_heads():
    q, k, v = qkv(9, 9)
    mask = causal_mask(9, 9)
    grouped = attend(q, k, v, mask)
    repeated = attend(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), mask)
    torch.testing.assert_close(grouped.weights, repeated.weights, atol=1e-6, rtol=0)
    torch.testing.assert_close(grouped.output, repeated.output, atol=1e-5, rtol=0)
