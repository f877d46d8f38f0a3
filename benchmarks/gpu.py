"""Decode steps on the GPU, where there is one: share of its measured bandwidth by size.

``python -m benchmarks.gpu`` prints the table for docs/benchmarks.md: every size, a batch and a
context sweep, with the conditions. Without a GPU there is nothing to measure and it says so.
"""

from __future__ import annotations

import gc
import sys

import torch

from benchmarks.figures import Figure
from core.machine.device import find_device
from core.machine.records import DecodePoint, MeasureResult
from core.machine.runs import measure as measure_machine
from core.machine.spec import MeasureSpec

TITLE = "Weights-heavy decode steps on the GPU"
TARGETS = {1_000_000_000: 0.70, 7_000_000_000: 0.85, 14_000_000_000: 0.85}
N_STEPS = 200
CONTEXT_LEN = 512
BATCHES = (1, 2, 4, 8, 16, 32)
CONTEXTS = (512, 2048, 8192, 32768)
SHARE_OF_FREE = 0.5


def measure() -> list[Figure]:
    """Measure every size that fits; nothing without a GPU."""
    device = find_device("auto")
    if device.kind == "cpu":
        return []
    figures = []
    for n_bytes, target in TARGETS.items():
        if n_bytes > SHARE_OF_FREE * (device.memory_free_bytes or 0):
            continue
        result = _run(MeasureSpec(weight_bytes=n_bytes, context_len=CONTEXT_LEN, n_steps=N_STEPS))
        point = result.points[0]
        figures.append(
            Figure(
                f"{n_bytes / 1e9:g} GB of bfloat16 weights, over the probe",
                point.fraction_of_measured_bandwidth,
                "",
                at_least=target,
                note=f"{point.itl_s.p50 * 1e3:.3f} ms, {result.device.name}",
            )
        )
    return figures


def _run(spec: MeasureSpec) -> MeasureResult:
    result = measure_machine(spec, parts=False)
    gc.collect()
    if result.device.kind == "cuda":
        torch.cuda.empty_cache()
    return result


def table() -> str:
    """The measurements as Markdown."""
    device = find_device("auto")
    if device.kind == "cpu":
        return "No GPU that torch can use was found; nothing was measured.\n"
    free = device.memory_free_bytes or 0
    sizes = [n_bytes for n_bytes in TARGETS if n_bytes <= SHARE_OF_FREE * free]
    base = {"context_len": CONTEXT_LEN, "n_steps": N_STEPS}
    results = [_run(MeasureSpec(weight_bytes=size, **base)) for size in sizes]
    largest = sizes[-1]
    results.append(
        _run(MeasureSpec(kind="batch sweep", weight_bytes=largest, sweep=BATCHES, **base))
    )
    results.append(
        _run(MeasureSpec(kind="context sweep", weight_bytes=largest, sweep=CONTEXTS, **base))
    )
    return "\n".join([*_head(results[0]), *(line for r in results for line in _rows(r)), ""])


def _head(result: MeasureResult) -> list[str]:
    found, nominal = result.conditions, result.device.nominal_bandwidth_bytes_per_s
    quoted = "not known" if nominal is None else f"{nominal / 1e9:.0f} GB/s"
    return [
        f"{found.device_name}, {found.driver}, torch {found.torch}, CUDA {found.cuda}, "
        f"{found.date_utc}. Nominal bandwidth {quoted} ({result.device.nominal_source}).",
        "",
        "| run | weights | batch | context | ITL p50 | p99 | one wait | probe | achieved "
        "| of probe | of nominal | of bare products |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]


def _rows(result: MeasureResult) -> list[str]:
    return [_row(result, point) for point in result.points]


def _row(result: MeasureResult, p: DecodePoint) -> str:
    nominal = p.fraction_of_nominal_bandwidth
    return (
        f"| {result.spec.kind} | {p.weight_bytes_read / 1e9:.2f} GB | {p.batch_size} "
        f"| {p.context_len} | {p.itl_s.p50 * 1e3:.3f} ms | {p.itl_s.p99 * 1e3:.3f} ms "
        f"| {p.block_itl_s * 1e3:.3f} ms | {result.probe.median_bytes_per_s / 1e9:.0f} GB/s "
        f"| {p.achieved_bytes_per_s / 1e9:.0f} GB/s | {p.fraction_of_measured_bandwidth:.2f} "
        f"| {'not known' if nominal is None else f'{nominal:.2f}'} "
        f"| {p.fraction_of_bare_products:.2f} |"
    )


if __name__ == "__main__":
    sys.stdout.write(table())
