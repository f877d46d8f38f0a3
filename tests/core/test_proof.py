"""The proof: it holds for honest runs, and it turns red for every kind of fault."""

import dataclasses

import pytest
import torch

from core.decode.proof import prove_run, prove_steps
from core.decode.proof_record import RunProof, StepProof
from core.decode.trace import Run
from core.model.checkpoint import LoadedModel
from core.model.kv_cache import KVCache

PROMPT = "Tom has a red ball. Mia has a"


@pytest.fixture(scope="module")
def trace(shipped):
    return Run(shipped, PROMPT, ignore_end=True).extend(8)


def test_mc_01_every_step_holds_in_float32(shipped, trace):
    proof = prove_run(shipped, trace)
    assert proof.ok
    assert [step.index for step in proof.steps] == list(range(9))
    assert all(step.same_argmax and step.old_kv_unchanged for step in proof.steps)
    assert [step.appended for step in proof.steps] == [trace.n_prompt] + [1] * 8
    assert proof.max_abs_logit_diff <= 1e-4
    assert proof.max_abs_row_diff <= 1e-5
    assert all(step.trace_diff == 0 for step in proof.steps)


def test_the_same_summation_order_brings_the_rounding_down(shipped, trace):
    proof = prove_run(shipped, trace, same_order=True)
    assert proof.ok
    # Exactly 0 where the host's arithmetic allows; never more than rounding.
    assert proof.max_abs_logit_diff <= prove_run(shipped, trace).max_abs_logit_diff
    assert ("bit for bit" in proof.reason) == proof.identical


def test_mc_01_bfloat16_holds_and_claims_no_more_than_it_found(shipped_bfloat16):
    trace = Run(shipped_bfloat16, PROMPT, ignore_end=True).extend(8)
    assert trace.dtype == "bfloat16"
    assert trace.steps[-1].kv_bytes_in_use == 1024 * trace.n_rows
    proof = prove_run(shipped_bfloat16, trace)
    assert proof.ok
    assert ("bit for bit" in proof.reason) == proof.identical
    assert ("bfloat16" in proof.reason) != proof.identical


def test_a_run_with_a_head_off_is_proved_with_it_off(shipped):
    trace = Run(shipped, PROMPT, head_off=(1, 3), ignore_end=True).extend(3)
    assert prove_run(shipped, trace).ok


def test_another_precision_is_refused(shipped_bfloat16, trace):
    with pytest.raises(ValueError, match="must compute in float32, got bfloat16"):
        list(prove_steps(shipped_bfloat16, trace))


class Faulty:
    """The shipped model with a fault put into its decode step."""

    def __init__(self, model, fault):
        self._model, self._fault = model, fault

    def __getattr__(self, name):
        return getattr(self._model, name)

    def decode_step(self, tokens, kv_cache, **options):
        if self._fault == "position":
            kv_cache.truncate(kv_cache.length - 1)
        result = self._model.decode_step(tokens, kv_cache, **options)
        if self._fault == "old key":
            kv_cache.keys(0)[0, 0, 0] += 1e-6
        if self._fault == "two rows":
            kv_cache.advance(1)
        return result


@pytest.mark.parametrize("fault", ["position", "old key", "two rows"])
def test_a_fault_in_the_cache_turns_the_proof_red(shipped, trace, fault):
    faulty = LoadedModel(
        Faulty(shipped.transformer, fault),
        shipped.tokenizer,
        shipped.model_sha256,
        shipped.manifest,
    )
    proof = RunProof("float32", False, tuple(_until_broken(faulty, trace)))
    assert proof.steps[0].ok
    assert not proof.ok
    assert "larger than rounding" in proof.reason or not proof.steps[-1].old_kv_unchanged


def _until_broken(model, trace):
    for step in prove_steps(model, trace):
        yield step
        if not step.ok:
            return


def test_a_row_shown_wrong_turns_the_proof_red(shipped, trace):
    weights = trace.attn_weights.copy()
    weights[2, 1, -3] += 0.01
    altered = dataclasses.replace(trace, attn_weights=weights)
    assert [step.ok for step in prove_run(shipped, altered).steps] == [True] * 8 + [False]


def test_a_near_tie_may_flip_and_a_clear_lead_may_not():
    step = StepProof(1, "float32", 1e-5, 1e-6, False, True, 1, 1, 0.0, 5e-4, 30.0)
    assert step.ok
    assert not dataclasses.replace(step, top_gap=0.5).ok
    assert not dataclasses.replace(step, max_abs_logit_diff=0.01).ok
    assert not dataclasses.replace(step, appended=2).ok
    assert not dataclasses.replace(step, old_kv_unchanged=False).ok


def test_identical_is_said_only_at_a_difference_of_0():
    same = StepProof(1, "float32", 0.0, 0.0, True, True, 1, 1, 0.0, 2.0, 30.0)
    near = dataclasses.replace(same, max_abs_row_diff=1e-9)
    assert RunProof("float32", True, (same,)).identical
    assert "bit for bit" in RunProof("float32", True, (same,)).reason
    for order in (True, False):
        proof = RunProof("float32", order, (same, near))
        assert not proof.identical
        assert "bit for bit" not in proof.reason
        assert "at most" in proof.reason


def test_the_digest_covers_keys_and_values_of_all_layers(shipped):
    cache: KVCache = shipped.transformer.new_cache()
    shipped.transformer.prefill(torch.tensor([[0, 5, 6]]), cache)
    before = cache.digest(3)
    for layer in range(4):
        for store in (cache.keys(layer), cache.values(layer)):
            store[0, 1, 2, 31] += 0.5
            assert cache.digest(3) != before
            store[0, 1, 2, 31] -= 0.5
