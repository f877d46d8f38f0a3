"""What the core tests share: one thread, seeded random weights and the shipped model, read-only."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from core.config import STORYTELLER, ModelConfig
from core.model.checkpoint import LoadedModel, load_model
from core.model.transformer import Transformer
from core.model.weights import Weights

TINY = ModelConfig(
    n_layers=2,
    d_model=32,
    n_heads=4,
    n_kv_heads=2,
    head_dim=8,
    d_ff=48,
    vocab_size=27,
    max_seq_len=64,
)
"""A model whose context ends after 64 tokens, as in the cases."""


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def random_model() -> Transformer:
    """The shipped shape with seeded random weights."""
    return Transformer(STORYTELLER, Weights.random(STORYTELLER))


@pytest.fixture(scope="session")
def tiny_model() -> Transformer:
    return Transformer(TINY, Weights.random(TINY, seed=1))


@pytest.fixture(scope="session")
def shipped() -> LoadedModel:
    return load_model()


@pytest.fixture(scope="session")
def shipped_bfloat16() -> LoadedModel:
    return load_model(dtype=torch.bfloat16)


class _EndsAfter:
    """A model that chooses token 7 n times, then the end token, whatever it computed."""

    def __init__(self, model: Transformer, n_tokens: int) -> None:
        self._model, self._left = model, n_tokens

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def prefill(self, tokens, kv_cache, **options):
        result = self._model.prefill(tokens, kv_cache, **options)
        logits = torch.zeros_like(result.logits)
        logits[..., self._model.config.end_id if self._left == 0 else 7] = 9.0
        self._left -= 1
        return dataclasses.replace(result, logits=logits)

    decode_step = prefill


@pytest.fixture
def ends_after() -> type[_EndsAfter]:
    return _EndsAfter
