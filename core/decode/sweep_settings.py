"""What a sweep may be asked for, without torch: rows, precisions, and the four named row counts."""

from __future__ import annotations

from dataclasses import dataclass

MAX_ROWS = 512
DTYPES = ("float32", "float16", "bfloat16", "int8", "int4")
"""Precisions in which the weights can be stored for a sweep."""

BATCH_ROWS = 8
DRAFT_TOKENS = 4
PREFILL_ROWS = 64


@dataclass(frozen=True)
class RowsPreset:
    """A named number of rows: the same sweep, four lessons."""

    name: str
    rows: int
    what: str


PRESETS = (
    RowsPreset("decode", 1, "one new token"),
    RowsPreset("batch", BATCH_ROWS, f"one new token each of {BATCH_ROWS} sequences"),
    RowsPreset(
        "verify",
        DRAFT_TOKENS + 1,
        f"{DRAFT_TOKENS} drafted tokens and the one before them, verified at once",
    ),
    RowsPreset("prefill", PREFILL_ROWS, f"{PREFILL_ROWS} prompt tokens at once"),
)
