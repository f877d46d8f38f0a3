"""``python -m core measure``: exactly the promised keys, consistent figures, one-line errors."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from core.__main__ import main
from core.config import STORYTELLER
from core.cost.catalog import find_model
from core.machine.feel import reading_s_per_token, stream
from core.machine.probe import WARM_UP_S
from core.machine.records import MeasureResult
from core.machine.report import published_ratios, report, to_csv, to_json
from core.machine.runs import measure
from core.machine.shape import shape_of
from core.machine.spec import MeasureSpec
from core.model.manifest import MODEL_FOLDER

KEYS = {
    "schema_version",
    "app_version",
    "device",
    "conditions",
    "bandwidth_bytes_per_s",
    "itl_s",
    "bytes_read_per_step",
    "achieved_bytes_per_s",
    "fraction_of_measured_bandwidth",
    "fraction_of_bare_products",
    "cache_resident",
    "notes",
}
CONFIG = str(MODEL_FOLDER / "config.json")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small buffers and spans: the figures' relations are tested, not their size."""
    monkeypatch.setattr("core.machine.products.SPAN_S", 0.001)
    monkeypatch.setattr("core.machine.bench.BARE_SPAN_S", 0.001)
    monkeypatch.setattr("core.machine.probe.probe_bytes", lambda device: 16 * 2**20)
    monkeypatch.setitem(WARM_UP_S, "cpu", 0.01)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def _run(capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    assert main(["measure", "--device", "cpu", "--config", CONFIG, *flags, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.count("\n") == 1
    result: dict[str, Any] = json.loads(captured.out)
    return result


def test_the_object_has_exactly_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    result = _run(capsys, "--steps", "12", "--context", "40", "--dtype", "float32")
    assert set(result) == KEYS
    assert set(result["bandwidth_bytes_per_s"]) == {"median", "best", "runs"}
    assert set(result["itl_s"]) == {"p50", "p90", "p99", "min", "n"}
    assert result["itl_s"]["n"] == 12
    assert result["device"] == "cpu"
    weights = STORYTELLER.n_params * 4
    kv = 2 * STORYTELLER.n_layers * STORYTELLER.kv_width * 4 * 40
    assert result["bytes_read_per_step"] == weights + kv
    achieved = result["bytes_read_per_step"] / result["itl_s"]["p50"]
    assert result["achieved_bytes_per_s"] == pytest.approx(achieved)
    share = achieved / result["bandwidth_bytes_per_s"]["median"]
    assert result["fraction_of_measured_bandwidth"] == pytest.approx(share)
    assert 0 < result["itl_s"]["min"] <= result["itl_s"]["p50"] <= result["itl_s"]["p99"]
    assert max(result["bandwidth_bytes_per_s"]["runs"]) == result["bandwidth_bytes_per_s"]["best"]
    assert result["conditions"]["torch"] == torch.__version__


def test_a_batch_reads_the_weights_once(capsys: pytest.CaptureFixture[str]) -> None:
    result = _run(capsys, "--steps", "2", "--batch", "3", "--context", "16")
    kv = 3 * 2 * STORYTELLER.n_layers * STORYTELLER.kv_width * 2 * 16
    assert result["bytes_read_per_step"] == STORYTELLER.n_params * 2 + kv


def test_people_get_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--device", "cpu", "--config", CONFIG, "--steps", "2"]) == 0
    text = capsys.readouterr().out
    assert "read bandwidth:" in text
    assert "inter-token latency:" in text
    assert "note: " in text


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--device", "cuda:77"], "got 'cuda:77'"),
        (["--device", "tpu"], "device must be auto or one of"),
        (["--steps", "0"], "at least 1"),
        (["--batch", "-1"], "at least 1"),
        (["--context", "257", "--config", CONFIG], "context_len must be 1 to 256, got 257"),
        (["--weight-bytes", "1000"], "weight_bytes must be at least 64000000"),
        (["--weight-bytes", "999999999999999"], "weights and K/V caches need"),
        (["--weight-bytes", "9", "--config", CONFIG], "not allowed with"),
        (["--config", "no/such/file"], "No such file"),
        (["--dtype", "int8"], "invalid choice"),
        (["--stepz", "3"], "unrecognized"),
    ],
)
def test_mistakes_are_one_line_and_code_2(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["measure", *flags, "--json"])
    captured = capsys.readouterr()
    assert stopped.value.code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_a_config_that_is_no_json_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text("not json")
    with pytest.raises(SystemExit):
        main(["measure", "--config", str(path)])
    assert str(path) in capsys.readouterr().err


def test_published_shapes_become_ours() -> None:
    shape = shape_of(find_model("Llama 3.1 8B"))
    assert (shape.n_layers, shape.d_model, shape.n_kv_heads, shape.d_ff) == (32, 4096, 8, 14336)
    assert shape.n_params == pytest.approx(8.03e9, rel=0.001)
    assert not shape.tied_embeddings


@pytest.mark.parametrize("name", ["Mixtral 8x7B", "DeepSeek-V3", "GPT-2 (124M)"])
def test_other_kinds_of_layers_are_refused(name: str) -> None:
    from core.cost.catalog import match_name, model_names

    known = next(n for n in model_names() if n.startswith(name))
    with pytest.raises(ValueError, match=r"only layers with q, k, v, o|differ in width"):
        shape_of(find_model(match_name(known, model_names(), "model")))


@pytest.fixture(scope="module")
def result() -> MeasureResult:
    before = torch.get_num_threads()
    spec = MeasureSpec(
        device="cpu",
        config=STORYTELLER,
        n_steps=6,
        n_threads=1,
        context_len=32,
        probe_bytes=16 * 2**20,
    )
    found = measure(spec, parts=False)
    torch.set_num_threads(before)
    return found


def test_json_holds_every_sample_with_conditions(result: MeasureResult) -> None:
    taken = json.loads(to_json(result))
    assert tuple(taken["points"][0]["itl_samples_s"]) == result.points[0].itl_samples_s
    assert tuple(taken["probe"]["runs_bytes_per_s"]) == result.probe.runs_bytes_per_s
    assert taken["conditions"]["date_utc"] == result.conditions.date_utc
    assert taken["format"] == 1


def test_csv_holds_every_sample_with_conditions(result: MeasureResult) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(result))))
    phases = [row["phase"] for row in rows]
    assert phases.count("read") == len(result.probe.runs_bytes_per_s)
    assert phases.count("warm-up") == len(result.points[0].warm_up_s)
    steps = [row for row in rows if row["phase"] == "step"]
    assert [float(row["itl_s"]) for row in steps] == list(result.points[0].itl_samples_s)
    for row in steps:
        rate = float(row["bytes_read"]) / float(row["itl_s"])
        assert float(row["bytes_per_s"]) == pytest.approx(rate)
    assert {row["torch"] for row in rows} == {torch.__version__}
    assert {row["n_threads"] for row in rows} == {"1"}


def test_the_report_compares_with_every_published_run_on_one_device(result: MeasureResult) -> None:
    text = report(result)
    rows = published_ratios()
    assert len(rows) > 20
    assert max(row.ratio for row in rows) < 1
    for row in rows:
        assert row.hardware in text
    for word in (result.conditions.host, result.conditions.torch, "(measured)", "quoted times"):
        assert word in text


def test_a_probe_alone_reports_no_steps() -> None:
    spec = MeasureSpec(kind="probe", device="cpu", probe_bytes=2**20, n_threads=1)
    found = measure(spec)
    assert "Decode steps" not in report(found)
    assert "step" not in {row["phase"] for row in csv.DictReader(io.StringIO(to_csv(found)))}


def test_a_stream_pauses_for_prefill_and_then_shows_token_by_token() -> None:
    shown = stream("this host", "measured", 0.5, [0.1, 0.2], 4)
    assert shown.times_s == pytest.approx((0.5, 0.6, 0.8, 0.9))
    assert shown.ttft_s == 0.5
    assert [shown.visible(t) for t in (0.0, 0.5, 0.65, 5.0)] == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("gaps", "n_tokens", "prefill_s"), [([], 3, 0.0), ([0.1], 0, 0.0), ([-0.1], 2, 0.0)]
)
def test_streams_out_of_range_are_errors(
    gaps: list[float], n_tokens: int, prefill_s: float
) -> None:
    with pytest.raises(ValueError, match=r"a stream needs|times must be"):
        stream("x", "modelled", prefill_s, gaps, n_tokens)


def test_reading_speed_must_be_positive() -> None:
    with pytest.raises(ValueError, match="words_per_minute must be above 0"):
        reading_s_per_token(0)
