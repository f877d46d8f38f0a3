"""Run every benchmark, or those named, and print one table: `python -m benchmarks [NAME ...]`.

A benchmark is a module of this package with ``TITLE`` and ``measure() -> list[Figure]``.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from types import ModuleType

import benchmarks
from benchmarks.figures import Figure


def found() -> dict[str, ModuleType]:
    """The benchmark modules by name."""
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name != "__main__"]
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "measure")}


def show(figure: Figure) -> str:
    """One line of the table."""
    mark = {True: "ok", False: "MISSED", None: ""}[figure.reached]
    value = f"{figure.value:,.4g} {figure.unit}"
    return f"  {figure.name:<58} {value:>18}  {figure.target:>10}  {mark:<6} {figure.note}".rstrip()


def main(wanted: list[str]) -> int:
    """Measure and print; the exit code is 1 where a target was missed."""
    modules = found()
    unknown = [name for name in wanted if name not in modules]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(modules)}", file=sys.stderr)
        return 2
    missed = 0
    for name in wanted or modules:
        print(f"\n{modules[name].TITLE} ({name})", flush=True)
        for figure in modules[name].measure():
            print(show(figure), flush=True)
            missed += figure.reached is False
    print(f"\n{missed} target(s) missed" if missed else "\nall targets reached")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
