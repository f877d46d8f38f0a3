"""Planner and real models: the page shows what core.cost says, and survives what people type."""

from __future__ import annotations

import json
import math
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import pytest
from streamlit.testing.v1 import AppTest

from core.cost.catalog import accelerator_names, find_accelerator, find_model, model_names
from core.cost.config_text import ConfigError
from core.cost.formula import evaluate
from core.cost.overhead import comparisons
from core.cost.planner import PlanRequest, plan
from pages.ui import hub, plan_words, planner_view, world_panel
from pages.ui.config_input import read_model
from pages.ui.growth_chart import growth_chart, variants
from pages.ui.planner_chart import planner_charts
from tests.pages.conftest import OpenPage, shown_html

H100 = find_accelerator("H100 SXM 80GB")


def stage_data(app: AppTest) -> dict[str, Any]:
    """What the stage of curves finds in the browser's store."""
    sent = [json.loads(element.proto.json) for element in app.get("bidi_component")]
    names = [data["plan"] for data in sent if "plan" in data]
    found: dict[str, Any] = next(d["payload"] for d in sent if d.get("key") == names[0])
    return found


def tile(data: dict[str, Any], name: str) -> str:
    return next(t["value"] for t in data["tiles"] if t["id"] == name)


def choose(app: AppTest, name: str, value: object) -> AppTest:
    app.selectbox(key=f"run_{name}").set_value(value).run()
    assert not app.exception, app.exception
    return app


def write(app: AppTest, key: str, text: str) -> AppTest:
    app.text_input(key=key).set_value(text).run()
    assert not app.exception, app.exception
    return app


@pytest.fixture
def planner(open_page: OpenPage) -> AppTest:
    return open_page("planner")


def test_the_big_number_is_the_floor_of_the_plan(planner: AppTest) -> None:
    data = stage_data(planner)
    result = plan(PlanRequest(find_model("Llama 3.1 8B"), 8192, 1, H100))
    assert result.itl_floor_s == pytest.approx(4.80e-3, rel=0.01)
    assert data["big"]["value"] == "4.8 ms"
    assert data["big"]["kind"] == "modelled"
    assert tile(data, "fit") == str(result.max_batch) == "59"
    assert [chart["id"] for chart in data["charts"]] == ["batch", "context", "rates", "roofline"]


def test_the_figures_to_take_away_are_those_of_the_plan(planner: AppTest) -> None:
    figures = stage_data(planner)["figures"]
    result = plan(PlanRequest(find_model("Llama 3.1 8B"), 8192, 1, H100))
    assert figures["kind"] == "modelled"
    for name in ("itl_floor_s", "max_batch", "kv_bytes_total", "binding", "energy_j_per_token"):
        assert figures[name] == getattr(result, name)


def test_a_slider_moves_the_plan(planner: AppTest) -> None:
    slide(planner, batch=16)
    result = plan(PlanRequest(find_model("Llama 3.1 8B"), 8192, 16, H100))
    assert tile(stage_data(planner), "total") == f"{result.tokens_per_s_total:,.0f}"


@pytest.mark.parametrize("typed", ["131,072", " 131072 ", "131_072", "131072.0"])
def test_an_exact_context_may_be_typed(planner: AppTest, typed: str) -> None:
    write(planner, "plan_context_text", typed)
    assert stage_data(planner)["charts"][1]["cursor"]["x"] == 131072
    assert stage_data(planner)["sizes"][0]["value"] == 131072
    assert planner.text_input(key="plan_context_text").value == ""


def test_a_typed_value_between_the_places_of_the_slider_becomes_one(planner: AppTest) -> None:
    write(planner, "plan_batch_text", "37")
    batch = stage_data(planner)["sizes"][1]
    assert batch["value"] == 37
    assert batch["texts"][batch["places"].index(37)] == "37"
    slide(planner, batch=48)
    assert stage_data(planner)["charts"][0]["cursor"]["x"] == 48


@pytest.mark.parametrize("key", ["context", "batch"])
@pytest.mark.parametrize("typed", ["0", "-3", "2.5", "1e12", "many", "٣", "nan", "inf"])
def test_a_bad_size_is_named_and_the_last_picture_stays(
    planner: AppTest, key: str, typed: str
) -> None:
    before = stage_data(planner)
    write(planner, f"plan_{key}_text", typed)
    assert stage_data(planner) == before
    said = [text for text in shown_html(planner) if "onr-finding" in text]
    assert len(said) == 1
    assert "must be a whole number from 1 to" in said[0]
    write(planner, f"plan_{key}_text", "32")
    assert not [text for text in shown_html(planner) if "onr-finding" in text]


def test_an_old_report_of_a_slider_does_not_undo_what_was_typed(planner: AppTest) -> None:
    slide(planner, batch=48)
    write(planner, "plan_batch_text", "5")
    planner.run()
    assert stage_data(planner)["sizes"][1]["value"] == 5


def test_choices_are_shared_by_both_pages_and_survive_a_page_change(planner: AppTest) -> None:
    choose(planner, "model", "Gemma 3 27B (text)")
    write(planner, "plan_context_text", "20000")
    planner.switch_page("pages/cache_growth.py").run()
    data = stage_data(planner)
    assert data["title"] == "K/V cache of Gemma 3 27B (text), 1 request"
    assert data["charts"][0]["cursor"]["x"] == 20000
    planner.switch_page("pages/planner.py").run()
    assert "Gemma 3 27B" in stage_data(planner)["title"]


def test_more_devices_weights_and_a_price(planner: AppTest) -> None:
    choose(planner, "model", "Llama 3.1 70B")
    choose(planner, "devices", 4)
    choose(planner, "weight_dtype", "fp8")
    choose(planner, "kv_dtype", "q8_0")
    planner.number_input(key="run_price").set_value(2.5).run()
    ask = PlanRequest(find_model("Llama 3.1 70B"), 8192, 1, H100, 4, "fp8", "q8_0",
                      price_per_hour=2.5)  # fmt: skip
    result = plan(ask)
    data = stage_data(planner)
    assert data["title"].startswith("Llama 3.1 70B on H100 SXM 80GB × 4")
    assert float(tile(data, "cost").replace(",", "")) == pytest.approx(
        result.cost_per_million_tokens, rel=0.01
    )
    assert any("all-reduces" in note for note in data["notes"])


CONFIG = json.dumps({"num_hidden_layers": 8, "hidden_size": 512, "num_attention_heads": 8,
                     "torch_dtype": "float16"})  # fmt: skip


def test_an_address_brings_a_plan_back(open_page: OpenPage) -> None:
    app = open_page("planner", model="gemma 2 9b", accelerator="T4", devices="2", context="5000",
                    batch="3", weight_dtype="int8", kv_dtype="q4_0", price="1.5")  # fmt: skip
    data = stage_data(app)
    assert data["title"] == "Gemma 2 9B on T4 × 2, 3 requests of 5,000 tokens"
    assert "cost" in {t["id"] for t in data["tiles"]}
    assert data["address"]["wanted"]["batch"] == "3"
    slide(app, batch=4)
    assert stage_data(app)["address"]["wanted"]["batch"] == "4"


def test_what_an_address_asks_in_vain_is_named(open_page: OpenPage) -> None:
    app = open_page("planner", model="Gemma 99B", batch="0", context="1e12")
    said = " ".join(shown_html(app))
    assert "no model named" in said
    assert "batch = “0” was dropped: it must be a whole number from 1 to" in said
    assert "context = “1e12” was dropped" in said
    assert stage_data(app)["title"].startswith("Llama 3.1 8B on H100")


_REPORTS = count(1)


def slide(app: AppTest, **sizes: int) -> AppTest:
    """What the browser reports when a slider of the stage is moved."""
    app.session_state["planner_curves"] = {"sizes": {**sizes, "n": next(_REPORTS)}}
    app.run()
    assert not app.exception, app.exception
    return app


def paste(app: AppTest, text: str) -> AppTest:
    app.text_area(key="plan_paste").set_value(text)
    app.button(key="plan_paste_use").click().run()
    assert not app.exception, app.exception
    return app


def test_a_pasted_config_becomes_the_model(planner: AppTest) -> None:
    paste(planner, CONFIG)
    assert "own config" in [box.value for box in planner.selectbox]
    data = stage_data(planner)
    assert data["big"]["value"] == "16 KiB"
    assert data["charts"] == []
    assert "only the cache is known" in " ".join(data["words"])
    planner.switch_page("pages/cache_growth.py").run()
    assert stage_data(planner)["big"]["beside"] == "16,384 B, 8 full layers"


KV_08 = [
    ('{"num_hidden_layers":8,\n<<<<<<< HEAD\n"hidden_size":512\n}', "line 2"),
    ("<!doctype html><html>x</html>", "web page"),
    ('{"hidden_size":512}', "num_hidden_layers"),
    ("[]", "object"),
    ("3", "object"),
    ('"x"', "object"),
    ("{}", "missing"),
    ("", "empty"),
    ("[" * 100_000, "deeper"),
    ('{"a":' * 70 + "1" + "}" * 70, "deeper"),
    ('{"a": "' + "x" * 3_000_000 + '"}', "num_hidden_layers"),
]


@pytest.mark.parametrize(("text", "named"), KV_08, ids=[f"KV-08-{i}" for i in range(len(KV_08))])
def test_a_config_that_cannot_be_read_gets_one_message(
    planner: AppTest, text: str, named: str
) -> None:
    paste(planner, CONFIG)
    before = stage_data(planner)
    paste(planner, text)
    assert stage_data(planner) == before
    said = [text for text in shown_html(planner) if "onr-finding" in text]
    assert len(said) == 1
    assert named in said[0]


def test_kv_08_infinity_and_a_byte_order_mark_are_read() -> None:
    text = (
        '{"num_hidden_layers":8,"hidden_size":512,"num_attention_heads":8,'
        '"time_step_limit":[0.0,Infinity],"torch_dtype":"float16"}'
    )
    for form in (text, "\ufeff" + CONFIG, CONFIG.encode("utf-8-sig")):
        assert plan(PlanRequest(read_model(form), 1)).kv_bytes_per_token == 16384


@pytest.mark.parametrize("form", [str, str.encode])
def test_fifty_megabytes_are_refused_by_their_size(form: Any) -> None:
    with pytest.raises(ConfigError, match="50,000,000 bytes"):
        read_model(form(" " * 50_000_000))


def test_text_in_a_config_is_never_markup(planner: AppTest) -> None:
    paste(planner, json.dumps({"model_type": "<img src=x onerror=alert(1)>"}))
    assert not any("<img" in text for text in shown_html(planner))


def test_fetching_is_off_by_default(planner: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(hub.SWITCH, raising=False)
    assert any("switched off" in caption.value for caption in planner.caption)
    with pytest.raises(hub.HubError, match="switched off"):
        hub.fetch_config("org/name")


@pytest.mark.parametrize(
    "name", ["", "name", "org/na me", "../etc/passwd", "a/b/c", "org/..", "http://x/y"]
)
def test_a_malformed_hub_id_asks_nobody(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hub.SWITCH, "1")
    monkeypatch.setattr(hub, "urlopen", lambda *_, **__: pytest.fail("asked the network"))
    with pytest.raises(hub.HubError, match="form org/name"):
        hub.fetch_config(name)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (URLError("no route"), "cannot be reached"),
        (TimeoutError("timed out"), "cannot be reached"),
        (HTTPError("u", 404, "", None, None), "no config.json"),  # type: ignore[arg-type]
        (HTTPError("u", 401, "", None, None), "private or gated"),  # type: ignore[arg-type]
        (HTTPError("u", 503, "", None, None), "error 503"),  # type: ignore[arg-type]
    ],
)
def test_without_a_network_one_message_says_so(
    fault: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setenv(hub.SWITCH, "1")
    monkeypatch.setattr(hub, "urlopen", refuse)
    with pytest.raises(hub.HubError, match=said):
        hub.fetch_config("org/name")


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [n for part in value.values() for n in _numbers(part)]
    if isinstance(value, list | tuple):
        return [n for part in value for n in _numbers(part)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("name", model_names())
def test_every_model_is_drawn_on_every_accelerator(name: str) -> None:
    for accelerator in accelerator_names():
        for batch, context, devices in ((1, 8192, 1), (1024, 1_000_000, 8)):
            ask = PlanRequest(find_model(name), context, batch, find_accelerator(accelerator),
                              devices)  # fmt: skip
            result = plan(ask)
            charts = [growth_chart(result, compare=True), *planner_charts(result)]
            assert all(math.isfinite(number) for number in _numbers(charts))
            assert len(json.dumps(charts)) < 40_000
            for chart in charts:
                for line in chart["lines"]:
                    assert len(line["x"]) == len(line["y"])
                    assert len(line.get("texts", line["x"])) == len(line["x"])


def test_memory_smaller_than_the_weights_is_said_and_the_curve_still_shown() -> None:
    result = plan(PlanRequest(find_model("Llama 3.1 405B"), 4096, 1, find_accelerator("T4")))
    assert "do not fit" in " ".join(plan_words.crossings(result))
    assert growth_chart(result, compare=False)["lines"][0]["y"][-1] > 0
    assert planner_charts(result)[0]["lines"]
    assert {t["id"]: t["value"] for t in planner_view.planner_tiles(result)}["limit"] == "0"


def test_a_window_has_a_knee_and_a_second_line_for_what_is_allocated() -> None:
    result = plan(PlanRequest(find_model("Mistral 7B v0.1"), 32768, 1, H100))
    lines = {line["id"]: line for line in growth_chart(result, compare=False)["lines"]}
    held = dict(zip(lines["held"]["x"], lines["held"]["y"], strict=True))
    allocated = dict(zip(lines["allocated"]["x"], lines["allocated"]["y"], strict=True))
    assert held[4096] == held[32768] == 4096 * 131072
    assert allocated[32768] == 32768 * 131072


def test_full_attention_has_one_line_because_both_are_equal() -> None:
    result = plan(PlanRequest(find_model("Llama 3.1 8B"), 4096, 1, H100))
    assert [line["id"] for line in growth_chart(result, compare=False)["lines"]] == ["held"]


def test_a_hybrid_shows_its_constant_state() -> None:
    result = plan(PlanRequest(find_model("Nemotron-H-56B (hybrid)"), 4096, 2, H100))
    lines = {line["id"]: line for line in growth_chart(result, compare=False)["lines"]}
    assert set(lines["state"]["y"]) == {result.state_bytes_total}


def test_head_counts_compare_the_same_model() -> None:
    found = dict(variants(find_model("Llama 3.1 8B")))
    assert list(found) == ["multi-head, 32 K/V heads", "multi-query, 1 K/V head"]
    assert variants(find_model("DeepSeek-V3 671B")) == []
    assert [name for name, _ in variants(find_model("Llama 2 7B"))] == ["multi-query, 1 K/V head"]


def test_crossings_lie_on_the_line_they_mark() -> None:
    result = plan(PlanRequest(find_model("Llama 3.1 8B"), 8192, 4, H100))
    chart = growth_chart(result, compare=False)
    assert {mark["label"] for mark in chart["marks"]} == {"cache = weights", "memory full", ""}
    for mark in chart["marks"]:
        assert mark["y"] == pytest.approx(4 * 131072 * mark["x"], rel=1e-6)


def test_no_measurement_beats_the_floor_and_all_are_listed() -> None:
    rows = comparisons()
    assert len(rows) >= 40
    assert all(row.ratio < 1 for row in rows)
    assert world_panel.measurement_table(rows).count("<tr>") == len(rows) + 1
    assert world_panel.ratio_picture().count("left:") == len(rows) + 5


def test_each_formula_is_shown_as_it_was_evaluated(planner: AppTest) -> None:
    choose(planner, "model", "gpt-oss-20b")
    shown = {row[0].split(" = ")[0]: row for row in stage_data(planner)["formulas"]}
    result = plan(PlanRequest(find_model("gpt-oss-20b"), 8192, 1, H100))
    assert set(shown) == set(result.formulas)
    for name, formula in result.formulas.items():
        named, numbers = shown[name]
        assert named == f"{name} = {formula.expression}"
        assert numbers.startswith(formula.text)
        assert evaluate(numbers.split(" = ")[0], {}) == pytest.approx(formula.value, rel=1e-9)


def test_pages_never_import_torch() -> None:
    for file in Path("pages/ui").glob("plan*.py"):
        assert "import torch" not in file.read_text(encoding="utf-8")
