"""Latencies from vLLM's, llama-bench's and gpt-fast's files, whole and damaged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.machine.external_itl import ExternalFileError, read_external

VLLM: dict[str, Any] = {
    "model_id": "org/model-8B",
    "max_concurrency": 4,
    "input_lens": [100, 300],
    "output_lens": [4, 3],
    "ttfts": [0.2, 0.3],
    "itls": [[0.010, 0.012, 0.011], [0.020, 0.021]],
    "mean_itl_ms": 14.8,
}
LLAMA: dict[str, Any] = {
    "build_commit": "abc",
    "model_type": "llama 8B F16",
    "n_prompt": 0,
    "n_gen": 128,
    "n_depth": 512,
    "avg_ns": 2_560_000_000,
    "samples_ns": [2_560_000_000, 2_688_000_000],
}
GPT_FAST = """Loading model ...
Time for inference 1: 2.00 sec total, 100.00 tokens/sec
Bandwidth achieved: 1321.00 GB/s
Hello, my name is ...
Time for inference 2: 1.00 sec total, 200.00 tokens/sec
Bandwidth achieved: 2642.00 GB/s
==========
Average tokens/sec: 150.00
"""
LLAMA_CSV = (
    "build_commit,model_type,n_prompt,n_gen,n_depth,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts\n"
    '"abc","llama 7B, Q4_0","512","0","0","t","999","0","1","0"\n'
    '"abc","llama 7B, Q4_0","0","100","0","t","1000000000","0","100","0"\n'
)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_vllm_keeps_every_gap() -> None:
    (run,) = read_external(_json(VLLM), "serve.json")
    assert (run.tool, run.what, run.label) == ("vLLM", "every gap", "org/model-8B")
    assert run.itl_s == (0.010, 0.012, 0.011, 0.020, 0.021)
    assert run.batch_size == 4
    assert run.context_len == 200 + 3.5 / 2
    assert "several tokens" in run.notes[0]
    assert len(run.notes) == 1


def test_vllm_pieces_of_several_tokens_are_told() -> None:
    (run,) = read_external(_json({**VLLM, "output_lens": [10, 9]}), "serve.json")
    assert "17 tokens came in 5 pieces" in run.notes[1]


def test_vllm_jsonl_is_one_run_a_line() -> None:
    text = "\n".join(json.dumps({**VLLM, "model_id": name}) for name in ("a", "b"))
    assert [run.label for run in read_external(text.encode(), "runs.jsonl")] == ["a", "b"]


def test_vllm_without_lengths_has_no_context() -> None:
    (run,) = read_external(_json({"itls": [[0.01]]}), "serve.json")
    assert (run.context_len, run.batch_size, run.label) == (None, None, "serve.json")


def test_llama_bench_json_is_the_mean_of_each_repetition() -> None:
    prompt_test = {**LLAMA, "n_prompt": 512, "n_gen": 0}
    (run,) = read_external(_json([prompt_test, LLAMA]), "bench.json")
    assert run.itl_s == pytest.approx((0.020, 0.021))
    assert run.what == "mean gap of a generation"
    assert (run.batch_size, run.context_len) == (1, 512 + 64)


def test_llama_bench_csv_has_one_mean() -> None:
    (run,) = read_external(LLAMA_CSV.encode(), "bench.csv")
    assert run.itl_s == pytest.approx((0.010,))
    assert run.label == "llama 7B, Q4_0"
    assert any("all repetitions" in note for note in run.notes)


def test_llama_bench_jsonl() -> None:
    (run,) = read_external(_json(LLAMA) + b"\n", "bench.jsonl")
    assert len(run.itl_s) == 2


def test_gpt_fast_text_with_its_bandwidth() -> None:
    (run,) = read_external(GPT_FAST.encode(), "log.txt")
    assert run.itl_s == (0.01, 0.005)
    assert run.quoted_bandwidth_bytes_per_s == pytest.approx(1981.5e9)
    assert "prefill" in run.notes[0]


def test_a_byte_order_mark_is_no_obstacle() -> None:
    (run,) = read_external(b"\xef\xbb\xbf" + LLAMA_CSV.encode(), "bench.csv")
    assert run.tool == "llama-bench"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"   \n", "is empty"),
        (b"\xff\xfe\x00", "not a text file"),
        (b"hello there", "not a known file"),
        (b"{broken", "damaged JSON"),
        (b"[1, 2]", "must hold JSON objects"),
        (b"[]", "must hold JSON objects"),
        (b'{"a": 1}', "found a"),
        (b"[" * 200_000, "JSON|too deeply"),
        (_json({"mean_itl_ms": 3.0}), "--save-detailed"),
        (_json({"itls": 3}), "must be a list of gaps"),
        (_json({"itls": [[]]}), "holds no gap"),
        (_json({"itls": [["x"]]}), "must be numbers, got 'x'"),
        (_json({"itls": [[-1.0]]}), "at least 0"),
        (_json({"itls": [[True]]}), "at least 0"),
        (b'{"itls": [[NaN]]}', "at least 0"),
        (_json([{**LLAMA, "n_gen": 0}]), "no generation test"),
        (_json([{**LLAMA, "n_gen": "many"}]), "n_gen must be a whole number"),
        (_json([{**LLAMA, "samples_ns": ["fast"]}]), "must be numbers"),
        (b"avg_ns,n_prompt\n1,0\n", "n_gen must be a whole number"),
        (b"Time for inference 1: 1.0 sec total, 0.00 tokens/sec", "above 0"),
        (b"Time for inference 1: 1.0 sec total, 1.2.3 tokens/sec", "above 0"),
    ],
)
def test_bad_files_are_told_in_one_line(content: bytes, message: str) -> None:
    with pytest.raises(ExternalFileError, match=message) as told:
        read_external(content, "file")
    assert "\n" not in str(told.value)


def test_a_huge_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.machine.external_itl.MAX_FILE_BYTES", 10)
    with pytest.raises(ExternalFileError, match="at most 10 are read"):
        read_external(b"x" * 11, "file")
    monkeypatch.undo()
    monkeypatch.setattr("core.machine.external_itl.MAX_VALUES", 2)
    with pytest.raises(ExternalFileError, match="at most 2 are read"):
        read_external(_json(VLLM), "file")
