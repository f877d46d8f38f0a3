"""A decode step needs no mask; a prefill does."""

from __future__ import annotations

import pytest

from core.decode.mask_check import check_mask
from core.decode.trace import Run
from core.model.checkpoint import LoadedModel, load_model

PROMPT = "Tom has a red ball. Mia has"


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return load_model()


def test_decode_row_is_the_same_bit_for_bit_with_a_mask_and_without(model: LoadedModel) -> None:
    trace = Run(model, PROMPT, ignore_end=True).extend(5)
    for step in range(1, 6):
        check = check_mask(model, trace, step)
        assert check.identical
        assert (check.n_scores, check.n_masked) == (trace.rows_after(step), 0)


def test_prefill_without_its_mask_is_another_result(model: LoadedModel) -> None:
    trace = Run(model, PROMPT).extend(0)
    n = trace.n_prompt
    check = check_mask(model, trace, 0)
    assert (check.n_scores, check.n_masked) == (n * n, n * (n - 1) // 2)
    assert check.max_abs_weight_diff > 0.1
    assert not check.identical


def test_a_step_that_did_not_run_is_refused(model: LoadedModel) -> None:
    trace = Run(model, PROMPT).extend(1)
    with pytest.raises(ValueError, match="step must be from 0 to 1, got 2"):
        check_mask(model, trace, 2)
