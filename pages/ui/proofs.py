"""What the proof badge says, step by step: the numbers first, the word "identical" only for 0."""

from __future__ import annotations

from typing import Any

from core.decode.proof_record import RunProof, StepProof
from pages.ui import units

FORMAT = 1


def proof_payload(proof: RunProof) -> dict[str, Any]:
    """Return the proof of a run in the form that the stages draw."""
    return {
        "format": FORMAT,
        "same_order": proof.same_order,
        "steps": [_step(step) for step in proof.steps],
        "reason": proof.reason,
    }


def proof_key(run_key: str) -> str:
    """Return the name of a run's proof in the browser."""
    return f"{run_key}:proof"


def _step(step: StepProof) -> dict[str, Any]:
    return {
        "ok": step.ok,
        "identical": step.identical,
        "title": _title(step),
        "detail": " · ".join(_details(step)),
    }


def _title(step: StepProof) -> str:
    if not step.ok:
        return "Not the same as without a cache"
    return "Same as without a cache: identical" if step.identical else "Same as without a cache"


def _details(step: StepProof) -> list[str]:
    rows = f"+{step.appended} row" + ("" if step.appended == 1 else "s")
    return [
        f"max |Δlogit| {units.difference(step.max_abs_logit_diff)}",
        f"max |Δweight| {units.difference(step.max_abs_row_diff)}",
        "same argmax" if step.same_argmax else "another argmax",
        "older K, V unchanged" if step.old_kv_unchanged else "older K, V CHANGED",
        rows,
    ]
