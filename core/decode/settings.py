"""How the next token is chosen: the validated settings, readable without torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_SEED = 2**63 - 1


@dataclass(frozen=True)
class SamplingSettings:
    """The sampling settings of one run; temperature 0 is greedy and uses no filter.

    ``top_k`` 0, ``top_p`` 1 and ``min_p`` 0 switch their filter off. A ``top_k`` above the
    vocabulary filters nothing.

    Raises: ValueError with the name, the allowed range and the value given.

    >>> SamplingSettings().is_greedy
    True
    >>> SamplingSettings(temperature=-0.5)
    Traceback (most recent call last):
        ...
    ValueError: temperature must be a finite number of at least 0, got -0.5
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not (_is_number(self.temperature) and self.temperature >= 0):
            raise ValueError(
                f"temperature must be a finite number of at least 0, got {self.temperature!r}"
            )
        if not (_is_integer(self.top_k) and self.top_k >= 0):
            raise ValueError(f"top_k must be a whole number of at least 0, got {self.top_k!r}")
        if not (_is_number(self.top_p) and 0 < self.top_p <= 1):
            raise ValueError(f"top_p must be above 0 and at most 1, got {self.top_p!r}")
        if not (_is_number(self.min_p) and 0 <= self.min_p <= 1):
            raise ValueError(f"min_p must be from 0 to 1, got {self.min_p!r}")
        if not (_is_integer(self.seed) and 0 <= self.seed <= MAX_SEED):
            raise ValueError(f"seed must be a whole number from 0 to 2**63 - 1, got {self.seed!r}")

    @property
    def is_greedy(self) -> bool:
        """Whether the likeliest token is taken, without a draw."""
        return self.temperature == 0


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
