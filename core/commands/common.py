"""What all headless commands share: strict flags, the envelope, one-line errors; no torch."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

import core

SCHEMA_VERSION = 1
EXIT_ERROR = 2


class Command(Protocol):
    """What a module in ``core.commands`` offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's flags, without importing torch."""

    def run(self, args: argparse.Namespace) -> dict[str, Any]:
        """Do the work and return the JSON object."""

    def summary(self, result: Mapping[str, Any]) -> str:
        """Say the result in a few lines, for people who did not ask for JSON."""


class StrictParser(argparse.ArgumentParser):
    """A parser that takes no abbreviated flags and reports an error in one line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, **kwargs)

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with code 2."""
        fail(message)


def fail(message: str) -> NoReturn:
    """Print one line on standard error and exit with code 2."""
    line = " ".join(message.split())
    sys.stderr.write(f"error: {line}\n")
    raise SystemExit(EXIT_ERROR)


def envelope(
    result: Mapping[str, Any], *, notes: Sequence[str] = (), model_sha256: str | None = None
) -> dict[str, Any]:
    """Return the result with the fields that every object carries.

    ``model_sha256`` is there where a model ran.

    >>> sorted(envelope({"n": 1}))
    ['app_version', 'n', 'notes', 'schema_version']
    """
    head: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "app_version": core.__version__}
    if model_sha256 is not None:
        head["model_sha256"] = model_sha256
    return {**head, **result, "notes": list(notes)}


def to_json(result: Mapping[str, Any]) -> str:
    """Return strict JSON on one line; a number that JSON cannot hold is an error.

    Raises: ValueError for NaN or an infinity.
    """
    return json.dumps(result, allow_nan=False)


def whole_number(minimum: int, maximum: int | None = None) -> Callable[[str], int]:
    """Return a flag type for whole numbers in a range.

    >>> whole_number(1)("12")
    12
    """
    wanted = f"a whole number of at least {minimum}" + (
        "" if maximum is None else f" and at most {maximum}"
    )

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {wanted}, got {text!r}") from None
        if value < minimum or (maximum is not None and value > maximum):
            raise argparse.ArgumentTypeError(f"must be {wanted}, got {text}")
        return value

    return parse


def finite_number(text: str) -> float:
    """Parse a flag that takes any finite number; its range is checked where it is used.

    >>> finite_number("0.5")
    0.5
    """
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a finite number, got {text!r}") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a finite number, got {text!r}")
    return value


def positive_number(text: str) -> float:
    """Parse a flag that takes a finite number above 0.

    >>> positive_number("3e12")
    3000000000000.0
    """
    value = finite_number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be a number above 0, got {text}")
    return value


def index_list(text: str) -> tuple[int, ...] | None:
    """Parse "all" (None) or indices that count from 0, as "0,2".

    >>> index_list("2,0,2"), index_list("all")
    ((0, 2), None)
    """
    if text == "all":
        return None
    try:
        indices = {int(part) for part in text.split(",")}
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be 'all' or indices as 0,2; got {text!r}") from None
    return tuple(sorted(indices))


def picked(name: str, indices: tuple[int, ...] | None, limit: int) -> tuple[int, ...]:
    """Return the indices asked for, all where none were named.

    Raises: ValueError if one is outside 0 .. limit - 1.
    """
    if indices is None:
        return tuple(range(limit))
    for index in indices:
        if not 0 <= index < limit:
            raise ValueError(f"--{name} must be 0 to {limit - 1}, got {index}")
    return indices
