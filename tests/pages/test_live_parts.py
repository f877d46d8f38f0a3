"""What the live page is made of, piece by piece: pictures, parts, lanes, counters, other tools."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.config import STORYTELLER
from core.cost.config_text import ConfigError
from core.machine.counters import Reading
from core.machine.external_itl import ExternalRun
from core.machine.live import LiveState
from core.machine.load import OtherLoad
from core.machine.records import MeasureResult
from core.machine.runs import measure
from core.machine.spec import MeasureSpec
from core.machine.tickets import TicketView
from pages.ui import (
    live_external,
    live_feel,
    live_meters,
    live_payload,
    live_published,
    live_settings,
    live_step,
    live_sweeps,
)

from .live_host import CPU

KINDS = {"measured", "counted", "modelled", "quoted"}
SMALL = MeasureSpec(
    model="shipped", device="cpu", dtype="float32", context_len=8, n_steps=6, n_threads=1,
    probe_bytes=2**20,
)  # fmt: skip


@pytest.fixture(scope="module")
def result() -> MeasureResult:
    return measure(SMALL)


@pytest.fixture(scope="module")
def swept() -> MeasureResult:
    return measure(replace(SMALL, kind="batch sweep", sweep=(1, 2, 4)))


def running_view(n_steps: int) -> TicketView:
    """A measurement that has timed many steps."""
    live = LiveState()
    live.take({"event": "read", "t_s": 0.0, "bytes_per_s": 20e9})
    steps = [0.02 + 0.001 * (i % 7) for i in range(n_steps)]
    live.take(
        {
            "event": "steps",
            "t_s": 1.0,
            "batch_size": 1,
            "context_len": 128,
            "weight_bytes": 10**9,
            "kv_bytes": 0,
            "itl_s": steps,
        }
    )
    return TicketView(
        1, MeasureSpec(n_steps=n_steps), "running", steps=tuple(live.steps), n_steps=n_steps,
        figures=live.figures,
    )  # fmt: skip


def test_a_tick_stays_small_however_long_the_run() -> None:
    picture = live_payload.running_picture(running_view(100_000))
    payload = live_payload.payload(picture, live_payload.Words(state="running", caption=""))
    assert len(json.dumps(payload)) < 14_000
    assert len(payload["series"]["ms"]) <= 360
    assert payload["series"]["first"] == 96_000
    assert sum(payload["histogram"]["counts"]) == 4000


def test_hw_01_a_missing_counter_is_not_available_never_zero() -> None:
    readings = (
        Reading("utilisation", "GPU busy", "%", why="Not Supported"),
        Reading("memory_used", "memory in use", "byte", 2147483648.0),
        Reading("memory_total", "memory in all", "byte", 10737418240.0),
        Reading("power", "power", "W", 412.0, "GPU is lost", stale=True),
    )
    found = {m["label"]: m for m in live_meters.meters(readings, OtherLoad(None, "no /proc"), 2)}
    assert found["GPU busy"]["value"] == "not available: Not Supported"
    assert found["memory in use"]["value"] == "2 GiB"
    assert found["memory in all"]["value"] == "10 GiB"
    assert found["power"]["value"] == "412 W, the last one: GPU is lost"
    assert (found["power"]["state"], found["GPU busy"]["state"]) == ("stale", "missing")
    assert found["other load"]["value"] == "not available: no /proc"


def test_sizes_that_do_not_fit_are_not_offered() -> None:
    small = replace(CPU, memory_free_bytes=10**9)
    assert live_settings.weight_options(small, "bfloat16") == [
        "shipped",
        "b128000000",
        "b500000000",
    ]
    gpu = replace(CPU, kind="cuda", memory_free_bytes=80 * 10**9)
    assert "p7000000000" in live_settings.weight_options(gpu, "bfloat16")
    assert "p7000000000" not in live_settings.weight_options(CPU, "bfloat16")


def test_a_dropped_in_config_becomes_our_shape_or_one_sentence() -> None:
    own = live_settings.read_own_shape(json.dumps(STORYTELLER.to_hf()).encode(), "config.json")
    assert (own.config.d_model, own.config.n_layers) == (128, 4)
    with pytest.raises(ConfigError):
        live_settings.read_own_shape(b"{", "config.json")
    moe = {**STORYTELLER.to_hf(), "model_type": "mixtral", "num_local_experts": 8}
    with pytest.raises(ValueError, match="mixtral"):
        live_settings.read_own_shape(json.dumps(moe).encode(), "config.json")


def test_a_sweep_shows_floor_parts_and_the_fit(swept: MeasureResult) -> None:
    chart = live_sweeps.sweep_chart(swept)
    latency, rate, by_bytes = chart["charts"]
    lines = {line["id"]: line for line in latency["lines"]}
    assert lines["p50"]["x"] == [1, 2, 4]
    assert lines["floor"]["fill"] == lines["weights"]["y"]
    floors = [point.floor_s * 1e3 for point in swept.points]
    assert lines["floor"]["y"] == pytest.approx(floors)
    total = next(line for line in rate["lines"] if line["id"] == "total")
    assert total["y"] == pytest.approx([point.tokens_per_s_total for point in swept.points])
    assert any(line["id"] == "fit" for line in by_bytes["lines"]) == (swept.fit is not None)
    assert sum(part["share"] for part in chart["stack"]) == pytest.approx(1)
    assert all(tile["kind"] in KINDS for tile in chart["tiles"])


def test_the_waterfall_has_every_operation_in_its_lane(result: MeasureResult) -> None:
    data = live_step.waterfall_data(result)
    assert len(data["bars"]) == len(data["texts"]) == len(result.bars)
    ends = [start + length for start, length, _ in data["bars"]]
    assert max(ends) == pytest.approx(data["axis"]["max"], rel=1e-4)
    assert {lane for _, _, lane in data["bars"]} <= set(range(len(data["lanes"])))
    times = live_step.totals(result.bars)
    assert sum(int(row[1]) for row in times) == len(result.bars)


def test_lanes_start_after_their_prefill_at_their_own_pace(result: MeasureResult) -> None:
    data = live_feel.feel_data(result, None)
    own, reader = data["lanes"][0], data["lanes"][-1]
    assert result.prefill is not None
    assert own["times"][0] == pytest.approx(result.prefill.seconds * 1e3, abs=1e-3)
    first_gap = own["times"][1] - own["times"][0]
    assert first_gap == pytest.approx(result.points[0].itl_samples_s[0] * 1e3, abs=2e-3)
    assert [lane["kind"] for lane in data["lanes"]] == ["measured", *["modelled"] * 4, "quoted"]
    assert len(own["times"]) == len(data["pieces"])
    assert reader["times"][1] - reader["times"][0] == pytest.approx(189, abs=1)
    assert "".join(data["pieces"]) == live_feel.TEXT


def test_a_model_that_does_not_fit_a_device_says_so(result: MeasureResult) -> None:
    from core.cost.catalog import find_model

    data = live_feel.feel_data(result, find_model("Llama 3.1 70B"))
    words = {lane["label"]: lane["words"] for lane in data["lanes"]}
    assert "too small" in words["RTX 4090"]
    assert data["lanes"][0]["kind"] == "modelled"


def test_this_host_stands_among_the_published_ones(result: MeasureResult) -> None:
    rows = live_published.published_ratios()
    table = live_published.ratio_table(rows, result)
    assert table.count("aria-current") == 1
    assert table.count("<tr") == len(rows) + 2
    assert "aria-current" not in live_published.ratio_table(rows, None)


def test_other_tools_latencies_are_laid_over_floor_and_prediction(result: MeasureResult) -> None:
    run = ExternalRun("vLLM", "<b>a model</b>", "every gap", (0.010, 0.012, 0.011))
    chart = live_external.chart_data((run,), result, None)
    (line,) = chart["charts"][0]["lines"]
    assert line["y"] == [10.0, 12.0, 11.0]
    assert "floor measured here" in chart["charts"][0]["levels"][0]["label"]
    long = live_external.bounded(replace(run, itl_s=(0.01,) * 30_000))
    assert len(long.itl_s) == live_external.MOST_KEPT
    assert "first 20,000 of 30,000" in long.notes[-1]


def test_the_picture_of_a_result_holds_every_sample(swept: MeasureResult) -> None:
    picture = live_payload.result_picture(swept)
    assert len(picture.samples_s) == 3 * swept.spec.n_steps
    assert [begin for begin, _, _ in picture.floors] == [0, 6, 12]
    payload = live_payload.payload(picture, live_payload.Words(state="done", caption=""))
    assert "at batch 1" in payload["floor_label"]
    assert len(payload["series"]["texts"]) == len(payload["series"]["ms"])
