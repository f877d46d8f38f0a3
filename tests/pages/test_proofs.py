"""The badge's words: red with its numbers where the claim fails, "identical" only for 0."""

from dataclasses import replace

import pytest

from core.decode.proof_record import RunProof, StepProof
from pages.ui.proofs import proof_payload

GOOD = StepProof(
    index=1,
    dtype="float32",
    max_abs_logit_diff=5e-6,
    max_abs_row_diff=3e-7,
    same_argmax=True,
    old_kv_unchanged=True,
    appended=1,
    n_new=1,
    trace_diff=0.0,
    top_gap=4.0,
    logit_span=36.0,
)


def badge(step: StepProof) -> dict[str, object]:
    """The badge of a run of this one step."""
    payload = proof_payload(RunProof("float32", False, (step,)))
    (shown,) = payload["steps"]
    return dict(shown)


def test_rounding_is_the_same_but_not_identical() -> None:
    shown = badge(GOOD)
    assert (shown["ok"], shown["identical"]) == (True, False)
    assert shown["title"] == "Same as without a cache"


def test_only_a_difference_of_zero_is_called_identical() -> None:
    shown = badge(replace(GOOD, max_abs_logit_diff=0.0, max_abs_row_diff=0.0))
    assert shown["title"] == "Same as without a cache: identical"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"max_abs_logit_diff": 0.5}, "max |Δlogit| 0.5"),
        ({"max_abs_row_diff": 0.25}, "max |Δweight| 0.25"),
        ({"same_argmax": False}, "another argmax"),
        ({"old_kv_unchanged": False}, "older K, V CHANGED"),
        ({"appended": 2}, "+2 rows"),
    ],
)
def test_every_fault_turns_the_badge_red_and_is_named(fault: dict[str, object], words: str) -> None:
    shown = badge(replace(GOOD, **fault))  # type: ignore[arg-type]
    assert shown["ok"] is False
    assert shown["title"] == "Not the same as without a cache"
    assert words in str(shown["detail"])
