"""Inter-token latencies from other tools' files, to lay over our prediction; no torch.

What each tool writes is not the same thing, so every run says what its numbers are:
vLLM's serving benchmark keeps every gap of every request (and a gap may bring several
tokens), llama-bench and gpt-fast keep times of whole generations, whose mean per token is
all that can be had. Files are data: nothing in them is executed.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Tool = Literal["vLLM", "llama-bench", "gpt-fast"]
What = Literal["every gap", "mean gap of a generation"]

MAX_FILE_BYTES = 50_000_000
MAX_VALUES = 2_000_000

_GPT_FAST = re.compile(r"Time for inference (\d+): ([\d.]+) sec total, ([\d.]+) tokens/sec")
_GPT_FAST_BANDWIDTH = re.compile(r"Bandwidth achieved: ([\d.]+) GB/s")


@dataclass(frozen=True)
class ExternalRun:
    """One run of another tool.

    itl_s: the values, of the kind that ``what`` says. context_len and batch_size are None where
    the file does not tell. ``quoted_bandwidth_bytes_per_s`` is the tool's own figure, if any.

    Units: seconds
    """

    tool: Tool
    label: str
    what: What
    itl_s: tuple[float, ...]
    batch_size: int | None = None
    context_len: float | None = None
    quoted_bandwidth_bytes_per_s: float | None = None
    notes: tuple[str, ...] = ()


class ExternalFileError(ValueError):
    """A file that holds no latencies we can read; the message says what was looked for."""


def read_external(content: bytes, file_name: str) -> tuple[ExternalRun, ...]:
    """Recognise the file and return its runs.

    Raises: ExternalFileError in one line if it is none of the known files, or is damaged.
    """
    if len(content) > MAX_FILE_BYTES:
        raise ExternalFileError(
            f"{file_name} has {len(content):,} bytes; at most {MAX_FILE_BYTES:,} are read"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ExternalFileError(f"{file_name} is not a text file in UTF-8") from None
    start = text.lstrip()[:1]
    if not start:
        raise ExternalFileError(f"{file_name} is empty")
    if start in "[{":
        return _from_json(text, file_name)
    if "avg_ns" in text.lstrip().splitlines()[0]:
        return _llama_bench(list(csv.DictReader(io.StringIO(text.lstrip()))), file_name)
    if _GPT_FAST.search(text):
        return (_gpt_fast(text, file_name),)
    raise ExternalFileError(
        f"{file_name} is not a known file: expected vLLM's benchmark JSON (--save-result "
        "--save-detailed), llama-bench's JSON or CSV (-o json, -o csv), or gpt-fast's output"
    )


def _from_json(text: str, file_name: str) -> tuple[ExternalRun, ...]:
    records = _json_records(text, file_name)
    if all("avg_ns" in record for record in records):
        return _llama_bench(records, file_name)
    if all("itls" in record for record in records):
        return tuple(_vllm(record, file_name) for record in records)
    if any("mean_itl_ms" in record for record in records):
        raise ExternalFileError(
            f"{file_name} has only vLLM's summary; run the benchmark with --save-detailed, "
            "which keeps the gaps under 'itls'"
        )
    known = ", ".join(sorted(records[0])[:8]) if records else "nothing"
    raise ExternalFileError(
        f"{file_name}: a vLLM result has 'itls', a llama-bench one 'avg_ns'; found {known}"
    )


def _json_records(text: str, file_name: str) -> list[Mapping[str, Any]]:
    """One object, a list of them, or one a line."""
    try:
        value = json.loads(text)
    except ValueError as whole:
        try:
            value = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            raise ExternalFileError(f"{file_name} is damaged JSON ({whole})") from None
    except RecursionError:
        raise ExternalFileError(f"{file_name} is nested too deeply") from None
    records = value if isinstance(value, list) else [value]
    if not records or not all(isinstance(record, dict) for record in records):
        raise ExternalFileError(f"{file_name} must hold JSON objects, one for each run")
    return records


def _vllm(record: Mapping[str, Any], file_name: str) -> ExternalRun:
    requests = record["itls"]
    if not isinstance(requests, list) or not all(isinstance(r, list) for r in requests):
        raise ExternalFileError(f"{file_name}: 'itls' must be a list of gaps for each request")
    gaps = [_seconds(gap, f"{file_name}: 'itls'") for request in requests for gap in request]
    if not gaps:
        raise ExternalFileError(f"{file_name}: 'itls' holds no gap; every request gave one token")
    notes = ["A gap is the time between two streamed pieces, which may hold several tokens."]
    context = None
    lengths = [record.get("input_lens"), record.get("output_lens")]
    if all(isinstance(lens, list) and lens and all(map(_is_count, lens)) for lens in lengths):
        means = [sum(lens) / len(lens) for lens in lengths if lens]
        context = means[0] + means[1] / 2
        n_tokens = sum(max(0, n - 1) for n in lengths[1] or ())
        if n_tokens > len(gaps):
            notes.append(
                f"{n_tokens:,} tokens came in {len(gaps):,} pieces, so a gap is more than the "
                "latency of one token."
            )
    return ExternalRun(
        tool="vLLM",
        label=str(record.get("model_id") or file_name),
        what="every gap",
        itl_s=_bounded(gaps, file_name),
        batch_size=_batch(record.get("max_concurrency")),
        context_len=context,
        notes=tuple(notes),
    )


def _llama_bench(records: Sequence[Mapping[str, Any]], file_name: str) -> tuple[ExternalRun, ...]:
    runs = []
    for record in records:
        n_gen = _whole(record, "n_gen", file_name)
        n_prompt = _whole(record, "n_prompt", file_name)
        if n_gen == 0 or n_prompt != 0:
            continue  # a prompt test, or one that mixes prompt and generation
        samples = record.get("samples_ns")
        times = samples if isinstance(samples, list) and samples else [record.get("avg_ns")]
        seconds = [_seconds(value, f"{file_name}: times", 1e9) / n_gen for value in times]
        depth = _whole(record, "n_depth", file_name) if "n_depth" in record else 0
        notes = [f"Mean gap over {n_gen} tokens of each generation; llama-bench keeps no gaps."]
        if not (isinstance(samples, list) and samples):
            notes.append("The CSV has the mean of all repetitions only.")
        runs.append(
            ExternalRun(
                tool="llama-bench",
                label=str(record.get("model_type") or record.get("model_filename") or file_name),
                what="mean gap of a generation",
                itl_s=tuple(seconds),
                batch_size=1,
                context_len=depth + n_gen / 2,
                notes=tuple(notes),
            )
        )
    if not runs:
        raise ExternalFileError(f"{file_name} has no generation test (tg); run it with -n 128")
    return tuple(runs)


def _gpt_fast(text: str, file_name: str) -> ExternalRun:
    rates = [_rate(match.group(3), file_name) for match in _GPT_FAST.finditer(text)]
    quoted = [float(match.group(1)) * 1e9 for match in _GPT_FAST_BANDWIDTH.finditer(text)]
    return ExternalRun(
        tool="gpt-fast",
        label=file_name,
        what="mean gap of a generation",
        itl_s=tuple(1 / rate for rate in rates),
        quoted_bandwidth_bytes_per_s=sum(quoted) / len(quoted) if quoted else None,
        notes=("The prompt's prefill is inside the time; gpt-fast divides by the new tokens.",),
    )


def _rate(text: str, file_name: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if rate <= 0:
        raise ExternalFileError(f"{file_name}: tokens/sec must be a number above 0, got {text}")
    return rate


def _seconds(value: Any, where: str, per_second: float = 1.0) -> float:
    try:
        seconds = float(value) / per_second
    except (TypeError, ValueError):
        raise ExternalFileError(f"{where} must be numbers, got {value!r}") from None
    if isinstance(value, bool) or not math.isfinite(seconds) or seconds < 0:
        raise ExternalFileError(f"{where} must be times of at least 0, got {value!r}")
    return seconds


def _whole(record: Mapping[str, Any], name: str, file_name: str) -> int:
    text = str(record.get(name, "")).strip()
    if not text.isdecimal() or len(text) > 12:
        raise ExternalFileError(f"{file_name}: {name} must be a whole number, got {text!r}")
    return int(text)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _batch(value: Any) -> int | None:
    return value if _is_count(value) and value > 0 else None


def _bounded(values: Sequence[float], file_name: str) -> tuple[float, ...]:
    if len(values) > MAX_VALUES:
        raise ExternalFileError(
            f"{file_name} has {len(values):,} gaps; at most {MAX_VALUES:,} are read"
        )
    return tuple(values)
