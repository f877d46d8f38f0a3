"""Latencies as the live picture draws them: thinned, binned, on an axis that does not jump."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.decode.latency import percentile
from pages.ui import ticks, units

MOST_POINTS = 360
"""A strip is a few hundred pixels wide; more tokens are drawn as middle and extremes."""
N_BINS = 36
ROUND_TOPS = (1, 1.2, 1.6, 2, 2.5, 3, 4, 5, 6, 8, 10)
OUTLIER = 2.5
"""An axis ends at this many medians at the latest; what lies beyond is marked and counted."""


def milliseconds(values_s: Sequence[float]) -> list[float]:
    """Seconds as milliseconds with five significant digits, as they are sent."""
    return [float(f"{value * 1e3:.5g}") for value in values_s]


def series(samples_s: Sequence[float], first: int = 0, *, words: bool = False) -> dict[str, Any]:
    """Return a series for the strip; long ones as the median and extremes of equal stretches.

    ``first`` is the number of the first token; ``words`` adds what each place says when pointed
    at.

    >>> series([0.002, 0.003])["ms"], len(series([0.001] * 1000)["ms"]) <= MOST_POINTS
    ([2.0, 3.0], True)
    """
    per = max(1, -(-len(samples_s) // MOST_POINTS))
    pieces = [samples_s[i : i + per] for i in range(0, len(samples_s), per)]
    middles = [percentile(piece, 50) for piece in pieces]
    found: dict[str, Any] = {
        "ms": milliseconds(middles),
        "per": per,
        "first": first,
    }
    if words:
        found["texts"] = [_reading(piece, first + i * per) for i, piece in enumerate(pieces)]
    if per > 1:
        found["low"] = milliseconds([min(piece) for piece in pieces])
        found["high"] = milliseconds([max(piece) for piece in pieces])
    return found


def _reading(piece: Sequence[float], token: int) -> str:
    if len(piece) == 1:
        return f"Token {units.count(token)}: {units.seconds(piece[0], 3)}"
    ends = f"{units.seconds(min(piece), 3)} to {units.seconds(max(piece), 3)}"
    last = units.count(token + len(piece) - 1)
    middle = units.seconds(percentile(piece, 50), 3)
    return f"Tokens {units.count(token)} to {last}: {ends}, median {middle}"


def axis_top(samples_s: Sequence[float], also_s: Sequence[float] = ()) -> float:
    """Return the top of the axis in milliseconds: a round number above nearly all latencies.

    ``also_s`` are values that must fit, such as the floor.

    >>> axis_top([0.0241] * 50 + [0.2], [0.0208])
    40.0
    """
    middle = percentile(samples_s, 50)
    high = min(1.15 * percentile(samples_s, 97), OUTLIER * middle)
    wanted = max(high, 1.3 * middle, *(1.1 * s for s in also_s))
    milli = wanted * 1e3
    power = ticks.decade_below(milli)
    return float(next(power * n for n in ROUND_TOPS if power * n >= milli * (1 - 1e-9)))


def axis(top_ms: float, *, n_beyond: int, last: str) -> dict[str, Any]:
    """Return the axis of milliseconds with everything that is written beside it."""
    return {
        "max": top_ms,
        "ticks": ticks.linear(top_ms, lambda value: units.number(value, 3), 5),
        "label": "ms per token",
        "first": "token 0",
        "tokens": last,
        "often": "how often",
        "beyond": beyond(n_beyond, top_ms),
    }


def beyond(n_beyond: int, top_ms: float) -> str:
    """Say how many tokens the axis leaves out; empty for none.

    >>> beyond(1, 40.0), beyond(0, 40.0)
    ('1 token above 40 ms', '')
    """
    if not n_beyond:
        return ""
    noun = "token" if n_beyond == 1 else "tokens"
    return f"{units.count(n_beyond)} {noun} above {units.number(top_ms, 3)} ms"


def bin_edges(top_ms: float) -> list[float]:
    """Return the edges of the histogram's bins, from 0 to the top of the axis."""
    return [top_ms * i / N_BINS for i in range(N_BINS + 1)]


def bin_counts(samples_s: Sequence[float], top_ms: float) -> list[int]:
    """Return how many latencies lie in each bin; those beyond the top are in none.

    >>> counts = bin_counts([0.0005, 0.0095, 0.0100, 0.5], 10.0)
    >>> counts[1], counts[-1], sum(counts)
    (1, 1, 3)
    """
    counts = [0] * N_BINS
    for value in samples_s:
        place = int(value * 1e3 / top_ms * N_BINS)
        if value * 1e3 <= top_ms:
            counts[min(place, N_BINS - 1)] += 1
    return counts
