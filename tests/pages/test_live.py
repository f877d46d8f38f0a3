"""Live latency on a scripted host: asked, watched, kept, stopped, capped; each number's kind."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.machine.caps import Caps
from core.machine.counters import Reading
from core.machine.device_list import DeviceList
from core.machine.load import OtherLoad
from core.machine.records import MeasureResult
from core.machine.runs import measure
from core.machine.spec import MeasureSpec
from pages.ui import (
    caching,
    live_page,
    live_payload,
    live_settings,
)

from .conftest import ROOT, OpenPage, mounted, shown_html, status
from .live_host import CPU, ScriptedHost

KINDS = {"measured", "counted", "modelled", "quoted"}
SMALL = MeasureSpec(
    model="shipped", device="cpu", dtype="float32", context_len=8, n_steps=6, n_threads=1,
    probe_bytes=2**20,
)  # fmt: skip


@pytest.fixture(scope="module")
def result() -> MeasureResult:
    return measure(SMALL)


def use(host: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the app ask this host."""
    devices = DeviceList(lambda: (CPU,))
    devices.wait()
    monkeypatch.setattr(caching, "measurements", lambda: host.service)
    monkeypatch.setattr(caching, "devices", lambda: devices)


@pytest.fixture
def host(result: MeasureResult, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedHost]:
    host = ScriptedHost(result)
    use(host, monkeypatch)
    yield host
    host.hold.set()
    host.service.close()


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click().run()
    assert not app.exception, app.exception
    return app


def drawn(app: AppTest) -> dict[str, Any]:
    """What the live stage was given last."""
    carriers = [json.loads(e.proto.json) for e in app.get("bidi_component")]
    found = [data["payload"] for data in carriers if data.get("key") == live_payload.KEY]
    assert len(found) == 1
    payload: dict[str, Any] = found[0]
    return payload


def test_an_idle_host_says_what_it_is_and_that_nothing_was_measured(
    host: ScriptedHost, open_page: OpenPage
) -> None:
    app = open_page("live")
    assert any("CPU, 2 processors (no GPU" in html for html in shown_html(app))
    payload = drawn(app)
    assert payload["state"] == "idle"
    assert "Nothing has been measured" in payload["empty"]
    assert payload["big"]["value"] == "–"
    assert app.button(key="live_stop").disabled


def test_measure_asks_for_what_was_chosen_and_shows_it_move(
    host: ScriptedHost, open_page: OpenPage
) -> None:
    app = open_page("live")
    app.selectbox(key="live_weights").set_value("b1000000000")
    app.selectbox(key="live_batch").set_value(4)
    app.selectbox(key="live_steps").set_value(64)
    press(app, "live_measure")
    host.until_timed()
    payload = drawn(app.run())
    (spec,) = host.specs
    assert (spec.weight_bytes, spec.batch_size, spec.n_steps) == (10**9, 4, 64)
    assert payload["state"] == "running"
    assert (payload["big"]["value"], payload["big"]["unit"]) == ("21.5", "ms")
    assert payload["n_samples"] == len(payload["series"]["ms"]) == 4
    assert payload["planned"] == 64
    assert payload["caption"].startswith("Token 3 took 21.5 ms")
    assert payload["floors"][0]["ms"] == pytest.approx(501e6 / 25e9 * 1e3)
    assert payload["progress"] == {"share": 0.25, "text": "measuring"}
    assert payload["queue"].startswith("You are measuring.")
    assert app.button(key="live_measure").disabled
    assert not app.button(key="live_stop").disabled


def test_every_number_carries_its_kind(host: ScriptedHost, open_page: OpenPage) -> None:
    app = press(open_page("live"), "live_measure")
    host.until_timed()
    payload = drawn(app.run())
    kinds = [payload["big"]["kind"], *(tile["kind"] for tile in payload["tiles"])]
    kinds += [part["kind"] for part in payload["parts"]]
    assert set(kinds) <= KINDS
    assert "(modelled)" in payload["floor_label"]
    achieved = next(tile for tile in payload["tiles"] if tile["id"] == "achieved")
    assert achieved["value"] == "23.3 GB/s"  # 501 MB in the median of 21.5 ms
    assert achieved["share"] == pytest.approx(501e6 / 0.0215 / 25e9)
    assert "93 % of the 25 GB/s measured beside it; data sheet: not known" in achieved["beside"]


def test_parts_of_the_running_picture_add_up_to_the_median(
    host: ScriptedHost, open_page: OpenPage
) -> None:
    app = press(open_page("live"), "live_measure")
    host.until_timed()
    payload = drawn(app.run())
    assert sum(part["ms"] for part in payload["parts"]) == pytest.approx(21.5)
    assert {part["kind"] for part in payload["parts"]} == {"modelled"}


def test_another_session_watches_and_is_told_its_place(
    host: ScriptedHost, open_page: OpenPage
) -> None:
    first = press(open_page("live"), "live_measure")
    host.until_timed()
    other = open_page("live")
    assert "Somebody else is measuring; you are watching." in drawn(other)["queue"]
    assert drawn(other)["big"]["value"] == "21.5"
    other.selectbox(key="live_batch").set_value(2)
    press(other, "live_measure")
    assert "You are waiting: 1 measurement before yours." in drawn(other)["queue"]
    assert "others are watching" in drawn(first.run())["queue"]


def test_the_same_wish_is_one_measurement(host: ScriptedHost, open_page: OpenPage) -> None:
    for _ in range(3):
        press(open_page("live"), "live_measure")
    assert len(host.specs) + host.service.n_waiting() == 1


def test_a_result_is_kept_with_its_age_and_shown_to_all(
    host: ScriptedHost, result: MeasureResult, open_page: OpenPage
) -> None:
    app = press(open_page("live"), "live_measure")
    host.finish()
    payload = drawn(app.run())
    assert payload["state"] == "done"
    assert payload["n_samples"] == result.spec.n_steps
    host.now_s += 130
    other = open_page("live")
    assert "Measured 2 min ago" in drawn(other)["queue"]
    assert drawn(other)["series"] == payload["series"]
    assert any("2 min ago" in html for html in shown_html(other))


def test_stop_ends_it_and_the_last_result_stays(host: ScriptedHost, open_page: OpenPage) -> None:
    app = press(open_page("live"), "live_measure")
    host.finish()
    host.hold.clear()
    before = drawn(app.run())["series"]
    press(app, "live_measure")
    host.until_timed()
    press(app, "live_stop")
    host.until(lambda: host.service.running() is None)
    payload = drawn(app.run())
    assert (payload["state"], payload["series"]) == ("done", before)
    assert "onr-kind" not in status(app)


def test_stopping_what_others_asked_for_only_stops_watching(
    host: ScriptedHost, open_page: OpenPage
) -> None:
    press(open_page("live"), "live_measure")
    host.until_timed()
    other = press(open_page("live"), "live_stop")
    assert host.service.running() is not None
    assert drawn(other)["state"] == "idle"
    press(other, "live_watch")
    assert drawn(other)["state"] == "running"


def test_a_failure_is_one_sentence_and_the_last_result_stays(
    host: ScriptedHost, open_page: OpenPage
) -> None:
    app = press(open_page("live"), "live_measure")
    host.finish()
    kept = drawn(app.run())["series"]
    host.last = {"event": "error", "message": "weights need 9.0 GB <b>of</b> 4.0"}
    press(app, "live_measure")
    host.finish()
    app.run()
    assert "The measurement failed: weights need 9.0 GB" in status(app)
    assert "<b>" not in status(app)
    assert drawn(app)["series"] == kept


def test_settings_that_cannot_be_measured_are_one_sentence(
    host: ScriptedHost, open_page: OpenPage
) -> None:
    app = open_page("live")
    app.selectbox(key="live_weights").set_value(live_settings.SHIPPED)
    app.selectbox(key="live_context").set_value(4096)
    press(app, "live_measure")
    assert "context is 256 tokens; 4,096 cannot be held" in status(app)
    assert host.specs == []


def test_choices_survive_a_page_change(host: ScriptedHost, open_page: OpenPage) -> None:
    app = open_page("live")
    app.selectbox(key="live_batch").set_value(8).run()
    app.switch_page("pages/start.py").run()
    app.switch_page("pages/live.py").run()
    assert app.selectbox(key="live_batch").value == 8


@pytest.mark.parametrize("name", live_page.SECTIONS)
def test_every_section_opens_before_and_after_a_measurement(
    name: str, host: ScriptedHost, open_page: OpenPage
) -> None:
    app = open_page("live")
    app.segmented_control(key="live_section").set_value(name).run()
    assert not app.exception, app.exception
    press(app, "live_measure")
    host.finish()
    app.run()
    assert not app.exception, app.exception


def test_following_can_be_switched_off(
    host: ScriptedHost, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    import streamlit as st

    every: list[float | None] = []
    real = st.fragment

    def noted(function: Any, *, run_every: float | None = None) -> Any:
        if function.__name__ == "_tick":
            every.append(run_every)
        return real(function, run_every=run_every)

    monkeypatch.setattr("pages.ui.live_stage.st.fragment", noted)
    app = press(open_page("live"), "live_measure")
    host.until_timed()
    app.run()
    app.toggle(key="live_follow").set_value(False).run()
    assert every[0] == 2.0
    assert 0.25 in every
    assert every[-1] is None


def test_a_capped_deployment_says_so(
    result: MeasureResult, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = ScriptedHost(result, Caps(mode="light"))
    use(host, monkeypatch)
    app = open_page("live")
    assert app.selectbox(key="live_weights").options == ["Shipped model"]
    assert "large weights are switched off" in status(app)
    press(app, "live_measure")
    host.finish()
    assert [spec.model for spec in host.specs] == ["shipped"]
    host.service.close()


def test_a_deployment_without_measurements_disables_the_button(
    result: MeasureResult, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = ScriptedHost(result, Caps(mode="off"))
    use(host, monkeypatch)
    app = open_page("live")
    assert app.button(key="live_measure").disabled
    assert "switched off on this deployment" in status(app)
    app.segmented_control(key="live_section").set_value("Sweeps").run()
    assert app.button(key="live_batch_sweep").disabled


def test_a_limit_that_cannot_be_read_is_a_sentence(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise ValueError("ONE_NEW_ROW_MEASURE must be one of on, light, off, got 'maybe'")

    monkeypatch.setattr(caching, "measurements", refuse)
    assert "must be one of on, light, off" in status(open_page("live"))


def test_the_page_opens_without_torch() -> None:
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=60).run()
app.switch_page("pages/live.py").run()
assert not app.exception, app.exception
sys.exit("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_counters_reach_the_picture_while_it_runs(host: ScriptedHost, open_page: OpenPage) -> None:
    host.readings = (Reading("power", "power", "W", 300.0),)
    host.load = OtherLoad(1.5)
    app = press(open_page("live"), "live_measure")
    host.until_timed()
    host.until(lambda: bool(host.service.poll(host.service.running() or 0, "a test").readings))
    payload = drawn(app.run())
    assert {m["label"]: m["value"] for m in payload["meters"]}["power"] == "300 W"
    assert "Other work keeps 1.5 processor cores busy" in payload["warning"]


def test_the_stage_is_sent_once_and_the_figures_through_the_store(
    host: ScriptedHost, open_page: OpenPage
) -> None:
    app = press(open_page("live"), "live_measure")
    host.until_timed()
    app.run()
    assert mounted(app)["live"] == {"lecture": False, "made": 0}  # not sent anew by any run
