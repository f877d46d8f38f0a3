"""The host's own roof: from measured results only, and none before there is one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from core.config import STORYTELLER
from core.cost.accounting import Pass, forward_total
from core.machine.host_roof import NAME, host_roof
from core.machine.records import MeasureResult, PrefillTime
from core.machine.runs import measure
from core.machine.spec import MeasureSpec


@pytest.fixture(scope="module")
def result() -> MeasureResult:
    before = torch.get_num_threads()
    spec = MeasureSpec(
        device="cpu", config=STORYTELLER, n_steps=3, context_len=8, n_threads=1,
        probe_bytes=16 * 2**20,
    )  # fmt: skip
    found = measure(spec, parts=False)
    torch.set_num_threads(before)
    return found


def test_there_is_no_roof_before_a_pass_was_timed(result: MeasureResult) -> None:
    assert host_roof([]) is None
    assert host_roof([replace(result, points=(), prefill=None)]) is None


def test_bandwidth_is_the_probes_and_the_ceiling_the_fastest_pass(result: MeasureResult) -> None:
    alone = replace(result, prefill=None)
    roof = host_roof([alone])
    assert roof is not None
    assert roof.name == NAME
    assert roof.bandwidth_bytes_per_s == result.probe.median_bytes_per_s
    point = result.points[0]
    assert roof.flops_per_s == point.flops / point.itl_s.p50
    assert result.conditions.date_utc in roof.source
    fast = replace(result, config=STORYTELLER, dtype="float32", prefill=PrefillTime(64, 1e-6))
    with_prefill = host_roof([alone, fast])
    assert with_prefill is not None
    work = forward_total(STORYTELLER, Pass(64, 64, 1, "float32", "float32"))
    assert with_prefill.flops_per_s == pytest.approx(work.flops / 1e-6)


def test_other_devices_do_not_mix(result: MeasureResult) -> None:
    other = replace(
        result,
        device=replace(result.device, name="another"),
        probe=replace(result.probe, median_bytes_per_s=1e15),
    )
    roof = host_roof([result, other])
    assert roof is not None
    assert roof.bandwidth_bytes_per_s == result.probe.median_bytes_per_s
