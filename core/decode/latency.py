"""Latency of a generation from the times of its tokens: TTFT, ITL and TPOT; no torch.

n tokens have n - 1 gaps. The wait for the first token (TTFT) is none of them. A burst of
several tokens is several tokens, so the time per token (TPOT) counts them all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of inter-token gaps, as :func:`percentile` takes them; all None without a gap.

    Units: seconds
    """

    p50: float | None
    p90: float | None
    p99: float | None
    min: float | None
    n: int


@dataclass(frozen=True)
class Latency:
    """What the token times say; ``tpot_s`` is None for a single token, which has no gap.

    Units: seconds
    """

    ttft_s: float
    itl_s: tuple[float, ...]
    tpot_s: float | None

    @property
    def mean_itl_s(self) -> float | None:
        """Mean gap, None without one."""
        return sum(self.itl_s) / len(self.itl_s) if self.itl_s else None


def latency(token_times_s: Sequence[float]) -> Latency:
    """Return the latency of tokens that arrived at these times after the request.

    Raises: ValueError if there is no token, or a time is before the one before it.

    >>> latency([0.5, 0.75, 1.25])
    Latency(ttft_s=0.5, itl_s=(0.25, 0.5), tpot_s=0.375)
    >>> latency([0.5]).tpot_s is None
    True
    """
    if not token_times_s:
        raise ValueError("token_times_s must hold at least one time, got none")
    gaps = tuple(later - earlier for earlier, later in itertools.pairwise(token_times_s))
    if any(gap < 0 for gap in gaps):
        raise ValueError(f"token_times_s must not decrease, got {list(token_times_s)}")
    span = token_times_s[-1] - token_times_s[0]
    return Latency(token_times_s[0], gaps, span / len(gaps) if gaps else None)


def burst_latency(
    first_token_s: float, bursts: Sequence[tuple[float, int]]
) -> tuple[float | None, float | None]:
    """Return (time per token, time per step) when steps bring several tokens at once.

    ``bursts`` are (time, number of tokens) after the first token. Both are None without one.

    Raises: ValueError if a burst has no token.

    >>> burst_latency(0.0, [(1.0, 3), (2.0, 1)])
    (0.5, 1.0)
    """
    if any(n_tokens < 1 for _, n_tokens in bursts):
        raise ValueError(f"every burst must have at least 1 token, got {list(bursts)}")
    if not bursts:
        return None, None
    span = bursts[-1][0] - first_token_s
    return span / sum(n_tokens for _, n_tokens in bursts), span / len(bursts)


def percentile(values: Sequence[float], percent: float) -> float:
    """The percentile with linear interpolation between the ranks, as numpy's default.

    Raises: ValueError if there is no value or ``percent`` is outside 0 to 100.

    >>> percentile([31, 30, 32, 31, 30], 50), percentile([1.0, 2.0], 75)
    (31.0, 1.75)
    """
    if not values:
        raise ValueError("values must hold at least 1 number, got none")
    if not 0 <= percent <= 100:
        raise ValueError(f"percent must be 0 to 100, got {percent}")
    ordered = sorted(values)
    rank = percent / 100 * (len(ordered) - 1)
    below, above = math.floor(rank), math.ceil(rank)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (rank - below))


def percentiles(gaps_s: Sequence[float]) -> Percentiles:
    """Return p50, p90, p99, the minimum and the number of gaps.

    >>> percentiles([4.0, 1.0, 3.0, 2.0]).p50
    2.5
    >>> percentiles([]).p50 is None
    True
    """
    if not gaps_s:
        return Percentiles(None, None, None, None, 0)
    p50, p90, p99 = (percentile(gaps_s, percent) for percent in (50, 90, 99))
    return Percentiles(p50, p90, p99, min(gaps_s), len(gaps_s))
