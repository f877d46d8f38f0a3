"""The rows that a sweep carries: activations of a run's tokens, then of further stories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from core.cost.checks import whole
from core.decode.sampling import choose, new_generator
from core.decode.settings import SamplingSettings
from core.decode.sweep_settings import MAX_ROWS
from core.model.transformer import ForwardResult, Transformer

_INPUTS = {
    "q": "qkv", "k": "qkv", "v": "qkv", "o": "o", "gate": "gate_up", "up": "gate_up",
    "down": "down",
}  # fmt: skip
"""Matrix -> the product it is part of, whose input rows the model records."""

_STORIES_AT_ONCE = 4
_STORY_LENGTH = 192


@torch.inference_mode()
def entering(
    model: Transformer, ids: Sequence[int], matrix: str, layer: int | None = None
) -> Tensor:
    """Return the rows that enter a matrix when these tokens are processed, one per token.

    Shapes: -> (T, d_in)
    Raises: ValueError for a matrix or layer that the model lacks, or too many tokens
    """
    model.weights.matrix(matrix, layer)
    tokens = torch.tensor([list(ids)], device=model.device)
    result = model.prefill(tokens, model.new_cache(), record=True)
    return _rows_of(result, matrix, layer)


def activation_rows(
    model: Transformer, ids: Sequence[int], matrix: str, layer: int | None, n_rows: int
) -> Tensor:
    """Return R real activations: of the last token first, then of the ones before it.

    Rows beyond the run's own tokens are those of further stories, told by the model itself.

    Shapes: -> (R, d_in)
    Raises: ValueError for rows out of range, or a matrix or layer that the model lacks
    """
    n_rows = whole("rows", n_rows, 1, MAX_ROWS)
    own = entering(model, ids, matrix, layer).flip(0)[:n_rows]
    if own.shape[0] == n_rows:
        return own
    return torch.cat((own, story_rows(model, matrix, layer)))[:n_rows]


def story_rows(model: Transformer, matrix: str, layer: int | None = None) -> Tensor:
    """Return at least :data:`MAX_ROWS` activations of stories that the model tells itself.

    Shapes: -> (at least MAX_ROWS, d_in)
    """
    rows = [entering(model, ids, matrix, layer) for ids in further_stories(model, MAX_ROWS)]
    return torch.cat(rows)


@lru_cache(maxsize=2)
def further_stories(model: Transformer, n_tokens: int) -> tuple[tuple[int, ...], ...]:
    """Return stories of together at least ``n_tokens`` tokens, told from the start token alone.

    Several are decoded at once, each until its end token; the same model tells the same ones,
    so they are told once.
    """
    config = model.config
    length = min(_STORY_LENGTH, config.max_seq_len)
    stories: list[tuple[int, ...]] = []
    while sum(len(story) for story in stories) < n_tokens:
        for story in _tell(model, first_seed=len(stories), length=length):
            end = story.index(config.end_id) if config.end_id in story else length
            stories.append(tuple(story[:end]))
    return tuple(stories)


def _tell(model: Transformer, first_seed: int, length: int) -> list[list[int]]:
    """Decode a batch of sampled stories, every one to the same length."""
    settings = [
        SamplingSettings(temperature=0.8, seed=first_seed + n) for n in range(_STORIES_AT_ONCE)
    ]
    generators = [new_generator(one) for one in settings]
    told = [[model.config.bos_id] for _ in settings]
    cache = model.new_cache(_STORIES_AT_ONCE, length)
    for _ in range(length - 1):
        last = torch.tensor([[story[-1]] for story in told], device=model.device)
        logits = model.decode_step(last, cache).logits[:, -1]
        for row, story in enumerate(told):
            story.append(choose(logits[row], settings[row], generators[row]))
    return told


def _rows_of(result: ForwardResult, matrix: str, layer: int | None) -> Tensor:
    if layer is None:
        return result.final_hidden[0]
    return result.layers[layer].inputs[_INPUTS[matrix]][0]
