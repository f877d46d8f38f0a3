"""Checks of numbers that people type: whole and positive, with the range in the message."""

from __future__ import annotations

import math

MAX_CONTEXT = 10**9
MAX_BATCH = 10**6


def whole(name: str, value: object, minimum: int = 1, maximum: int = 10**9) -> int:
    """Return the value as an int if it is a whole number in range.

    Raises: ValueError with name, allowed range and value

    >>> whole("batch", 4.0)
    4
    >>> whole("batch", 2.5)
    Traceback (most recent call last):
    ValueError: batch must be a whole number from 1 to 1,000,000,000, got 2.5
    """
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    if number is None or not minimum <= number <= maximum:
        raise ValueError(
            f"{name} must be a whole number from {minimum:,} to {maximum:,}, got {value!r}"
        )
    return number


def context(value: object) -> int:
    """Return a checked context length in tokens."""
    return whole("context", value, 1, MAX_CONTEXT)


def batch(value: object) -> int:
    """Return a checked number of sequences."""
    return whole("batch", value, 1, MAX_BATCH)


def positive(name: str, value: object, maximum: float = 1e30) -> float:
    """Return the value as a float if it is finite, above 0 and not absurd.

    Raises: ValueError with name, allowed range and value

    >>> positive("bandwidth", 3.35e12)
    3350000000000.0
    """
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    if not usable or not _finite(value) or not 0 < value <= maximum:  # type: ignore[operator]
        raise ValueError(f"{name} must be a number above 0 and at most {maximum:g}, got {value!r}")
    return float(value)  # type: ignore[arg-type]


def _finite(value: object) -> bool:
    """Whether a number is finite; an int too large for a float is not."""
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False
