"""The KV cache: append and truncate, bytes that equal its tensors, old bytes that stay."""

import pytest
import torch

from core.config import STORYTELLER
from core.model.kv_cache import KVCache


def appended(cache: KVCache, n_tokens: int, seed: int = 0) -> KVCache:
    generator = torch.Generator().manual_seed(seed)
    shape = (cache.batch_size, STORYTELLER.n_kv_heads, n_tokens, STORYTELLER.head_dim)
    for layer in range(cache.n_layers):
        cache.append(layer, torch.randn(shape, generator=generator), torch.ones(shape) * seed)
    cache.advance(n_tokens)
    return cache


@pytest.mark.parametrize(
    ("dtype", "per_token"), [(torch.float32, 2048), (torch.bfloat16, 1024)], ids=["f32", "bf16"]
)
def test_bytes_are_those_of_the_tensors(dtype, per_token):
    cache = appended(KVCache(STORYTELLER, capacity=50, dtype=dtype), 12)
    held = sum(
        tensor.numel() * tensor.element_size()
        for layer in range(cache.n_layers)
        for tensor in (cache.keys(layer), cache.values(layer))
    )
    assert cache.bytes_in_use == held == 12 * per_token
    assert cache.bytes_allocated == 50 * per_token
    assert cache.keys(0).dtype == dtype


def test_appending_returns_views_and_moves_nothing():
    cache = appended(KVCache(STORYTELLER), 5)
    before, address = cache.digest(5), cache.keys(0).data_ptr()
    appended(cache, 1, seed=1)
    assert cache.length == 6
    assert cache.digest(5) == before
    assert cache.keys(0).data_ptr() == address
    assert cache.values(2)[0, 0, 5].tolist() == [1.0] * STORYTELLER.head_dim


def test_a_changed_byte_changes_the_digest():
    cache = appended(KVCache(STORYTELLER), 5)
    before = cache.digest(5)
    cache.values(3)[0, 1, 4, 31] += 1e-6
    assert cache.digest(5) != before
    assert cache.digest(4) == appended(KVCache(STORYTELLER), 5).digest(4)


def test_truncating_and_appending_again_is_the_same():
    cache = appended(appended(KVCache(STORYTELLER), 5), 3, seed=1)
    whole = cache.digest(8)
    cache.truncate(5)
    assert cache.length == 5
    assert appended(cache, 3, seed=1).digest(8) == whole


def test_limits_are_named():
    cache = appended(KVCache(STORYTELLER, capacity=6), 5)
    with pytest.raises(ValueError, match="holds 6 tokens, 7 were asked for"):
        appended(cache, 2)
    with pytest.raises(ValueError, match="length must be 0 to 5, got 6"):
        cache.truncate(6)
    with pytest.raises(ValueError, match="capacity must be at least 1, got 0"):
        KVCache(STORYTELLER, capacity=0)
