"""The model: with a cache as without, in a batch as alone, in pieces as whole."""

import pytest
import torch

from core.config import STORYTELLER
from core.model.layers import rms_norm
from core.model.transformer import ForwardOptions, Transformer, WorkCounts
from core.model.weights import Weights

# float32 rounding over 4 layers and 352-term sums; measured at most 3e-5.
LOGITS = 1e-4
ROWS = 1e-5


@pytest.fixture
def tokens() -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randint(2, STORYTELLER.vocab_size, (1, 40), generator=generator)


def full(model: Transformer, tokens: torch.Tensor, **options: object) -> torch.Tensor:
    with torch.inference_mode():
        return model.full_pass(tokens, options=ForwardOptions(**options)).logits


@pytest.mark.parametrize("fused", [False, True])
def test_cached_steps_equal_the_full_pass(random_model, tokens, fused):
    cache = random_model.new_cache()
    options = ForwardOptions(fused=fused)
    random_model.prefill(tokens[:, :9], cache, options=options)
    for position in range(9, tokens.shape[1]):
        step = random_model.decode_step(tokens[:, position : position + 1], cache, options=options)
        expected = full(random_model, tokens[:, : position + 1])[:, -1]
        torch.testing.assert_close(step.logits[:, -1], expected, atol=LOGITS, rtol=0)
    assert cache.length == tokens.shape[1]


def test_chunked_prefill_equals_the_whole(random_model, tokens):
    whole, chunked = random_model.new_cache(), random_model.new_cache()
    expected = random_model.prefill(tokens, whole).logits[:, -1]
    for chunk in tokens.split([7, 1, 20, 12], dim=1):
        logits = random_model.prefill(chunk, chunked).logits[:, -1]
    torch.testing.assert_close(logits, expected, atol=LOGITS, rtol=0)
    torch.testing.assert_close(chunked.keys(3), whole.keys(3), atol=LOGITS, rtol=0)


def test_a_batch_equals_each_sequence_alone(random_model, tokens):
    pair = torch.cat((tokens, tokens.flip(1)))
    together = random_model.new_cache(batch_size=2)
    random_model.prefill(pair[:, :20], together)
    logits = random_model.decode_step(pair[:, 20:21], together).logits
    for index in range(2):
        alone = random_model.new_cache()
        random_model.prefill(pair[index : index + 1, :20], alone)
        expected = random_model.decode_step(pair[index : index + 1, 20:21], alone).logits[0]
        torch.testing.assert_close(logits[index], expected, atol=LOGITS, rtol=0)


def test_earlier_rows_do_not_depend_on_later_tokens(random_model, tokens):
    other = tokens.clone()
    other[:, 30:] = 5
    first, second = full(random_model, tokens), full(random_model, other)
    torch.testing.assert_close(first[:, :30], second[:, :30], atol=LOGITS, rtol=0)
    assert (first[:, 30:] - second[:, 30:]).abs().max() > 0.1


def test_a_removed_head_changes_only_what_follows_it(random_model, tokens):
    with torch.inference_mode():
        intact = random_model.full_pass(tokens, record=True)
        without = random_model.full_pass(
            tokens, options=ForwardOptions(head_off=(1, 2)), record=True
        )
    torch.testing.assert_close(
        without.layers[1].attn_weights, intact.layers[1].attn_weights, atol=0, rtol=0
    )
    d = STORYTELLER.head_dim
    entering = without.layers[1].inputs["o"]
    assert torch.count_nonzero(entering[..., 2 * d : 3 * d]) == 0
    torch.testing.assert_close(
        entering[..., : 2 * d], intact.layers[1].inputs["o"][..., : 2 * d], atol=0, rtol=0
    )
    assert (without.logits - intact.logits).abs().max() > 1e-3


def test_a_record_keeps_what_the_pass_computed(random_model, tokens):
    cache = random_model.new_cache()
    random_model.prefill(tokens[:, :12], cache)
    step = random_model.decode_step(tokens[:, 12:13], cache, record=True)
    layer = step.layers[2]
    shapes = {name: tuple(getattr(layer, name).shape) for name in ("q", "k", "v")}
    assert shapes == {"q": (1, 4, 1, 32), "k": (1, 2, 13, 32), "v": (1, 2, 13, 32)}
    assert tuple(layer.attn_weights.shape) == tuple(layer.attn_dots.shape) == (1, 4, 1, 13)
    assert tuple(layer.attn_output.shape) == (1, 4, 1, 32)
    weights = random_model.weights.layers[2]
    queries = (layer.inputs["qkv"] @ weights.q.T).view(1, 1, 4, 32).norm(dim=-1)
    torch.testing.assert_close(layer.q.norm(dim=-1).view(1, 1, 4), queries)  # turning keeps length


def test_products_are_counted_by_the_rows_that_ran(random_model, tokens):
    counts = WorkCounts()
    cache = random_model.new_cache()
    random_model.prefill(tokens[:, :12], cache)
    random_model.decode_step(tokens[:, 12:13], cache, counts=counts)
    config = STORYTELLER
    per_layer = sum(i * o for i, o in config.layer_matrices().values())
    expected = config.n_layers * per_layer + config.d_model * config.vocab_size
    assert sum(macs for macs, _ in counts.products.values()) == expected


def test_rms_norm_is_the_formula():
    x = torch.tensor([[3.0, -4.0], [0.0, 0.0]])
    weight, eps = torch.tensor([2.0, 0.5]), 1e-5
    gain, floor = weight * 2**0.5, torch.tensor((2 * eps) ** 0.5)
    expected = x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight
    torch.testing.assert_close(rms_norm(x, gain, floor), expected)
    torch.testing.assert_close(rms_norm(x, gain, floor, min_rows=8), expected)


def test_the_context_is_a_limit(tiny_model):
    cache = tiny_model.new_cache()
    tiny_model.prefill(torch.zeros(1, 64, dtype=torch.long), cache)
    with pytest.raises(ValueError, match="the context holds 64 tokens, 65 were asked for"):
        tiny_model.decode_step(torch.zeros(1, 1, dtype=torch.long), cache)
    with pytest.raises(ValueError, match="takes 1 token per sequence, got 2"):
        tiny_model.decode_step(torch.zeros(1, 2, dtype=torch.long), tiny_model.new_cache())


def test_moving_weights_keeps_values_and_ties():
    weights = Weights.random(STORYTELLER, seed=4)
    moved = weights.to(torch.float32, "cpu")
    for (name, before), (_, after) in zip(
        weights.named_tensors(), moved.named_tensors(), strict=True
    ):
        assert torch.equal(before, after), name
    assert moved.lm_head is moved.embedding
    assert moved.total_bytes == STORYTELLER.n_params * 4
    assert moved.to(torch.bfloat16, "cpu").total_bytes == STORYTELLER.n_params * 2


def test_mc_01_bfloat16_agrees_up_to_its_rounding(shipped_bfloat16):
    model = shipped_bfloat16.transformer
    tokens = torch.tensor([shipped_bfloat16.tokenizer.encode("Tom has a red ball. Mia has a")])
    cache = model.new_cache()
    model.prefill(tokens[:, :4], cache)
    for position in range(4, tokens.shape[1]):
        step = model.decode_step(tokens[:, position : position + 1], cache)
        expected = full(model, tokens[:, : position + 1])[:, -1]
        assert (step.logits[:, -1] - expected).abs().max() <= 1.0
