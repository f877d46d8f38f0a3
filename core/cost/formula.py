"""A formula that is shown and evaluated from one string, with exact arithmetic where possible.

The same parsed expression gives the value and, with the numbers put in for the names, the
text beside it; there is no second implementation that could drift.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

Number = int | float
_Value = Fraction | float
MAX_EXACT_POWER = 64

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "max": max, "min": min, "ceil": math.ceil, "floor": math.floor,
    "round": lambda value: math.floor(value + Fraction(1, 2)),
}  # fmt: skip


@dataclass(frozen=True)
class Formula:
    """A named result: an expression in named variables, their values, and the unit.

    Only + - * / **, max, min, ceil, floor and round; nothing else can be evaluated.

    >>> f = Formula("kv", "2 * n_layers * n_kv_heads * head_dim * bytes_per_number",
    ...             {"n_layers": 32, "n_kv_heads": 8, "head_dim": 128, "bytes_per_number": 2})
    >>> f.value, f.text
    (131072, '2 * 32 * 8 * 128 * 2 = 131072')
    """

    name: str
    expression: str
    variables: Mapping[str, Number] = field(default_factory=dict, hash=False)
    unit: str = ""
    kind: str = "modelled"

    @property
    def value(self) -> Number:
        """The value; a whole number as int.

        Raises: ValueError if the expression has anything but arithmetic on known names
        """
        return evaluate(self.expression, self.variables)

    @property
    def substituted(self) -> str:
        """The expression with the numbers put in for the names."""
        return re.sub(r"[A-Za-z_]\w*", self._number, self.expression)

    @property
    def text(self) -> str:
        """The expression in numbers, and what it comes to."""
        return f"{self.substituted} = {number_text(self.value)}"

    @property
    def symbolic(self) -> str:
        """The expression in names, with the name of the result in front."""
        return f"{self.name} = {self.expression}"

    def _number(self, match: re.Match[str]) -> str:
        name = match.group()
        return name if name in _FUNCTIONS else number_text(self.variables[name])


def number_text(value: Number) -> str:
    """Return a number so that reading it back gives the same number.

    >>> number_text(3350000000000.0), number_text(0.5), number_text(7)
    ('3350000000000', '0.5', '7')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e18:
        return str(int(value))
    return repr(value)


def evaluate(expression: str, variables: Mapping[str, Number]) -> Number:
    """Return the value of an arithmetic expression, exactly as long as nothing is irrational.

    Raises: ValueError for anything but arithmetic, an unknown name or a division by zero

    >>> evaluate("34 / 32 * n", {"n": 512})
    544
    >>> evaluate("__import__('os')", {})
    Traceback (most recent call last):
    ValueError: not arithmetic: __import__('os')
    """
    try:
        result = _walk(_parsed(expression), variables)
    except ZeroDivisionError as error:
        raise ValueError(f"division by zero in {expression}") from error
    if isinstance(result, float):
        return int(result) if result.is_integer() and abs(result) < 2**53 else result
    if isinstance(result, int):
        return result
    return result.numerator if result.denominator == 1 else float(result)


@lru_cache(maxsize=512)
def _parsed(expression: str) -> ast.expr:
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"not arithmetic: {expression}") from error


def _walk(node: ast.expr, variables: Mapping[str, Number]) -> _Value:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(node.value)
    if isinstance(node, ast.Name) and node.id in variables:
        return Fraction(variables[node.id])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_walk(node.operand, variables)
    if isinstance(node, ast.BinOp):
        left, right = _walk(node.left, variables), _walk(node.right, variables)
        if isinstance(node.op, ast.Pow):
            return _power(left, right)
        if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](left, right)  # type: ignore[no-any-return]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        function = _FUNCTIONS.get(node.func.id)
        if function is not None and not node.keywords:
            return Fraction(function(*(_walk(arg, variables) for arg in node.args)))
    raise ValueError(f"not arithmetic: {ast.unparse(node)}")


def _power(base: _Value, exponent: _Value) -> _Value:
    """Exact for small whole exponents; large ones would make numbers of a million digits."""
    if (
        isinstance(base, Fraction)
        and exponent == int(exponent)
        and 0 <= exponent <= MAX_EXACT_POWER
    ):
        return base ** int(exponent)
    return float(float(base) ** float(exponent))
