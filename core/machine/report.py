"""A measurement to take away: JSON, CSV of every sample, and a text beside published ones."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

from core.cost.overhead import Comparison, comparisons
from core.decode.latency import percentile
from core.machine.jsonable import to_plain
from core.machine.records import DecodePoint, MeasureResult

FORMAT = 1
COLUMNS = (
    "phase",
    "index",
    "batch_size",
    "context_len",
    "itl_s",
    "bytes_read",
    "bytes_per_s",
)
CONDITION_COLUMNS = (
    "date_utc",
    "host",
    "system",
    "cpu",
    "device_name",
    "driver",
    "n_threads",
    "torch",
    "python",
    "app_version",
)


def to_json(result: MeasureResult) -> str:
    """Everything that was found, samples and conditions included; units are in the names."""
    return json.dumps({"format": FORMAT, **to_plain(result)}, allow_nan=False, indent=1)


def to_csv(result: MeasureResult) -> str:
    """One row per sample, warm-up steps and reads too, each with the conditions.

    itl_s is empty for a read; bytes_per_s is bytes_read / itl_s for a step.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, "dtype", *CONDITION_COLUMNS])
    conditions = [result.dtype] + [getattr(result.conditions, name) for name in CONDITION_COLUMNS]
    for row in _rows(result):
        writer.writerow([*row, *conditions])
    return text.getvalue()


def _rows(result: MeasureResult) -> Iterator[tuple[object, ...]]:
    for index, rate in enumerate(result.probe.runs_bytes_per_s):
        yield "read", index, "", "", "", result.probe.buffer_bytes, rate
    for point in result.points:
        for phase, times in (("warm-up", point.warm_up_s), ("step", point.itl_samples_s)):
            for index, itl_s in enumerate(times):
                yield (
                    phase,
                    index,
                    point.batch_size,
                    point.context_len,
                    itl_s,
                    point.bytes_read,
                    point.bytes_read / itl_s,
                )


def report(result: MeasureResult) -> str:
    """The measurement in Markdown, its conditions, and where it stands among published ones."""
    lines = ["# Decode measured on this machine", "", *_conditions(result), ""]
    lines += ["## Read bandwidth", "", *_bandwidth(result), ""]
    if result.points:
        lines += ["## Decode steps", "", *_points(result), ""]
        lines += ["## Beside published measurements", "", *_published(result), ""]
    lines += ["## Notes", "", *(f"- {note}" for note in result.notes or ("None.",)), ""]
    return "\n".join(lines)


def _conditions(result: MeasureResult) -> list[str]:
    found = result.conditions
    load = "not known" if result.other_load_cores is None else f"{result.other_load_cores:.1f}"
    return [
        f"- Date: {found.date_utc}",
        f"- Host: {found.host}, {found.system}, {found.cpu}, {found.n_cpus} processors",
        f"- Device: {found.device_name} ({found.device}); driver: {found.driver}",
        f"- Software: torch {found.torch}, Python {found.python}, One New Row {found.app_version}",
        f"- Threads: {result.n_threads}; other load meanwhile: {load} cores",
    ]


def _bandwidth(result: MeasureResult) -> list[str]:
    probe, device = result.probe, result.device
    nominal = device.nominal_bandwidth_bytes_per_s
    quoted = "not known" if nominal is None else f"{nominal / 1e9:.1f} GB/s"
    return [
        f"Median {probe.median_bytes_per_s / 1e9:.1f} GB/s, best "
        f"{probe.best_bytes_per_s / 1e9:.1f} GB/s of {len(probe.runs_bytes_per_s)} reads of "
        f"{probe.buffer_bytes / 1e6:.0f} MB ({probe.kernel}; measured; GB = 1e9 bytes). "
        f"Nominal: {quoted} ({device.nominal_source}).",
    ]


def _points(result: MeasureResult) -> list[str]:
    lines = [
        "| batch | context | bytes per step | ITL p50 | p90 | p99 | floor | achieved "
        "| of measured |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for p in result.points:
        lines.append(
            f"| {p.batch_size} | {p.context_len} | {p.bytes_read / 1e6:.1f} MB "
            f"| {p.itl_s.p50 * 1e3:.3f} ms | {p.itl_s.p90 * 1e3:.3f} ms "
            f"| {p.itl_s.p99 * 1e3:.3f} ms | {p.floor_s * 1e3:.3f} ms "
            f"| {p.achieved_bytes_per_s / 1e9:.1f} GB/s "
            f"| {p.fraction_of_measured_bandwidth:.2f} |"
        )
    return lines


def published_ratios() -> tuple[Comparison, ...]:
    """Published measurements of one device at batch 1, the share of nominal reached ascending."""
    rows = (row for row in comparisons() if row.n_devices == 1 and row.ours)
    return tuple(sorted(rows, key=lambda row: row.ratio))


def _published(result: MeasureResult) -> list[str]:
    point, rows = result.points[0], published_ratios()
    ratios = [row.ratio for row in rows]
    lines = [
        f"Published runs on one device reach {ratios[0]:.2f} to {ratios[-1]:.2f} of the nominal "
        f"bandwidth, {percentile(ratios, 50):.2f} in the middle (quoted times, our bytes).",
        _own_share(point),
    ]
    lines += ["", "| model | hardware | weights | of nominal | source |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.model} | {row.hardware} | {row.dtype} | {row.ratio:.2f} | {row.source} |"
        for row in rows
    ]
    return lines


def _own_share(point: DecodePoint) -> str:
    nominal = point.fraction_of_nominal_bandwidth
    own = f"{point.fraction_of_measured_bandwidth:.2f} of its measured bandwidth"
    if nominal is None:
        return f"This run reaches {own}; its nominal bandwidth is not known (measured)."
    return f"This run reaches {nominal:.2f} of its nominal and {own} (measured)."
