"""The measured pause before the first token."""

from __future__ import annotations

import pytest
import torch

from core.config import STORYTELLER
from core.machine import prefill
from core.machine.prefill import time_prefill
from core.machine.runs import measure
from core.machine.spec import MeasureSpec
from core.machine.timing import DeviceClock, clock_for
from core.model.weights import Weights


@pytest.fixture(scope="module")
def weights() -> Weights:
    return Weights.random(STORYTELLER, torch.float32, torch.device("cpu"), seed=0)


def test_the_faster_of_two_prefills_counts(weights: Weights) -> None:
    stamps = iter([0, 90_000_000, 100_000_000, 130_000_000])
    clock = DeviceClock(lambda: next(stamps), lambda: None)
    found = time_prefill(STORYTELLER, weights, clock, 16)
    assert found is not None
    assert (found.n_tokens, found.seconds) == (16, pytest.approx(0.03))


def test_a_prompt_longer_than_the_context_is_cut(weights: Weights) -> None:
    found = time_prefill(STORYTELLER, weights, clock_for(torch.device("cpu")), 10_000)
    assert found is not None
    assert found.n_tokens == STORYTELLER.max_seq_len
    assert found.seconds > 0


def test_a_prefill_too_long_for_a_processor_is_not_timed(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefill, "MOST_CPU_FLOPS", 1.0)
    assert time_prefill(STORYTELLER, weights, clock_for(torch.device("cpu"))) is None


def test_a_single_bench_has_its_prefill() -> None:
    spec = MeasureSpec(
        model="shipped", device="cpu", dtype="float32", context_len=8, n_steps=2, n_threads=1,
        probe_bytes=2**20,
    )  # fmt: skip
    found = measure(spec).prefill
    assert found is not None
    assert found.seconds > 0
    assert measure(spec, parts=False).prefill is None
