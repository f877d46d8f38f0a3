"""The number panel of a step: each number with its kind, beside what no cache would cost."""

from __future__ import annotations

from typing import Any

from core.cost.decode_counts import recomputed_counts, step_counts, triangle
from core.decode.records import RunTrace
from pages.ui import units


def step_tiles(trace: RunTrace, index: int) -> list[dict[str, Any]]:
    """Return the tiles of step ``index``: counted by the running code, for one head, one layer.

    Scores are the ones kept under the mask; the ones executed have a tile of their own.
    """
    record = trace.steps[index]
    done = trace.counts_until(index)
    without = recomputed_counts(trace.n_prompt, index)
    now, is_prefill = record.counts, index == 0
    once = step_counts(record.context_len, record.context_len)
    tiles = [
        _tile(
            "scores_step",
            "Scores this step",
            units.count(now.scores_kept),
            "" if is_prefill else f"not {units.count(triangle(record.context_len))}",
        ),
        _tile(
            "scores_total",
            "Scores so far",
            units.count(done.scores_kept),
            "" if is_prefill else f"not {units.count(without.scores_kept)}",
        ),
        _tile(
            "projections_step",
            "K, V projections this step",
            units.count(now.kv_projections),
            "" if is_prefill else f"not {units.count(once.kv_projections)}",
        ),
        _tile(
            "projections_total",
            "K, V projections so far",
            units.count(done.kv_projections),
            "" if is_prefill else f"not {units.count(without.kv_projections)}",
        ),
        _tile(
            "scores_executed",
            "Scores executed so far",
            units.count(done.scores_executed),
            f"{units.count(done.scores_executed - done.scores_kept)} masked",
        ),
        _tile(
            "cache_in_use",
            "Cache in use",
            units.binary_bytes(record.kv_bytes_in_use),
            f"{record.context_len} tokens",
        ),
        _tile(
            "cache_allocated",
            "Cache allocated",
            units.binary_bytes(record.kv_bytes_allocated),
            f"{trace.config.max_seq_len} tokens",
        ),
    ]
    return tiles


def _tile(name: str, label: str, value: str, beside: str) -> dict[str, Any]:
    return {"id": name, "label": label, "value": value, "kind": "counted", "beside": beside}
