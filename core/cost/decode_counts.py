"""How many scores and K/V projections decoding costs, with a cache and without one.

All counts are for one head in one layer. A prompt of n tokens is prefilled at once and g
decode steps follow; "token by token from the first of N" is n = 1, g = N - 1. Kept scores are
those under the causal mask; executed scores are what a written-out product computes, which
for n rows is n * n with the upper half thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DecodeCounts:
    """Work of a whole decode, one head in one layer."""

    scores_kept: int
    scores_executed: int
    kv_projections: int


def triangle(n: int) -> int:
    """Return n (n + 1) / 2, the scores that a causal mask keeps for n tokens.

    >>> triangle(12)
    78
    """
    return n * (n + 1) // 2


def step_counts(n_new: int, context_len: int) -> DecodeCounts:
    """Return the work of one pass that appends ``n_new`` tokens and then attends to S.

    The pass keeps the last n_new rows of the triangle and executes n_new * S scores.

    Raises: ValueError unless 1 <= n_new <= context_len

    >>> step_counts(n_new=1, context_len=12)
    DecodeCounts(scores_kept=12, scores_executed=12, kv_projections=1)
    >>> step_counts(n_new=9, context_len=9)
    DecodeCounts(scores_kept=45, scores_executed=81, kv_projections=9)
    """
    if not 1 <= n_new <= context_len:
        raise ValueError(f"n_new must be from 1 to context_len ({context_len}), got {n_new}")
    kept = triangle(context_len) - triangle(context_len - n_new)
    return DecodeCounts(kept, n_new * context_len, n_new)


def cached_counts(n_prompt: int, n_steps: int) -> DecodeCounts:
    """Return the work with a cache: (n+g)(n+g+1)/2 scores kept, n + g projections.

    Raises: ValueError if n_prompt < 1 or n_steps < 0
    Source: closed form of :func:`step_counts` summed over the prefill and g steps

    >>> cached_counts(1, 11)
    DecodeCounts(scores_kept=78, scores_executed=78, kv_projections=12)
    >>> cached_counts(9, 4)
    DecodeCounts(scores_kept=91, scores_executed=127, kv_projections=13)
    """
    _check(n_prompt, n_steps)
    n_rows = n_prompt + n_steps
    executed = n_prompt**2 + triangle(n_rows) - triangle(n_prompt)
    return DecodeCounts(triangle(n_rows), executed, n_rows)


def recomputed_counts(n_prompt: int, n_steps: int) -> DecodeCounts:
    """Return the work when every step recomputes all of its s tokens, s = n .. n + g.

    Kept: the sum of s (s + 1) / 2, which is N (N + 1) (N + 2) / 6 from the first token on.
    Executed: the sum of s * s. Projections: the sum of s.

    Raises: ValueError if n_prompt < 1 or n_steps < 0

    >>> recomputed_counts(1, 11)
    DecodeCounts(scores_kept=364, scores_executed=650, kv_projections=78)
    >>> recomputed_counts(9, 4)
    DecodeCounts(scores_kept=335, scores_executed=615, kv_projections=55)
    """
    _check(n_prompt, n_steps)
    last, before = n_prompt + n_steps, n_prompt - 1
    return DecodeCounts(
        _tetrahedral(last) - _tetrahedral(before),
        _pyramidal(last) - _pyramidal(before),
        triangle(last) - triangle(before),
    )


def _tetrahedral(n: int) -> int:
    """Sum of s (s + 1) / 2 for s = 1 .. n."""
    return n * (n + 1) * (n + 2) // 6


def _pyramidal(n: int) -> int:
    """Sum of s * s for s = 1 .. n."""
    return n * (n + 1) * (2 * n + 1) // 6


def _check(n_prompt: int, n_steps: int) -> None:
    if n_prompt < 1:
        raise ValueError(f"n_prompt must be at least 1, got {n_prompt}")
    if n_steps < 0:
        raise ValueError(f"n_steps must be at least 0, got {n_steps}")
