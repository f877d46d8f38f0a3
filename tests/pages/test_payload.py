"""What goes to the browser: equal to the model, small enough, and literal."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from core.cost.decode_counts import cached_counts, recomputed_counts
from core.decode.proof import prove_run
from core.decode.records import RunTrace, row_start
from core.decode.trace import Run
from core.model.checkpoint import LoadedModel, load_model
from pages.ui.payload import run_payload
from pages.ui.proofs import proof_payload

PROMPT = "Tom has a red ball. Mia has a blue kite. What does Mia have? Mia has a"
HOSTILE = 'x<b>y</b> "q" onmouseover="z" <script>w()</script> $5 and $7 *i* ~~s~~ :red[r] # h &amp;'


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return load_model()


@pytest.fixture(scope="module")
def trace(model: LoadedModel) -> RunTrace:
    return Run(model, PROMPT, ignore_end=True).extend(8)


@pytest.fixture(scope="module")
def payload(trace: RunTrace) -> dict[str, Any]:
    return run_payload(trace, limit=64)


def unpacked(text: str, *shape: int) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f2").reshape(shape).astype(np.float32)


@pytest.mark.parametrize("name", ["dots", "weights", "keys", "values"])
def test_arrays_are_the_models_own_in_half_precision(
    name: str, trace: RunTrace, payload: dict[str, Any]
) -> None:
    array = getattr(trace, {"dots": "attn_dots", "weights": "attn_weights"}.get(name, name))
    assert np.array_equal(unpacked(payload[name], *array.shape), array.astype("<f2"))


def test_rows_still_sum_to_one(trace: RunTrace, payload: dict[str, Any]) -> None:
    weights = unpacked(payload["weights"], 4, 4, row_start(trace.n_rows))
    for row in range(trace.n_rows):
        sums = weights[..., row_start(row) : row_start(row + 1)].sum(-1)
        assert np.abs(sums - 1).max() < 2e-3  # 11 significant bits a weight


def test_tokens_and_steps_count_as_promised(trace: RunTrace, payload: dict[str, Any]) -> None:
    assert len(payload["tokens"]) == payload["n_rows"] + 1 == trace.n_prompt + 8 + 1
    assert len(payload["steps"]) == 9
    assert payload["steps"][3]["chosen"] == payload["tokens"][trace.n_prompt + 3]["label"]
    assert payload["steps"][3]["shapes"]["scores"] == f"(1, {trace.n_prompt + 3})"
    assert payload["steps"][0]["shapes"]["scores"] == f"({trace.n_prompt}, {trace.n_prompt})"


def tile(payload: dict[str, Any], step: int, name: str) -> dict[str, str]:
    found: dict[str, str] = next(t for t in payload["steps"][step]["panel"] if t["id"] == name)
    return found


@pytest.mark.parametrize("step", [0, 1, 8])
def test_panel_counts_are_the_closed_forms(
    step: int, trace: RunTrace, payload: dict[str, Any]
) -> None:
    done, without = (f(trace.n_prompt, step) for f in (cached_counts, recomputed_counts))
    total, projections = (
        tile(payload, step, "scores_total"),
        tile(payload, step, "projections_total"),
    )
    assert total["value"] == f"{done.scores_kept:,}"
    assert projections["value"] == f"{done.kv_projections:,}"
    assert tile(payload, step, "scores_executed")["value"] == f"{done.scores_executed:,}"
    if step:
        assert total["beside"] == f"not {without.scores_kept:,}"
        assert projections["beside"] == f"not {without.kv_projections:,}"
        assert tile(payload, step, "scores_step")["value"] == str(trace.n_prompt + step)


def test_cache_tiles_follow_from_the_shape(trace: RunTrace, payload: dict[str, Any]) -> None:
    in_use = tile(payload, 8, "cache_in_use")
    assert in_use["value"] == f"{2 * (trace.n_prompt + 8):g} KiB"  # 2 x 4 x 2 x 32 x 4 B a token
    assert tile(payload, 8, "cache_allocated")["value"] == "512 KiB"


def test_the_ten_likeliest_and_the_chosen(payload: dict[str, Any]) -> None:
    for step in payload["steps"]:
        assert len(step["top"]) == 10
        assert [top["chosen"] for top in step["top"]] == [True] + 9 * [False]
        assert step["top"][0]["label"] == step["chosen"]


def test_a_run_of_64_tokens_is_under_400_kb_and_of_256_under_5_mb(model: LoadedModel) -> None:
    run = Run(model, PROMPT, ignore_end=True)
    n_prompt = run.extend(0).n_prompt
    at_64 = json.dumps(run_payload(run.extend(64 - n_prompt)), ensure_ascii=False)
    assert len(at_64.encode()) < 400_000
    trace = run.extend(256)
    assert (trace.n_rows, trace.stop_reason) == (255, "context")
    assert len(json.dumps(run_payload(trace), ensure_ascii=False).encode()) < 5_000_000


def test_extending_a_run_keeps_every_earlier_row(model: LoadedModel) -> None:
    run = Run(model, PROMPT, ignore_end=True)
    short, long = run_payload(run.extend(3)), run_payload(run.extend(4))
    assert short["id"] == long["id"]
    assert short["tokens"] == long["tokens"][: len(short["tokens"])]
    rows = row_start(short["n_rows"])
    for name in ("dots", "weights"):
        before, after = unpacked(short[name], 16, rows), unpacked(long[name], 16, -1)
        assert np.array_equal(before, after[:, :rows])
    assert short["steps"] == long["steps"][: len(short["steps"])]


def test_tk_01_an_emoji_appears_with_its_last_byte(model: LoadedModel) -> None:
    text = "A🤗é\n  B"
    payload = run_payload(Run(model, text).extend(0))
    assert payload["steps"][0]["text"][0] == [text, "prompt"]
    labels = [token["label"] for token in payload["tokens"]]
    assert {"⟨F0⟩", "⟨9F⟩", "⟨A4⟩", "⟨97⟩"} <= set(labels) or "⟨F0 9F⟩" in labels
    assert "\ufffd" not in json.dumps(payload, ensure_ascii=False)


def test_tk_02_a_hostile_prompt_travels_as_it_is(model: LoadedModel) -> None:
    payload = run_payload(Run(model, HOSTILE).extend(1))
    assert payload["steps"][0]["text"][0] == [HOSTILE, "prompt"]


@pytest.mark.parametrize("same_order", [False, True])
def test_the_proof_says_identical_only_for_zero(
    same_order: bool, model: LoadedModel, trace: RunTrace
) -> None:
    proof = prove_run(model, trace, same_order=same_order)
    for shown, step in zip(proof_payload(proof)["steps"], proof.steps, strict=True):
        assert shown["ok"]
        zero = step.max_abs_logit_diff == 0 and step.max_abs_row_diff == 0
        assert ("dentical" in shown["title"]) == shown["identical"] == zero
        assert "older K, V unchanged" in shown["detail"]


def test_mc_01_bfloat16_claims_no_bit_equality_it_does_not_have() -> None:
    import torch

    model = load_model(dtype=torch.bfloat16)
    proof = prove_run(model, Run(model, PROMPT, ignore_end=True).extend(4))
    for shown, step in zip(proof_payload(proof)["steps"], proof.steps, strict=True):
        assert shown["identical"] == (step.max_abs_logit_diff == step.max_abs_row_diff == 0)


def test_a_session_of_64_tokens_owns_less_than_3_mb(model: LoadedModel) -> None:
    run = Run(model, PROMPT, ignore_end=True)
    trace = run.extend(64 - run.extend(0).n_prompt)
    arrays = (trace.attn_dots, trace.attn_weights, trace.keys, trace.values)
    owned = sum(array.nbytes for array in arrays)
    owned += 2 * (trace.attn_dots.nbytes + trace.attn_weights.nbytes)  # packed rows, doubling
    owned += trace.steps[-1].kv_bytes_allocated
    owned += 2 * len(json.dumps(run_payload(trace), ensure_ascii=False).encode())
    assert owned < 3_000_000
