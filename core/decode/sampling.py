"""Choosing the next token: pure functions on the full vocabulary, in one fixed order.

Order: temperature -> top_k -> top_p -> min_p -> draw. Every filter works on the distribution
that the one before it left, renormalised to sum to 1. Ties go to the lowest id. Everything is
computed in float64, so that a tiny temperature or a sum on the line is no matter of rounding.

Sources: Fan et al. 2018 (top-k), Holtzman et al. 2020 (top-p), Nguyen et al. 2024 (min-p).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.decode.settings import SamplingSettings

__all__ = [
    "SamplingSettings",
    "SamplingStage",
    "choose",
    "distribution",
    "draw",
    "greedy_id",
    "keep_min_p",
    "keep_top_k",
    "keep_top_p",
    "new_generator",
    "softmax",
    "stages",
    "temperature_probs",
]


@dataclass(frozen=True)
class SamplingStage:
    """The distribution after one stage of the order; ``probs`` (V,) sums to 1."""

    name: str
    probs: Tensor
    n_kept: int


def greedy_id(logits: Tensor) -> int:
    """Return the id of the largest logit, the lowest id among equals.

    Shapes: logits (V,)

    >>> greedy_id(torch.tensor([1.0, 3.0, 3.0]))
    1
    """
    return int(logits.argmax())


def softmax(logits: Tensor) -> Tensor:
    """Return the model's own distribution, temperature 1, in float64.

    Shapes: logits (V,) -> (V,)
    """
    return torch.softmax(logits.double(), -1)


def temperature_probs(logits: Tensor, temperature: float) -> Tensor:
    """Return softmax(logits / temperature); all of it on the greedy id at temperature 0.

    The maximum is subtracted before the division, so no temperature overflows.

    Shapes: logits (V,) -> (V,) float64
    Raises: ValueError if ``temperature`` is negative or not finite.

    >>> temperature_probs(torch.tensor([12.0, 11.5, -3.0]), 0.1).round(decimals=6).tolist()
    [0.993307, 0.006693, 0.0]
    """
    SamplingSettings(temperature=temperature)
    if temperature == 0:
        probs = torch.zeros(logits.shape, dtype=torch.float64)
        probs[greedy_id(logits)] = 1.0
        return probs
    wide = logits.double()
    return torch.softmax((wide - wide.max()) / temperature, -1)


def keep_top_k(probs: Tensor, top_k: int) -> Tensor:
    """Mark the ``top_k`` likeliest ids, the lowest ids among equals; 0 marks all.

    Shapes: probs (V,) -> (V,) bool

    >>> keep_top_k(torch.tensor([0.4, 0.2, 0.2, 0.2]), 2).tolist()
    [True, True, False, False]
    """
    SamplingSettings(top_k=top_k)
    kept = torch.ones(probs.shape, dtype=torch.bool)
    if 0 < top_k < probs.shape[0]:
        kept[_by_prob(probs)[top_k:]] = False
    return kept


def keep_top_p(probs: Tensor, top_p: float) -> Tensor:
    """Mark the smallest set of likeliest ids whose mass reaches ``top_p``.

    An id is kept while the mass before it is below ``top_p``: the one that crosses the line
    is kept, and nothing after a sum that lands exactly on it.

    Shapes: probs (V,) -> (V,) bool

    >>> keep_top_p(torch.tensor([0.5, 0.25, 0.125, 0.125]), 0.75).tolist()
    [True, True, False, False]
    """
    SamplingSettings(top_p=top_p)
    kept = torch.ones(probs.shape, dtype=torch.bool)
    if top_p < 1:
        order = _by_prob(probs)
        mass = probs[order].double().cumsum(0)
        kept[order[1:]] = mass[:-1] < top_p
    return kept


def keep_min_p(probs: Tensor, min_p: float) -> Tensor:
    """Mark the ids at least ``min_p`` times as likely as the likeliest; 0 marks all.

    Shapes: probs (V,) -> (V,) bool

    >>> keep_min_p(torch.tensor([0.5, 0.3, 0.125, 0.075]), 0.25).tolist()
    [True, True, True, False]
    """
    SamplingSettings(min_p=min_p)
    return probs >= min_p * probs.max()


def stages(logits: Tensor, settings: SamplingSettings) -> tuple[SamplingStage, ...]:
    """Return the distribution after every stage of the order; the last one is drawn from.

    Shapes: logits (V,)
    """
    probs = temperature_probs(logits, settings.temperature)
    result = [SamplingStage("temperature", probs, int((probs > 0).sum()))]
    filters: tuple[tuple[str, Callable[[Tensor], Tensor]], ...] = (
        ("top_k", lambda p: keep_top_k(p, settings.top_k)),
        ("top_p", lambda p: keep_top_p(p, settings.top_p)),
        ("min_p", lambda p: keep_min_p(p, settings.min_p)),
    )
    for name, keep in filters:
        probs = torch.where(keep(probs), probs, 0.0)
        probs = probs / probs.sum()
        result.append(SamplingStage(name, probs, int((probs > 0).sum())))
    return tuple(result)


def distribution(logits: Tensor, settings: SamplingSettings) -> Tensor:
    """Return the distribution that the next token is drawn from.

    Shapes: logits (V,) -> (V,) float64
    """
    return stages(logits, settings)[-1].probs


def new_generator(settings: SamplingSettings) -> torch.Generator:
    """Return the random numbers of one run, seeded, on the CPU whatever the model's device."""
    return torch.Generator(device="cpu").manual_seed(settings.seed)


def draw(probs: Tensor, generator: torch.Generator) -> int:
    """Draw one id with exactly one uniform number u: the first id whose running sum exceeds u.

    Shapes: probs (V,)
    """
    cumulative = probs.double().cumsum(0)
    u = torch.rand((), dtype=torch.float64, generator=generator) * cumulative[-1]
    index = int(torch.searchsorted(cumulative, u, right=True))
    return min(index, int(probs.nonzero().max()))  # rounding may put u on the total itself


def choose(logits: Tensor, settings: SamplingSettings, generator: torch.Generator) -> int:
    """Return the next id: the likeliest at temperature 0, else one draw.

    Shapes: logits (V,), on any device
    """
    if settings.is_greedy:
        return greedy_id(logits)
    return draw(distribution(logits.cpu(), settings), generator)


def _by_prob(probs: Tensor) -> Tensor:
    """Ids from the likeliest down, the lowest id first among equals."""
    return probs.argsort(descending=True, stable=True)
