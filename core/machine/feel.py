"""When each token of a text appears at a given latency: what an inter-token latency feels like.

A pure schedule: one machine's measured gaps beside modelled ones, the prefill pause first.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

WORDS_PER_MINUTE = 238
"""Silent reading of English non-fiction, mean of 190 studies (Brysbaert 2019), quoted."""
TOKENS_PER_WORD = 4 / 3
"""A usual ratio for English text and large vocabularies; a rule of thumb."""


@dataclass(frozen=True)
class Stream:
    """The moments at which the tokens of one machine appear, and what the times are.

    kind: "measured", "modelled" or "quoted". times_s: after the request, not decreasing.
    """

    label: str
    kind: str
    times_s: tuple[float, ...]

    @property
    def ttft_s(self) -> float:
        """The pause before the first token."""
        return self.times_s[0]

    def visible(self, t_s: float) -> int:
        """Tokens on screen at that time.

        >>> Stream("a machine", "modelled", (0.5, 0.6, 0.7)).visible(0.65)
        2
        """
        return bisect.bisect_right(self.times_s, t_s)


def stream(
    label: str, kind: str, prefill_s: float, gaps_s: Sequence[float], n_tokens: int
) -> Stream:
    """Schedule ``n_tokens``: the first after the prefill, then the gaps over and over.

    Raises: ValueError if there is no token or no gap, or a time is negative.

    >>> stream("phone", "modelled", 0.5, [0.25], 3).times_s
    (0.5, 0.75, 1.0)
    """
    if n_tokens < 1 or not gaps_s:
        raise ValueError(f"a stream needs 1 token and 1 gap, got {n_tokens} and {len(gaps_s)}")
    if prefill_s < 0 or min(gaps_s) < 0:
        raise ValueError(f"times must be at least 0, got {prefill_s} and {min(gaps_s)}")
    gaps = itertools.islice(itertools.cycle(gaps_s), n_tokens - 1)
    return Stream(label, kind, tuple(itertools.accumulate(gaps, initial=prefill_s)))


def reading_s_per_token(words_per_minute: float = WORDS_PER_MINUTE) -> float:
    """Seconds a reader spends on a token.

    >>> round(reading_s_per_token(), 3)
    0.189
    """
    if words_per_minute <= 0:
        raise ValueError(f"words_per_minute must be above 0, got {words_per_minute}")
    return 60 / (words_per_minute * TOKENS_PER_WORD)
