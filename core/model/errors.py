"""The one error of a model folder that cannot be used."""

from __future__ import annotations

from pathlib import Path


class CheckpointError(Exception):
    """A model file is missing, truncated, altered or malformed; the message says what to do.

    >>> print(CheckpointError(Path("assets/model/config.json"), "is missing"))
    assets/model/config.json is missing. Run `make model` to build the model files again.
    """

    def __init__(self, file: Path, problem: str) -> None:
        super().__init__(
            f"{_shown(file)} {problem}. Run `make model` to build the model files again."
        )
        self.file = file


def _shown(file: Path) -> str:
    """The path as a person would type it: relative to the working directory where it can be."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)
