"""Component assets read from files: modules joined into one text, style sheets into another.

A component's script runs from a blob address, which cannot import, so the modules it needs
are concatenated: import lines go, ``export`` goes, and the entry function becomes the default
export. Node imports the same files as they are, for their tests. Comments and indentation go
too, because Streamlit sends the script again with every changed message of its component.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from pages.ui import palette

ASSETS = Path(__file__).resolve().parents[2] / "assets"

STAGE_SHEETS = ("stage",)

_IMPORT = re.compile(r"^import\s*\{[^}]*\}\s*from\s*[\"']\./(?P<name>[\w-]+)\.mjs[\"'];?\s*$", re.M)
_ANY_IMPORT = re.compile(r"^\s*import\b.*$", re.M)
_DEFAULT = re.compile(r"^export\s+default\s+\w+;?\s*$", re.M)
_EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?(?:function|class|const|let)\b)", re.M)


def read(path: str) -> str:
    """Return the text of a file under ``assets/``."""
    return (ASSETS / path).read_text(encoding="utf-8")


@cache
def modules(entry: str) -> tuple[str, ...]:
    """Return the names of the modules that ``entry`` needs, dependencies first, itself last."""
    order: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"modules must not import in a circle, got {' -> '.join(path)}")
        if name in order:
            return
        for match in _IMPORT.finditer(read(f"js/{name}.mjs")):
            visit(match["name"], (*path, name))
        order.append(name)

    visit(entry, ())
    return tuple(order)


@cache
def script(entry: str, function: str | None = "mount") -> str:
    """Return one script: ``entry`` with what it imports, and ``function`` as default export.

    Raises: ValueError if a module imports in a form that cannot be joined
    """
    parts = []
    for name in modules(entry):
        text = _DEFAULT.sub("", _IMPORT.sub("", read(f"js/{name}.mjs")))
        left = _ANY_IMPORT.search(text)
        if left:
            raise ValueError(
                f'js/{name}.mjs must import as `import {{ a }} from "./b.mjs"`, '
                f"got {left[0].strip()!r}"
            )
        parts.append(f"// {name}.mjs\n{bare(_EXPORT.sub('', text), name)}\n")
    if function is not None:
        parts.append(f"export default {function}\n")
    return "".join(parts)


def bare(source: str, name: str = "source") -> str:
    """Return a script without indentation, empty lines, and comments that start a line.

    A comment behind code stays, so strings, patterns and templates are never looked into.

    >>> bare("/** Why. */\\nfunction f() {\\n  // how\\n  return '// kept' // kept\\n}\\n")
    "function f() {\\nreturn '// kept' // kept\\n}"

    Raises: ValueError if a template literal runs over several lines, or a comment never ends
    """
    lines: list[str] = []
    inside = False
    for full in source.splitlines():
        line = full.strip()
        while inside or line.startswith("/*"):
            _, end, rest = line[0 if inside else 2 :].partition("*/")
            inside, line = not end, rest.strip()
            if inside:
                break
        if inside or not line or line.startswith("//"):
            continue
        if line.count("`") % 2:
            raise ValueError(
                f"js/{name}.mjs must keep a template literal on one line, got {line!r}"
            )
        lines.append(line)
    if inside:
        raise ValueError(f"js/{name}.mjs must end its last comment, got none")
    return "\n".join(lines)


def stage_styles(entry: str) -> str:
    """Return the style of the stage ``entry``: palette, what all stages share, its own sheet."""
    own = (entry,) if (ASSETS / f"css/{entry}.css").exists() else ()
    return styles(*STAGE_SHEETS, *own)


@cache
def styles(*names: str) -> str:
    """Return the palette's variables and the named style sheets of ``assets/css/``."""
    return "\n".join([palette.css(), *(read(f"css/{name}.css") for name in names)])
