"""Places and labels along an axis, chosen and formatted here so that the browser only draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pages.ui import units

Format = Callable[[float], str]
Tick = list[Any]


def linear(high: float, text: Format, most: int = 6) -> list[Tick]:
    """Return round places from 0 to ``high``, at most ``most`` of them above 0.

    >>> [tick[0] for tick in linear(17.2e9, units.decimal_bytes)]
    [0.0, 5000000000.0, 10000000000.0, 15000000000.0]
    """
    raw = high / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * n for n in (1, 2, 2.5, 5, 10) if power * n >= raw * (1 - 1e-9))
    return [[step * i, text(step * i)] for i in range(math.floor(high / step * (1 + 1e-9)) + 1)]


def decades(low: float, high: float, text: Format) -> list[Tick]:
    """Return the powers of ten from ``low`` to ``high``, every other one where there are many.

    >>> [tick[0] for tick in decades(1, 1048576, str)]
    [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0]
    """
    first = math.ceil(math.log10(low) - 1e-9)
    last = math.floor(math.log10(high) + 1e-9)
    every = 1 if last - first <= 8 else 2
    return [[10.0**n, text(10.0**n)] for n in range(first, last + 1, every)]


def doublings(low: float, high: float, text: Format, every: int = 2) -> list[Tick]:
    """Return every ``every``-th power of two from ``low`` to ``high``.

    >>> [tick[0] for tick in doublings(1, 1024, str)]
    [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0]
    """
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    return [[2.0**n, text(2.0**n)] for n in range(first, last + 1, every)]


def decade_below(value: float) -> float:
    """Return the power of ten at or below ``value``.

    >>> decade_below(131072)
    100000.0
    """
    return float(10.0 ** math.floor(math.log10(value) + 1e-9))


def decade_above(value: float) -> float:
    """Return the power of ten at or above ``value``."""
    return float(10.0 ** math.ceil(math.log10(value) - 1e-9))


def axis(low: float, high: float, label: str, places: list[Tick]) -> dict[str, Any]:
    """Return an axis as the chart draws it."""
    return {"min": low, "max": high, "label": label, "ticks": places}


def tokens(value: float) -> str:
    """Return a whole number of tokens."""
    return units.count(round(value))
