"""Cache growth, live: measured bytes on the formula, the same run as the other pages."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from core.cost.kv import kv_bytes_allocated, kv_bytes_total
from core.cost.spec import spec_from_config
from core.decode.records import RunTrace
from core.decode.trace_file import load_trace
from pages.ui.growth_live import growth_csv, growth_table
from pages.ui.growth_payload import growth_key, growth_payload
from pages.ui.payload import run_payload
from tests.pages.conftest import OpenPage, mounted

LIMIT = 64


@pytest.fixture(scope="module")
def trace() -> RunTrace:
    return load_trace()


@pytest.fixture(scope="module")
def payload(trace: RunTrace) -> dict:
    return growth_payload(trace, LIMIT, run_payload(trace, LIMIT))


def test_every_measured_point_lies_on_the_formula(trace: RunTrace, payload: dict) -> None:
    spec = spec_from_config(trace.config)
    for step, record in zip(payload["steps"], trace.steps, strict=True):
        assert step["in_use_bytes"] == record.kv_bytes_in_use
        assert step["in_use_bytes"] == step["formula_bytes"]
        assert step["formula_bytes"] == kv_bytes_total(spec, record.context_len, 1, "float32")
        assert step["proof"]["ok"]


def test_bytes_in_use_are_those_of_the_tensors(trace: RunTrace, payload: dict) -> None:
    assert payload["steps"][-1]["in_use_bytes"] == trace.keys.nbytes + trace.values.nbytes


def test_the_stair_of_blocks_wastes_less_than_a_block(payload: dict) -> None:
    for step in payload["steps"]:
        waste = step["blocks_bytes"] - step["in_use_bytes"]
        assert 0 <= waste <= (payload["block_size"] - 1) * payload["per_token_bytes"]


def test_a_cache_that_is_not_the_formula_is_said_to_be_wrong(trace: RunTrace) -> None:
    off = replace(trace.steps[3], kv_bytes_in_use=trace.steps[3].kv_bytes_in_use + 4)
    other = replace(trace, steps=(*trace.steps[:3], off, *trace.steps[4:]))
    proof = growth_payload(other, LIMIT, run_payload(other, LIMIT))["steps"][3]["proof"]
    assert not proof["ok"]
    assert "75,780 B" in proof["detail"]
    assert "75776" in proof["detail"]


def test_axes_hold_every_step_and_do_not_change_as_the_run_grows(
    trace: RunTrace, payload: dict
) -> None:
    shorter = replace(trace, steps=trace.steps[:5], tokens=trace.tokens[: trace.n_prompt + 5])
    assert growth_payload(shorter, LIMIT, run_payload(shorter, LIMIT))["axes"] == payload["axes"]
    for axis in payload["axes"].values():
        assert axis["x_max"] >= trace.n_rows
        assert axis["y_max"] == kv_bytes_allocated(
            spec_from_config(trace.config), axis["x_max"], 1, "float32"
        )
    assert payload["axes"]["context"]["y_max"] == trace.steps[0].kv_bytes_allocated


def test_each_number_has_its_kind(payload: dict) -> None:
    kinds = {tile["id"]: tile["kind"] for tile in payload["steps"][2]["panel"]}
    assert kinds["in_use"] == kinds["reserved"] == "measured"
    assert kinds["read"] == kinds["blocks"] == "modelled"


def test_the_data_say_the_same_as_the_picture(trace: RunTrace, payload: dict) -> None:
    table = growth_table(payload, trace)
    rows = list(csv.DictReader(io.StringIO(growth_csv(payload, trace))))
    assert len(rows) == len(table["steps"]) == trace.n_steps + 1
    assert [int(row["kv_bytes_in_use"]) for row in rows] == [
        record.kv_bytes_in_use for record in trace.steps
    ]
    assert json.loads(json.dumps(table)) == table


def test_page_sends_the_growth_of_the_run_that_new_row_shows(open_page: OpenPage) -> None:
    new_row = mounted(open_page("new_row"))
    app = open_page("cache_growth")
    sent = [json.loads(e.proto.json) for e in app.get("bidi_component")]
    growth = next(data for data in sent if data.get("key", "").endswith(":growth"))
    assert growth["key"] == growth_key(new_row["newrow"]["run"])
    assert growth["payload"]["steps"][0]["context_len"] == growth["payload"]["n_prompt"]


def test_the_number_of_steps_in_the_address_is_the_axis(open_page: OpenPage) -> None:
    app = open_page("cache_growth", steps="200")
    sent = [json.loads(e.proto.json) for e in app.get("bidi_component")]
    growth = next(data for data in sent if data.get("key", "").endswith(":growth"))
    assert growth["payload"]["axes"]["run"]["x_max"] == 240
