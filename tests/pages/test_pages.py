"""Every page, through app.py: it opens, it is literal, it uses what was typed."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import caching
from pages.ui.registry import PAGES

from .conftest import ROOT, OpenPage, mounted, shown_html, status

HOSTILE = 'x<b>y</b> "q" onmouseover="z" <script>w()</script> $5 and $7 *i* ~~s~~ :red[r] # h &amp;'
RUN_PAGES = ("start", "new_row")


def run_prompt(app: AppTest, prompt: str) -> AppTest:
    app.text_input(key="run_prompt").set_value(prompt)
    button = next(b for b in app.button if b.label == "Run")
    button.click().run()
    assert not app.exception, app.exception
    return app


def prompt_on_stage(app: AppTest) -> str:
    text: str = mounted(app)["run"]["payload"]["steps"][0]["text"][0][0]
    return text


def halves(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f2").astype(np.float32)


@pytest.mark.parametrize("slug", [page.slug for page in PAGES])
def test_page_opens_without_an_exception(slug: str, open_page: OpenPage) -> None:
    app = open_page(slug)
    page = next(page for page in PAGES if page.slug == slug)
    assert any(page.question.split("?")[0] in html for html in shown_html(app))


@pytest.mark.parametrize("slug", [page.slug for page in PAGES])
def test_page_opens_in_lecture_mode(slug: str, open_page: OpenPage) -> None:
    open_page(slug, lecture="1")


def test_the_first_pages_leave_torch_alone() -> None:
    """In a process of its own: this one has loaded torch for other tests."""
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=60).run()
app.switch_page("pages/new_row.py").run()
assert not app.exception, app.exception
assert app.get("bidi_component")
sys.exit("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("fresh_server")
def test_recorded_run_gives_way_to_an_equal_live_run(open_page: OpenPage) -> None:
    app = open_page("new_row")
    recorded = mounted(app)
    assert recorded["run"]["payload"]["recorded"] is True
    assert "recorded" in status(app)
    assert "proof" not in recorded
    caching.models().get("float32")
    app.run()
    live = mounted(app)
    assert live["run"]["payload"]["recorded"] is False
    assert live["newrow"] == recorded["newrow"]  # the stage is told nothing: nothing moves
    for name in ("tokens", "n_rows", "id"):
        assert live["run"]["payload"][name] == recorded["run"]["payload"][name], name
    for name in ("dots", "weights", "keys", "values"):  # another processor may round elsewhere
        ours, theirs = (halves(found["run"]["payload"][name]) for found in (live, recorded))
        np.testing.assert_allclose(ours, theirs, atol=2e-3, rtol=2e-3)
    captions = [[s["caption"] for s in f["run"]["payload"]["steps"]] for f in (live, recorded)]
    assert captions[0] == captions[1]
    assert all(step["ok"] for step in live["proof"]["payload"]["steps"])


def test_ui_06_the_first_click_uses_the_prompt_as_typed(open_page: OpenPage) -> None:
    app = run_prompt(open_page("new_row"), "Tom has a red ball.")
    assert prompt_on_stage(app) == "Tom has a red ball."


def test_ui_06_every_edit_of_four_is_used(open_page: OpenPage) -> None:
    app = open_page("new_row")
    for prompt in ("ab", "abc", "abcd", "abcde"):
        run_prompt(app, prompt)
        assert prompt_on_stage(app) == prompt
        assert app.text_input(key="run_prompt").value == prompt


def test_ui_06_another_control_neither_changes_the_run_nor_loads_the_model(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = run_prompt(open_page("new_row", temperature="0.9", seed="5"), "Once upon a time")
    before = mounted(app)["run"]

    def forbidden(*_: Any) -> None:
        raise AssertionError("the model was loaded again")

    monkeypatch.setattr(caching.ModelShelf, "_load", forbidden)
    app.selectbox(key="run_layer").set_value(2).run()
    assert not app.exception, app.exception
    after = mounted(app)
    assert after["run"] == before
    assert after["newrow"]["layer"] == 2


def test_clicking_run_twice_runs_once(open_page: OpenPage) -> None:
    app = run_prompt(open_page("new_row"), "Ben has a green hat.")
    run = app.session_state["_run"]
    run_prompt(app, "Ben has a green hat.")
    assert app.session_state["_run"] is run


@pytest.mark.parametrize("slug", RUN_PAGES)
def test_mc_02_empty_prompt_gives_a_message_and_keeps_the_picture(
    slug: str, open_page: OpenPage
) -> None:
    app = run_prompt(open_page(slug), "Tom has a red ball.")
    before = mounted(app)["run"]
    run_prompt(app, "")
    assert "at least one character" in status(app)
    assert mounted(app)["run"] == before


@pytest.mark.parametrize("slug", RUN_PAGES)
def test_mc_02_spaces_are_a_prompt(slug: str, open_page: OpenPage) -> None:
    assert prompt_on_stage(run_prompt(open_page(slug), "   ")) == "   "


def test_mc_02_a_prompt_one_short_of_the_context_gets_its_token_and_the_limit_is_named(
    open_page: OpenPage,
) -> None:
    app = run_prompt(open_page("new_row"), " ball" * 254)
    payload = mounted(app)["run"]["payload"]
    assert (payload["n_prompt"], payload["n_rows"], len(payload["tokens"])) == (255, 255, 256)
    assert payload["stop"]["reason"] == "context"
    assert "256" in payload["stop"]["sentence"]


def test_mc_02_a_prompt_that_is_too_long_keeps_its_end_and_says_how_many(
    open_page: OpenPage,
) -> None:
    app = run_prompt(open_page("new_row"), "ball " * 400 + "the end")
    payload = mounted(app)["run"]["payload"]
    assert len(payload["tokens"]) <= 256
    assert prompt_on_stage(app).endswith("the end")
    (note,) = payload["notes"]
    assert re.search(r"were dropped and the last \d+ kept", note)
    assert any(note in html for html in shown_html(app))


@pytest.mark.parametrize("n_characters", [20_000, 100_000])
def test_mc_02_a_very_long_paste_is_answered(n_characters: int, open_page: OpenPage) -> None:
    app = open_page("new_row")
    caching.models().get("float32")
    started = time.monotonic()
    run_prompt(app, "word " * (n_characters // 5))
    assert time.monotonic() - started < 10  # 2 s is the aim; a loaded test host gets room
    assert len(mounted(app)["run"]["payload"]["tokens"]) <= 256


@pytest.mark.parametrize("slug", RUN_PAGES)
def test_tk_02_no_html_or_markdown_holds_a_bare_prompt(slug: str, open_page: OpenPage) -> None:
    app = run_prompt(open_page(slug, layer="<b>7"), HOSTILE)
    assert prompt_on_stage(app) == HOSTILE
    for html in shown_html(app):
        if html.startswith("<style"):
            continue
        assert "<b>" not in html
        assert "<script" not in html
        assert 'onmouseover="' not in html
    for widget in (*app.button, *app.expander):
        assert "x<b>" not in widget.label


def test_an_address_restores_everything(open_page: OpenPage) -> None:
    app = open_page(
        "new_row", prompt="Mia found a big stone", layer="3", head="0", seed="4",
        temperature="0.7", steps="30",
    )  # fmt: skip
    view = mounted(app)["newrow"]
    assert prompt_on_stage(app) == "Mia found a big stone"
    assert (view["layer"], view["head"]) == (3, 0)
    assert app.number_input(key="run_seed").value == 4
    assert app.slider(key="run_temperature").value == 0.7


def test_a_step_beyond_the_first_batch_is_computed_for_its_link(open_page: OpenPage) -> None:
    app = open_page("start", prompt="Once upon a time, there was", step="40", temperature="0.5")
    found = mounted(app)
    assert found["newrow"]["step"] == min(40, len(found["run"]["payload"]["steps"]) - 1) > 16


def test_the_step_belongs_to_its_page(open_page: OpenPage) -> None:
    app = open_page("start", step="5")
    assert mounted(app)["newrow"]["step"] == 5
    app.switch_page("pages/new_row.py").run()
    assert mounted(app)["newrow"]["step"] == 0
    app.switch_page("pages/start.py").run()
    assert mounted(app)["newrow"]["step"] == 5


def test_nonsense_in_the_address_is_named_on_the_page(open_page: OpenPage) -> None:
    app = open_page("new_row", layer="9", seed="-1", dtype="float8", step="x")
    page = "\n".join(shown_html(app))
    for name, given in (("layer", "9"), ("seed", "-1"), ("dtype", "float8"), ("step", "x")):
        assert f"{name} = “{given}” was dropped" in page
    assert mounted(app)["newrow"]["layer"] in range(4)


def test_settings_survive_a_change_of_page(open_page: OpenPage) -> None:
    app = run_prompt(open_page("new_row"), "Ben found a lamp.")
    app.selectbox(key="run_layer").set_value(2)
    app.slider(key="run_temperature").set_value(0.6).run()
    app.switch_page("pages/start.py").run()
    assert prompt_on_stage(app) == "Ben found a lamp."
    app.switch_page("pages/new_row.py").run()
    assert app.selectbox(key="run_layer").value == 2
    assert app.slider(key="run_temperature").value == 0.6
    assert mounted(app)["newrow"]["layer"] == 2


def test_a_head_picked_in_the_picture_moves_the_run_bar(open_page: OpenPage) -> None:
    app = open_page("new_row")
    for n, (layer, head) in enumerate([(2, 1), (0, 3), (2, 1)], 1):
        app.session_state["new_row_stage"] = {
            "pick": {"value": {"layer": layer, "head": head}, "n": n}
        }
        app.run()
        pickers = {box.label: box.value for box in app.selectbox}
        assert (pickers["Layer"], pickers["Head"]) == (layer, head)
        assert (mounted(app)["newrow"]["layer"], mounted(app)["newrow"]["head"]) == (layer, head)


def test_a_step_from_the_browser_is_kept_and_a_new_prompt_starts_at_its_prefill(
    open_page: OpenPage,
) -> None:
    app = open_page("new_row")
    app.session_state["new_row_stage"] = {"step": {"value": 7, "n": 1}}
    app.run()
    assert mounted(app)["newrow"]["step"] == 7
    run_prompt(app, "Tom went home.")
    assert mounted(app)["newrow"]["step"] == 0


def test_the_stage_gets_the_rows_it_wants(open_page: OpenPage) -> None:
    app = run_prompt(
        open_page("new_row", temperature="1.0", seed="3"), "Once upon a time, there was"
    )
    before = mounted(app)["run"]["payload"]
    assert before["stop"]["more"] is True
    app.session_state["new_row_stage"] = {"want": {"value": before["n_rows"] + 16, "n": 1}}
    app.run()
    after = mounted(app)["run"]["payload"]
    assert after["id"] == before["id"]
    assert after["n_rows"] == before["n_rows"] + 16
    assert after["tokens"][: before["n_rows"]] == before["tokens"][: before["n_rows"]]


def test_the_limit_of_steps_stops_the_run_and_says_so(open_page: OpenPage) -> None:
    app = run_prompt(open_page("new_row", steps="4"), "Once upon a time, there was")
    stop = mounted(app)["run"]["payload"]["stop"]
    assert (stop["reason"], stop["more"]) == ("steps", False)
    assert "4 decode steps" in stop["sentence"]


def test_a_head_switched_off_runs_beside_the_original(open_page: OpenPage) -> None:
    app = run_prompt(open_page("new_row"), "Tom has a red ball. Mia has a blue kite. Tom has a")
    app.toggle(key="new_row_head_off").set_value(True).run()
    found = mounted(app)
    assert found["newrow"]["compare"] not in (None, found["newrow"]["run"])
    slots = {found["run"]["key"], found["other_run"]["key"]}
    assert slots == {found["newrow"]["run"], found["newrow"]["compare"]}
    assert any("Without layer" in html for html in shown_html(app))


def test_no_mask_needed_is_checked_by_the_core(open_page: OpenPage) -> None:
    payload = mounted(run_prompt(open_page("new_row"), "Tom has a red ball."))["run"]["payload"]
    sentence = payload["mask_check"]["sentence"]
    assert "is identical: 0 of its" in sentence
    n = payload["n_prompt"]
    assert f"hides {n * (n - 1) // 2} of {n * n} scores" in sentence


@pytest.mark.parametrize("same_order", [False, True])
def test_the_switch_for_the_summation_order_reaches_the_proof(
    same_order: bool, open_page: OpenPage
) -> None:
    app = open_page("new_row", prompt="Tom has a red ball.", same_order=str(int(same_order)))
    proof = mounted(app)["proof"]["payload"]
    assert proof["same_order"] is same_order
    assert all(step["ok"] for step in proof["steps"])


def test_bfloat16_runs_and_explains_its_differences(open_page: OpenPage) -> None:
    app = open_page("new_row", prompt="Tom has a red ball.", dtype="bfloat16")
    found = mounted(app)
    assert found["run"]["payload"]["dtype"] == "bfloat16"
    assert found["proof"]["payload"]["reason"]


def test_two_sessions_do_not_share_a_run(open_page: OpenPage) -> None:
    one = run_prompt(open_page("new_row"), "Tom has a red ball.")
    two = run_prompt(open_page("new_row"), "Mia has a blue kite.")
    one.run()
    assert prompt_on_stage(one) == "Tom has a red ball."
    assert prompt_on_stage(two) == "Mia has a blue kite."


def test_view_changes_send_no_payload(open_page: OpenPage) -> None:
    app = run_prompt(open_page("new_row"), "Tom has a red ball.")
    view = next(e for e in app.get("bidi_component") if e.proto.component_name == "onr.newrow")
    assert len(view.proto.json) < 1000
