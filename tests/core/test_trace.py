"""Runs and their traces: rows that stay, counts, shapes, extension, recording."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import torch

from core.cost.decode_counts import cached_counts, step_counts
from core.decode.generate import generate
from core.decode.record_default import default_run
from core.decode.records import StepShapes, row_start
from core.decode.settings import SamplingSettings
from core.decode.trace import Run
from core.decode.trace_file import DEFAULT_PROMPT, DEFAULT_STEPS, load_trace, save_trace
from core.model.errors import CheckpointError

PROMPT = "Tom has a red ball. Mia has a"
ARRAYS = ("attn_dots", "attn_weights", "keys", "values")
# Rows recorded on another processor may differ by rounding; measured at most 2e-6 here.
ROWS = 1e-4


@pytest.fixture(scope="module")
def trace(shipped):
    return Run(shipped, PROMPT, ignore_end=True).extend(6)


def test_tokens_rows_and_steps_are_in_step(trace):
    n = trace.n_prompt
    assert (trace.n_steps, trace.n_rows, len(trace.tokens)) == (6, n + 6, n + 7)
    assert [token.source for token in trace.tokens] == ["prompt"] * n + ["generated"] * 7
    assert [token.position for token in trace.tokens] == list(range(n + 7))
    assert trace.tokens[0].label == "⟨start⟩"
    assert b"".join(token.piece for token in trace.tokens[:n]).decode() == PROMPT
    assert trace.attn_weights.shape == (4, 4, row_start(n + 6))
    assert trace.keys.shape == trace.values.shape == (4, 2, n + 6, 32)
    for s, step in enumerate(trace.steps):
        assert step.index == s
        assert step.position == n + s - 1
        assert step.context_len == step.position + 1 == trace.rows_after(s)
        assert step.input_id == trace.ids[step.position]
        assert step.chosen_id == trace.ids[step.position + 1]
        assert step.n_new == (n if s == 0 else 1)
        assert step.kv_bytes_in_use == 2048 * step.context_len
        assert step.kv_bytes_allocated == 2048 * 256
        assert step.elapsed_s > 0
    assert trace.weight_bytes == 869_504 * 4
    assert trace.stop_reason == "steps"
    assert not trace.recorded


def test_a_trace_chooses_what_generation_chooses(shipped, trace):
    ids = shipped.tokenizer.encode(PROMPT)
    results = generate(shipped.transformer, ids, trace.sampling, 7, ignore_end=True)
    assert [result.token_id for result in results] == list(trace.generated_ids())


def test_rows_are_softmax_of_scaled_dots_and_sum_to_1(trace):
    for layer in range(4):
        for head in range(4):
            for row in (0, trace.n_prompt - 1, trace.n_rows - 1):
                weights = trace.weights_row(layer, head, row)
                scores = trace.dots_row(layer, head, row) * trace.scale
                exp = np.exp(scores - scores.max())
                assert len(weights) == row + 1
                assert weights.sum() == pytest.approx(1, abs=1e-6)
                np.testing.assert_allclose(weights, exp / exp.sum(), atol=1e-6)


def test_rows_are_those_of_one_full_pass(shipped, trace):
    with torch.inference_mode():
        full = shipped.transformer.full_pass(torch.tensor([trace.ids[:-1]]), record=True)
    rows, columns = np.tril_indices(trace.n_rows)
    for index, layer in enumerate(full.layers):
        expected = layer.attn_weights[0].numpy()[:, rows, columns]
        np.testing.assert_allclose(trace.attn_weights[index], expected, atol=ROWS)
        expected = layer.attn_dots[0].numpy()[:, rows, columns]
        np.testing.assert_allclose(trace.attn_dots[index], expected, atol=1e-3)
        np.testing.assert_allclose(trace.keys[index], layer.k[0].numpy(), atol=1e-4)
        np.testing.assert_allclose(trace.values[index], layer.v[0].numpy(), atol=1e-4)


def test_shapes_are_those_of_one_head(trace):
    n = trace.n_prompt
    assert trace.steps[0].shapes == StepShapes((n, 32), (n, 32), (n, n), (n, n), (n, 32), (n, 32))
    s = n + 3
    assert trace.steps[3].shapes == StepShapes((1, 32), (s, 32), (1, s), (1, s), (s, 32), (1, 32))


def test_counts_are_the_closed_forms(trace):
    for s, step in enumerate(trace.steps):
        expected = step_counts(step.n_new, step.context_len)
        assert vars(step.counts) == vars(expected)
        assert vars(trace.counts_until(s)) == vars(cached_counts(trace.n_prompt, s))


def test_the_likeliest_tokens_have_the_models_own_probability(shipped, trace):
    with torch.inference_mode():
        logits = shipped.transformer.full_pass(torch.tensor([trace.ids[:-1]])).logits[0]
    for step in trace.steps:
        probs = torch.softmax(logits[step.position].double(), -1)
        top = step.logits_top
        assert len(top) == 10
        assert [t.prob for t in top] == sorted((t.prob for t in top), reverse=True)
        assert top[0].id == step.chosen_id
        assert top[0].prob == step.chosen_prob == pytest.approx(float(probs.max()), abs=1e-4)
        for t in top:
            assert t.prob == pytest.approx(float(probs[t.id]), abs=1e-4)


def test_a_longer_run_keeps_every_earlier_number(shipped):
    run = Run(shipped, PROMPT, ignore_end=True)
    early = run.extend(2)
    copies = {name: getattr(early, name).copy() for name in ARRAYS}
    late = run.extend(40)  # packed rows grow beyond their first store
    at_once = Run(shipped, PROMPT, ignore_end=True).extend(42)
    assert late.n_steps == at_once.n_steps == 42
    assert late.ids == at_once.ids
    assert early.ids == late.ids[: len(early.ids)]
    used = row_start(early.n_rows)
    for name in ARRAYS:
        assert np.array_equal(getattr(early, name), copies[name])
        assert np.array_equal(getattr(late, name), getattr(at_once, name))
    assert np.array_equal(early.attn_weights, late.attn_weights[..., :used])
    assert np.array_equal(early.keys, late.keys[:, :, : early.n_rows])


def test_runs_of_one_model_do_not_share_a_cache(shipped):
    first, second = Run(shipped, PROMPT), Run(shipped, "Once upon a time")
    alone = Run(shipped, PROMPT).extend(5)
    first.extend(1)
    second.extend(3)
    assert np.array_equal(first.extend(4).attn_weights, alone.attn_weights)


def test_a_head_switched_off_changes_the_run(shipped):
    run = Run(shipped, DEFAULT_PROMPT, head_off=(1, 3)).extend(4)
    intact = Run(shipped, DEFAULT_PROMPT).extend(4)
    n = row_start(run.n_prompt)
    assert run.head_off == (1, 3)
    assert np.array_equal(run.attn_weights[:2, :, :n], intact.attn_weights[:2, :, :n])
    assert np.abs(run.attn_weights[2:, :, :n] - intact.attn_weights[2:, :, :n]).max() > 0.01
    for head_off, message in (((4, 0), "layer must be 0 to 3, got 4"), ((0, -1), "head must be")):
        with pytest.raises(ValueError, match=message):
            Run(shipped, PROMPT, head_off=head_off)


def test_the_end_token_and_the_context_end_a_run(shipped, ends_after):
    long = Run(shipped, DEFAULT_PROMPT, ignore_end=True).extend(1000)
    assert long.stop_reason == "context"
    assert len(long.tokens) == 256
    ends = dataclasses.replace(shipped, transformer=ends_after(shipped.transformer, 3))
    ended = Run(ends, DEFAULT_PROMPT)
    trace = ended.extend(200)
    assert trace.stop_reason == "end"
    assert trace.generated_ids() == (7, 7, 7, shipped.config.end_id)
    assert trace.n_steps == 3
    assert ended.extend(5).ids == trace.ids


def test_a_prompt_too_long_leaves_room_for_the_steps(shipped):
    trace = Run(shipped, "Mia had a ball. " * 200, room=16, ignore_end=True).extend(16)
    assert trace.n_steps == 16
    assert len(trace.tokens) == 256
    assert "were dropped" in trace.notes[0]


def test_bad_calls_are_refused(shipped):
    run = Run(shipped, PROMPT)
    with pytest.raises(ValueError, match="nothing has run yet"):
        run.trace()
    with pytest.raises(ValueError, match="n_steps must be at least 0, got -1"):
        run.extend(-1)
    with pytest.raises(ValueError, match="the prompt is empty"):
        Run(shipped, "")
    assert run.extend(0).n_steps == 0


def test_sampling_differs_from_greedy_only_in_the_choice(shipped):
    hot = SamplingSettings(temperature=1.5, seed=8)
    trace = Run(shipped, "Once upon a time, there was a little girl named", hot).extend(3)
    greedy = Run(shipped, "Once upon a time, there was a little girl named").extend(3)
    assert trace.steps[0].logits_top == greedy.steps[0].logits_top
    assert trace.ids != greedy.ids
    assert 0 < trace.steps[0].chosen_prob < 1


def test_saving_and_loading_keeps_everything(trace, tmp_path):
    file = tmp_path / "run.npz"
    save_trace(trace, file)
    loaded = load_trace(file)
    assert loaded.recorded
    assert vars(loaded).keys() == vars(trace).keys()
    for name, value in vars(trace).items():
        if name in ARRAYS:
            assert np.array_equal(getattr(loaded, name), value)
            assert getattr(loaded, name).dtype == np.float32
        elif name != "recorded":
            assert getattr(loaded, name) == value


def test_a_damaged_recording_is_named(trace, tmp_path):
    file = tmp_path / "run.npz"
    with pytest.raises(CheckpointError, match=r"run\.npz is missing\. Run `make model`"):
        load_trace(file)
    save_trace(trace, file)
    content = file.read_bytes()
    for damaged in (b"", b"text", content[:-200], content[: len(content) // 2]):
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"run\.npz is damaged"):
            load_trace(file)


def test_the_recorded_default_run_equals_the_live_one(shipped):
    recorded, live = load_trace(), default_run(shipped)
    assert recorded.recorded
    assert recorded.model_sha256 == live.model_sha256
    assert recorded.ids == live.ids
    assert recorded.n_steps == live.n_steps == DEFAULT_STEPS
    assert recorded.tokens == live.tokens
    assert recorded.stop_reason == live.stop_reason
    np.testing.assert_allclose(recorded.attn_weights, live.attn_weights, atol=ROWS)
    np.testing.assert_allclose(recorded.attn_dots, live.attn_dots, atol=1e-3)
    np.testing.assert_allclose(recorded.keys, live.keys, atol=ROWS)
    np.testing.assert_allclose(recorded.values, live.values, atol=ROWS)
    for old, new in zip(recorded.steps, live.steps, strict=True):
        assert (old.shapes, old.counts) == (new.shapes, new.counts)
        assert [t.id for t in old.logits_top[:3]] == [t.id for t in new.logits_top[:3]]
        assert old.chosen_prob == pytest.approx(new.chosen_prob, abs=ROWS)


def test_a_recording_is_read_without_torch():
    code = (
        "import sys; from core.decode.trace_file import load_trace; import core.model.tokenizer;"
        "import core.decode.proof_record, core.decode.latency, core.cost.decode_counts;"
        "load_trace(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
