"""Weight sweep: what the browser is sent equals core, bad input leaves the last good picture."""

from __future__ import annotations

import base64
import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.config import STORYTELLER
from core.cost.accounting import forward_ops, matmul_cost, total_cost
from core.cost.catalog import find_accelerator
from core.cost.spec import AcceleratorSpec
from core.decode.records import RunTrace
from core.decode.sweep_settings import DTYPES
from core.decode.trace_file import load_trace
from core.model.checkpoint import LoadedModel, load_model
from core.model.errors import CheckpointError
from pages.ui.roofline_chart import Dot, arithmetic, in_words, roofline_figure
from pages.ui.step_bytes import bar_html, step_shares, words
from pages.ui.sweep_payload import SweepKey, drawn_rows, sweep_payload
from pages.ui.sweep_roofline import number_typed
from pages.ui.sweep_stage import STAGE
from tests.pages.conftest import OpenPage, shown_html, status

POSITION = 20


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return load_model()


@pytest.fixture(scope="module")
def trace() -> RunTrace:
    return load_trace()


def made(model: LoadedModel, trace: RunTrace, matrix: str, group_size: int = 32) -> dict[str, Any]:
    layer = None if matrix == "lm_head" else 1
    return sweep_payload(model, trace, SweepKey("run", matrix, layer, POSITION, group_size))


def unpacked(text: str, dtype: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype)


def sent(app: AppTest, name: str) -> dict[str, Any]:
    """The data of the stage, or of the carrier of the sweep."""
    for element in app.get("bidi_component"):
        data = json.loads(element.proto.json)
        is_sweep = ":sweep:" in data.get("key", "")
        if (name == "carrier" and is_sweep) or (name == "stage" and "choices" in data):
            return data
    raise AssertionError(f"no {name} is mounted")


def choose(app: AppTest, n: int, **change: Any) -> AppTest:
    """Play what the stage reports when the reader chooses something."""
    app.session_state[STAGE] = {"pick": {"value": change, "n": n}}
    app.run()
    assert not app.exception, app.exception
    return app


@pytest.mark.parametrize("matrix", STORYTELLER.matrices())
def test_payload_is_what_core_computes(model: LoadedModel, trace: RunTrace, matrix: str) -> None:
    payload = made(model, trace, matrix)
    d_in, d_out = STORYTELLER.matrices()[matrix]
    assert (payload["d_in"], payload["d_out"]) == (d_in, d_out)
    x = unpacked(payload["x"], "<f4")
    weight = model.transformer.weights.matrix(matrix, None if matrix == "lm_head" else 1).numpy()
    for dtype in DTYPES:
        one = payload["dtypes"][dtype]
        formula = matmul_cost(d_in, d_out, 1, dtype)
        assert one["weight_bytes"] == formula.weight_bytes == one["column_bytes"] * d_out
        assert one["closed_form_holds"]
        assert one["is_torchs_product"]
        assert one["activation_width"] * (d_in + d_out) == formula.activation_bytes
        outputs = unpacked(one["outputs"], "<f4")
        assert outputs.shape == (d_out,)
        if dtype in ("float32", "float16"):
            np.testing.assert_allclose(outputs, weight @ x, atol=1e-3)
    halves = unpacked(payload["dtypes"]["float32"]["weights"], "<f2").reshape(d_out, d_in)
    assert np.array_equal(halves.astype(np.float32), weight)


def test_stored_whole_numbers_read_back_as_core_does(model: LoadedModel, trace: RunTrace) -> None:
    from core.model.quantization import store

    one = made(model, trace, "v", 16)["dtypes"]["int4"]
    packed = unpacked(one["weights"], "u1").reshape(64, 64)
    whole = np.stack([packed & 15, packed >> 4], -1).reshape(64, 8, 16).astype(np.float32) - 8
    scales = unpacked(one["scales"], "<f2").reshape(64, 8, 1).astype(np.float32)
    expected = store(model.transformer.weights.matrix("v", 1), "int4", 16).dequantize().numpy()
    assert np.array_equal((whole * scales).reshape(64, 128), expected)


def test_intensities_shown_are_those_of_the_lesson(model: LoadedModel, trace: RunTrace) -> None:
    payload = made(model, trace, "up")
    ideal = {name: one["ideal_intensity"] for name, one in payload["dtypes"].items()}
    assert ideal == {"float32": 0.5, "float16": 1, "bfloat16": 1, "int8": 2, "int4": 4}
    int4 = payload["dtypes"]["int4"]
    assert round(2 * 128 * 352 / int4["weight_bytes"], 2) == 3.56
    assert int4["bits_text"] == "4.5 bits a weight with a float16 scale for 32 weights"


def test_a_picture_stays_small_and_a_message_below_5_mb(
    model: LoadedModel, trace: RunTrace
) -> None:
    for matrix in ("up", "down", "lm_head"):
        payload = made(model, trace, matrix)
        assert len(json.dumps(payload)) < 2_000_000
        blocks = payload["blocks"]
        cells_in = -(-payload["d_in"] // blocks["along_in"])
        cells_out = -(-payload["d_out"] // blocks["along_out"])
        assert cells_in <= 32
        assert cells_out <= 96
        assert unpacked(payload["dtypes"]["int8"]["grid"], "i1").size == cells_in * cells_out
        rows = len(drawn_rows())
        assert unpacked(payload["dtypes"]["int8"]["out_levels"], "i1").size == rows * cells_out


def test_the_whole_step_is_the_sum_of_its_parts_and_only_the_cache_grows() -> None:
    for context in (1, 50, 256):
        shares = step_shares(context, "bfloat16", "float32")
        whole = total_cost(forward_ops(STORYTELLER, 1, context, 1, "bfloat16", "float32"))
        read = whole.weight_bytes + whole.kv_read_bytes
        assert sum(share.n_bytes for share in shares) == read
        by_name = {share.name: share.n_bytes for share in shares}
        assert by_name["kv"] == context * 4 * 2 * 2 * 32 * 4
        assert by_name["lm_head"] == 2 * 128 * 1024
        assert by_name["up"] == 4 * 2 * 128 * 352
        mlp = by_name["gate"] + by_name["up"] + by_name["down"]
        assert mlp + by_name["lm_head"] > 0.7 * whole.weight_bytes
    text = " ".join(words(step_shares(256, "bfloat16", "float32"), 256, "float32"))
    assert "524,288 B of keys and values of 256 tokens" in text


def test_the_bar_is_as_long_as_its_bytes() -> None:
    shares = step_shares(10, "float16", "float16")
    total = sum(share.n_bytes for share in shares)
    html = bar_html(shares, "up", total, "light")
    widths = [float(part.split("%")[0]) for part in html.split("width:")[1:] if "%" in part[:9]]
    assert sum(widths) == pytest.approx(100, abs=0.01)
    assert html.partition("</style>")[2].count('data-role="swept"') == 2


def test_roofline_figure_has_ridge_slope_ceiling_and_dots() -> None:
    h100, t4 = find_accelerator("H100 SXM 80GB"), find_accelerator("T4")
    dots = [
        Dot("decode 1", "sweep", matmul_cost(4096, 4096, 1, "bfloat16")),
        Dot("prefill 64", "preset", matmul_cost(4096, 4096, 64, "bfloat16")),
    ]
    figure = roofline_figure([h100, t4], dots)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    roof = figure.data[0]
    assert roof.x[1] == pytest.approx(295.22, abs=0.01)
    assert roof.y[0] / roof.x[0] == pytest.approx(3350e9)
    assert roof.y[1] == pytest.approx(989e12)
    assert roof.y[2] == 989e12
    marked = figure.data[-1]
    assert list(marked.text) == ["<b>decode 1</b>", "", ""]  # several roofs: only one is named
    assert list(roofline_figure([h100], dots).data[-1].text) == ["<b>decode 1</b>", "prefill 64"]
    assert marked.x[0] == marked.x[2] == dots[0].cost.intensity
    assert marked.y[2] == pytest.approx(dots[0].cost.intensity * t4.bandwidth_bytes_per_s)
    assert "33,554,432 FLOP / 33,570,816 B = 1.00 FLOP per byte" in marked.hovertemplate[0]


@pytest.mark.parametrize("n_roofs", [0, 4])
def test_one_to_three_roofs(n_roofs: int) -> None:
    with pytest.raises(ValueError, match="roofs must be 1 to 3"):
        roofline_figure([find_accelerator("T4")] * n_roofs, [])


def test_crossing_the_ridge_is_said_in_words() -> None:
    roof = AcceleratorSpec("X", 1e12, 1e14, None)
    left, right = (Dot("", "sweep", matmul_cost(4096, 4096, rows, "bfloat16")) for rows in (1, 512))
    assert in_words(left, roof, 101) == (
        "1.00 FLOP per byte is left of the ridge of X at 100.0: memory sets the pace, the "
        "arithmetic could do 100 times as much; 101 rows would cross the ridge."
    )
    assert "no number of rows gets this matrix past the ridge" in in_words(left, roof, None)
    assert "past the ridge of X at 100.0: arithmetic sets the pace" in in_words(right, roof, 101)


def test_arithmetic_of_a_dot_past_the_ridge_names_the_roof() -> None:
    from core.cost.roofline import roofline_point

    roof = AcceleratorSpec("X", 1e12, 1e13, None)
    point = roofline_point(matmul_cost(4096, 4096, 512, "bfloat16"), roof)
    assert "the roof is 10 TFLOP/s" in arithmetic(point, roof)
    assert "arithmetic sets the pace: at least 1.718 ms" in arithmetic(point, roof)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e40", "fast", "", "1e"])
def test_own_figures_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Bandwidth must be a number above 0 and at most 1e"):
        number_typed("Bandwidth", text)


def test_page_sends_the_sweep_of_the_runs_newest_token(open_page: OpenPage) -> None:
    app = open_page("weight_sweep")
    view, carrier = sent(app, "stage"), sent(app, "carrier")
    assert view["sweep"] == carrier["key"]
    assert (view["matrix"], view["dtype"], view["rows"]) == ("up", "bfloat16", 1)
    assert view["position"] == len(view["choices"]["tokens"]) - 1
    assert carrier["payload"]["d_out"] == 352
    assert "295.2" in " ".join(shown_html(app))


def test_address_brings_back_the_sweep_and_nonsense_is_named(open_page: OpenPage) -> None:
    app = open_page(
        "weight_sweep", matrix="lm_head", weights="int4", group_size="64", rows="300",
        position="5", columns="77",
    )  # fmt: skip
    view = sent(app, "stage")
    assert (view["matrix"], view["dtype"], view["group"], view["rows"]) == (
        "lm_head", "int4", "64", 300,
    )  # fmt: skip
    assert (view["position"], view["step"]) == (5, 77)
    wrong = open_page("weight_sweep", matrix="w", rows="1e40")
    assert sent(wrong, "stage")["matrix"] == "up"
    assert "matrix = “w” was dropped" in status(wrong)


def test_choices_in_the_picture_change_the_sweep(open_page: OpenPage) -> None:
    app = open_page("weight_sweep")
    before = sent(app, "stage")
    view = sent(choose(app, 1, rows=64, dtype="int8"), "stage")
    assert (view["rows"], view["dtype"]) == (64, "int8")
    assert view["sweep"] == before["sweep"]  # nothing heavy is sent again
    view = sent(choose(app, 2, matrix="down", layer=0), "stage")
    assert view["shape"] == "down:0"
    assert view["sweep"] != before["sweep"]
    assert sent(app, "carrier")["payload"]["d_in"] == 352


def test_one_bad_value_leaves_the_good_ones_beside_it(open_page: OpenPage) -> None:
    """The stage reports the whole choice, as a quick second report replaces the first."""
    app = open_page("weight_sweep", weights="int4")
    view = sent(choose(app, 1, matrix="up", rows=64, dtype="int8", group="48"), "stage")
    assert (view["rows"], view["dtype"], view["group"]) == (64, "int8", "32")
    assert "Group size must be" in status(app)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matrix": "w"}, "matrix cannot be"),
        ({"rows": 0}, "rows cannot be"),
        ({"rows": 1e40}, "rows cannot be"),
        ({"rows": "many"}, "rows cannot be"),
        ({"layer": 9}, "layer cannot be"),
        ({"group": "48"}, "Group size must be 1, 2, 4, 8, 16, 32, 64 or 128"),
        ({"group": "nan"}, "Group size must be"),
        ({"group": "-32"}, "Group size must be"),
        ({"dtype": "int3"}, "dtype cannot be"),
    ],
)
def test_bad_input_is_said_and_the_last_good_picture_stays(
    open_page: OpenPage, change: dict[str, Any], message: str
) -> None:
    app = open_page("weight_sweep", weights="int4")
    before = sent(app, "stage")
    after = choose(app, 1, **change)
    assert sent(after, "stage") == before
    assert message in status(after)
    assert message not in status(choose(app, 2, rows=2))


def test_a_group_that_does_not_divide_the_column_is_refused_or_falls_back(
    open_page: OpenPage,
) -> None:
    app = open_page("weight_sweep", weights="int4", group_size="64")
    assert sent(choose(app, 1, matrix="down"), "stage")["group"] == "32"
    assert "Group size must divide the 352 weights of a column" in status(
        choose(app, 2, group="64")
    )
    assert sent(app, "stage")["group"] == "32"
    linked = open_page("weight_sweep", weights="int4", matrix="down", group_size="64")
    assert "Group size 64 does not divide 352: using 32." in status(linked)
    assert sent(linked, "stage")["group"] == "32"


def test_without_model_files_the_page_says_so_and_does_not_hang(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise CheckpointError(Path("model.safetensors"), "is missing")

    app = open_page("weight_sweep")
    monkeypatch.setattr("pages.ui.sweep_stage.sweep_payload", missing)
    before = sent(app, "carrier")["key"]
    choose(app, 1, matrix="k")
    assert "model.safetensors is missing" in status(app)
    assert sent(app, "carrier")["key"] == before


def test_the_roofline_takes_own_figures_and_keeps_the_last_good_ones(open_page: OpenPage) -> None:
    app = open_page("weight_sweep")
    app.multiselect(key="sweep_roofs").set_value(["T4", "Own figures"]).run()
    app.text_input(key="sweep_own_bandwidth").set_value("10e9").run()
    app.text_input(key="sweep_own_flops").set_value("4e11").run()
    assert "left of the ridge of Own figures at 40.00" in " ".join(shown_html(app))
    app.text_input(key="sweep_own_bandwidth").set_value("1e40").run()
    html = " ".join(shown_html(app))
    assert "Bandwidth must be a number above 0 and at most 1e+30, got 1e+40" in html
    assert "left of the ridge of Own figures at 40.00" in html
    assert not app.exception


def test_this_host_is_offered_once_it_was_measured(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "This host, measured" not in open_page("weight_sweep").multiselect[0].options
    roof = AcceleratorSpec("This host, measured", 10e9, 5e10, None, source="measured here")
    monkeypatch.setattr("pages.ui.sweep_roofline.measured_host", lambda: roof)
    app = open_page("weight_sweep", rows="64")
    app.multiselect(key="sweep_roofs").set_value(["This host, measured"]).run()
    assert "64.00 FLOP per byte is past the ridge of This host, measured at 5.00" in " ".join(
        shown_html(app)
    )
    monkeypatch.setattr("pages.ui.sweep_roofline.measured_host", lambda: None)
    app.run()
    assert app.multiselect(key="sweep_roofs").value == []


def test_unverified_figures_are_named(open_page: OpenPage) -> None:
    app = open_page("weight_sweep")
    app.multiselect(key="sweep_roofs").set_value(["T4"]).run()
    texts = [element.value for element in app.text]
    assert any(text.startswith("T4: ") and "Not verified: secondary" in text for text in texts)


def test_the_slider_moves_only_the_cache(open_page: OpenPage) -> None:
    app = open_page("weight_sweep", weights="float32")
    app.slider(key="sweep_context").set_value(200).run()
    assert "409,600 B of keys and values of 200 tokens" in " ".join(shown_html(app))


def test_data_taken_away_end_on_the_closed_form(open_page: OpenPage) -> None:
    from pages.ui.sweep_stage import Sweep
    from pages.ui.sweep_take_away import columns_csv, sweep_json

    app = open_page("weight_sweep", weights="int8", rows="5", position="12", matrix="k", layer="0")
    key, payload = app.session_state["_sweep_payload"]
    run = app.session_state["_run"]
    sweep = Sweep(app.session_state["_settings"], key, payload)
    rows = list(csv.DictReader(io.StringIO(columns_csv(sweep, run.trace))))
    formula = matmul_cost(128, 64, 5, "int8")
    assert len(rows) == 64
    assert int(rows[-1]["weight_bytes"]) == formula.weight_bytes
    assert int(rows[-1]["flops"]) == formula.flops
    found = sweep_json(sweep, run.trace)
    assert found["intensity"] == formula.intensity
    outputs = unpacked(payload["dtypes"]["int8"]["outputs"], "<f4")
    assert [float(row["output_row_0"]) for row in rows] == pytest.approx(outputs.tolist(), abs=1e-4)
