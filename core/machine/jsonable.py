"""Records to JSON and back, by their types: what crosses a pipe comes out as what went in."""

from __future__ import annotations

import types
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_plain(record: Any) -> dict[str, Any]:
    """A frozen record as dictionaries, lists and numbers.

    >>> from core.machine.spec import MeasureSpec
    >>> to_plain(MeasureSpec(n_steps=5))["n_steps"]
    5
    """
    return asdict(record)


def from_plain(kind: type[T], value: Any) -> T:
    """Build the record again from what :func:`to_plain` gave.

    Raises: ValueError naming a field that is missing, unknown, or of a kind that does not fit.

    >>> from core.machine.spec import MeasureSpec
    >>> from_plain(MeasureSpec, to_plain(MeasureSpec(sweep=(1, 2)))) == MeasureSpec(sweep=(1, 2))
    True
    """
    result: T = _build(kind, value, kind.__name__)
    return result


def _build(kind: Any, value: Any, where: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(kind):
            return None
        (inner,) = (arg for arg in get_args(kind) if arg is not type(None))
        return _build(inner, value, where)
    if origin is Literal:
        return _checked(value in get_args(kind), value, where)
    if origin is tuple:
        return _build_tuple(get_args(kind), value, where)
    if is_dataclass(kind):
        return _build_record(kind, value, where)
    if kind is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(_checked(is_number, value, where))
    return _checked(type(value) is kind, value, where)


def _build_record(kind: Any, value: Any, where: str) -> Any:
    _checked(isinstance(value, dict), value, where)
    names = {field.name for field in fields(kind)}
    if set(value) != names:
        wrong = sorted(set(value) ^ names)
        raise ValueError(f"{where} has missing or unknown fields: {', '.join(wrong)}")
    hints = get_type_hints(kind)
    return kind(**{name: _build(hints[name], value[name], f"{where}.{name}") for name in names})


def _build_tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    _checked(isinstance(value, list | tuple), value, where)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_build(kinds[0], item, where) for item in value)
    _checked(len(value) == len(kinds), value, where)
    return tuple(_build(kind, item, where) for kind, item in zip(kinds, value, strict=True))


def _checked(fits: bool, value: Any, where: str) -> Any:
    if not fits:
        raise ValueError(f"{where} does not fit its type, got {value!r}")
    return value
