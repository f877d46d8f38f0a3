"""The heads that were found by score after training, named for the learner; no torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HEADS_FILE = Path(__file__).resolve().parents[2] / "assets" / "model" / "heads.json"


@dataclass(frozen=True)
class NamedHead:
    """A head with a job: what it is called, what it does in a sentence, how strongly."""

    layer: int
    head: int
    name: str
    sentence: str
    score: float


@cache
def named_heads() -> tuple[NamedHead, ...]:
    """The named heads, the most telling one first; empty where none were recorded."""
    if not HEADS_FILE.exists():
        return ()
    records = json.loads(HEADS_FILE.read_text(encoding="utf-8"))["heads"]
    return tuple(
        NamedHead(r["layer"], r["head"], r["name"], r["sentence"], r["score"]) for r in records
    )
