"""What has been measured on this host, for everybody: results with their age and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.machine import report
from core.machine.records import MeasureResult
from core.machine.tickets import KeptResult
from pages.ui import live_desk, live_numbers, live_table, live_words, scaffold, units


def results(kept: Sequence[KeptResult], shown: int | None) -> None:
    """Draw the kept results and let one be put on screen."""
    if not kept:
        st.caption("Nothing has been measured yet. Results are kept until the server stops.")
        return
    names = {one.id: _name(one) for one in kept}
    if st.session_state.get("live_shown") not in names:
        st.session_state["live_shown"] = shown
    st.selectbox(
        "On screen",
        list(names),
        format_func=lambda ticket: names.get(ticket, ""),
        key="live_shown",
        on_change=lambda: live_desk.show(st.session_state["live_shown"]),
        width=520,
    )
    rows = [_row(one) for one in kept]
    mark = next((i for i, one in enumerate(kept) if one.id == shown), None)
    head = (
        "when",
        "what",
        "ITL p50",
        "p99",
        "achieved",
        "of the reads",
        "threads",
        "device",
        "kind",
    )
    live_table.table(head, rows, mark)


def _name(one: KeptResult) -> str:
    return f"{_title(one.result)}, {live_words.age(one.age_s)}"


def _title(result: MeasureResult) -> str:
    point = result.points[0] if result.points else None
    return live_words.spec_title(result.spec, point.weight_bytes_read if point else None)


def _row(one: KeptResult) -> tuple[str, ...]:
    result = one.result
    when, title = live_words.age(one.age_s), _title(result)
    where = (units.count(result.n_threads), result.conditions.device_name, "measured")
    if not result.points:
        rate = units.byte_rate(result.probe.median_bytes_per_s, 3)
        return when, title, "", "", rate, "", *where
    point = result.points[0]
    times = (units.seconds(value, 3) for value in (point.itl_s.p50, point.itl_s.p99))
    achieved = units.byte_rate(point.achieved_bytes_per_s, 3)
    share = units.percent(point.fraction_of_measured_bandwidth)
    return when, title, *times, achieved, share, *where


def conditions(result: MeasureResult | None) -> None:
    """Draw under which conditions the result on screen was measured."""
    if result is None:
        st.caption("A measurement's conditions stand here, beside its notes.")
        return
    found = result.conditions
    nominal = result.device.nominal_bandwidth_bytes_per_s
    quoted = "not known" if nominal is None else units.byte_rate(nominal, 3)
    memory = found.memory_total_bytes
    cache = result.device.last_level_cache_bytes
    rows = [
        ("date", found.date_utc),
        ("host", f"{found.host}, {found.system}"),
        ("processor", f"{found.cpu}, {found.n_cpus} usable"),
        ("memory", "not known" if memory is None else units.binary_bytes(memory)),
        ("device", f"{found.device_name} ({found.device}); {result.device.why}"),
        ("last-level cache", "not known" if cache is None else units.binary_bytes(cache)),
        ("driver", found.driver),
        ("software", f"torch {found.torch}, numpy {found.numpy}, Python {found.python}, "
                     f"CUDA {found.cuda or 'none'}, One New Row {found.app_version}"),
        ("threads", f"{result.n_threads}{_tried(result)}"),
        ("other load meanwhile", _load(result)),
        ("read bandwidth", live_numbers.bandwidth_words(result.probe)),
        ("data sheet", f"{quoted} ({result.device.nominal_source.removeprefix('not known: ')})"),
        ("products", _products(result)),
        ("duration", units.seconds(result.elapsed_s, 3)),
    ]  # fmt: skip
    live_table.table(("condition", "this measurement"), rows)
    scaffold.notes([scaffold.Message("note", note) for note in result.notes])


def _tried(result: MeasureResult) -> str:
    tried = (f"{n}: {units.byte_rate(rate, 3)}" for n, rate in result.thread_sweep)
    return f" (tried: {', '.join(tried)})" if result.thread_sweep else ""


def _load(result: MeasureResult) -> str:
    load = live_words.result_load(result)
    return f"not available: {load.why}" if load.cores is None else f"{load.cores:.2f} cores"


def _products(result: MeasureResult) -> str:
    if not result.points:
        return "none: the reads alone were measured"
    tried = (
        f"{p.label} {units.byte_rate(p.bytes_per_s, 3)}{'' if p.correct else ' (inexact)'}"
        for p in result.products
        if p.n_rows == result.points[0].batch_size
    )
    return f"{result.points[0].product}; compared at start-up: {', '.join(tried)}"


def take_away(result: MeasureResult | None) -> None:
    """Draw the downloads of the result on screen."""
    if result is None:
        st.caption("After a measurement: every sample with its conditions, as JSON and CSV.")
        return
    st.caption(f"{_title(result)}, {result.conditions.date_utc}: every sample with its conditions.")
    files = (
        ("Everything (JSON)", report.to_json, "json", "application/json"),
        ("Every sample (CSV)", report.to_csv, "csv", "text/csv"),
        ("Report beside published ones", report.report, "md", "text/markdown"),
    )
    with st.container(horizontal=True):
        for label, make, ending, mime in files:
            st.download_button(
                label,
                data=partial(make, result),
                file_name=f"one-new-row-live.{ending}",
                mime=mime,
                on_click="ignore",
                key=f"take_live_{ending}",
            )
    st.caption("The picture itself, as PNG or SVG, is in its menu.")
    command = headless(result)
    if command:
        st.caption("The same measurement without a browser:")
        st.code(command, language=None, wrap_lines=True)


def headless(result: MeasureResult) -> str:
    """Return the command that measures the same without a browser; empty where there is none."""
    spec = result.spec
    if spec.kind != "decode" or spec.model == "shipped":
        return ""
    size = "--config config.json" if spec.config else f"--weight-bytes {spec.weight_bytes}"
    point = f"--batch {spec.batch_size} --context {spec.context_len} --steps {spec.n_steps}"
    rest = f"--dtype {spec.dtype} --device {spec.device}"
    return f"python -m core measure {size} {point} {rest} --json"
