"""The source of a core function, as it stands in its file; nothing is imported to read it."""

from __future__ import annotations

import ast
from functools import cache

from pages.ui.registry import ROOT


@cache
def source_of(module: str, name: str) -> str:
    """Return the text of a function or class, or of a method given as ``Class.method``.

    Raises: ValueError if the module defines no such name

    >>> source_of("core.cost.decode_counts", "triangle").splitlines()[0]
    'def triangle(n: int) -> int:'
    """
    text = ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    body: list[ast.stmt] = ast.parse(text).body
    found: ast.FunctionDef | ast.ClassDef | None = None
    for part in name.split("."):
        found = next(
            (
                node
                for node in body
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == part
            ),
            None,
        )
        if found is None:
            raise ValueError(f"{module} defines no {name!r}")
        body = found.body
    if found is None:
        raise ValueError("name must not be empty")
    first = min([found.lineno, *(d.lineno for d in found.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : found.end_lineno])
