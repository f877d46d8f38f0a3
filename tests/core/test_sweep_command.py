"""``python -m core sweep``: the promised fields, the numbers of the lesson, plain errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.__main__ import main
from core.config import STORYTELLER
from core.cost.accounting import matmul_cost

FIELDS = {
    "d_in", "d_out", "rows", "weight_bytes", "activation_bytes", "flops",
    "intensity_weights_only", "intensity", "max_abs_error_vs_matmul", "max_abs_error_vs_float32",
}  # fmt: skip
ENVELOPE = {"schema_version", "app_version", "model_sha256", "notes"}


def sweep(capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    assert main(["sweep", *flags, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found: dict[str, Any] = json.loads(out)
    return found


def refused(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["sweep", *flags, "--json"])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("matrix", STORYTELLER.matrices())
def test_every_matrix(capsys: pytest.CaptureFixture[str], matrix: str) -> None:
    layer = () if matrix == "lm_head" else ("--layer", "3")
    found = sweep(capsys, "--matrix", matrix, *layer)
    assert set(found) == FIELDS | ENVELOPE
    d_in, d_out = STORYTELLER.matrices()[matrix]
    assert (found["d_in"], found["d_out"], found["rows"]) == (d_in, d_out, 1)
    assert found["weight_bytes"] == 4 * d_in * d_out
    assert found["flops"] == 2 * d_in * d_out
    assert found["activation_bytes"] == 4 * (d_in + d_out)
    assert found["intensity_weights_only"] == 0.5
    assert found["max_abs_error_vs_matmul"] == found["max_abs_error_vs_float32"] < 1e-4


@pytest.mark.parametrize(
    ("dtype", "ideal"), [("float32", 0.5), ("float16", 1), ("bfloat16", 1), ("int8", 2)]
)
@pytest.mark.parametrize("rows", [1, 8])
def test_intensity_is_two_rows_per_byte(
    capsys: pytest.CaptureFixture[str], dtype: str, ideal: float, rows: int
) -> None:
    """int8 reads 2 bytes of scale beside the 128 of a column, so a little less than the ideal."""
    found = sweep(capsys, "--matrix", "up", "--layer", "1", "--rows", str(rows), "--dtype", dtype)
    share = 128 / 130 if dtype == "int8" else 1
    assert found["intensity_weights_only"] == pytest.approx(rows * ideal * share, rel=1e-12)
    expected = matmul_cost(128, 352, rows, dtype)
    assert found["intensity"] == expected.intensity
    assert found["activation_bytes"] == expected.activation_bytes


def test_rows_beyond_the_prompt_are_those_of_further_stories(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = sweep(capsys, "--matrix", "v", "--rows", "512", "--prompt", "Once upon a time")
    own = 5  # the start token and four words
    assert f"the other {512 - own} rows are activations of further stories" in found["notes"][-1]
    assert found["flops"] == 512 * 2 * 128 * 64
    assert found["weight_bytes"] == 4 * 128 * 64


def test_int4_counts_its_scales(capsys: pytest.CaptureFixture[str]) -> None:
    found = sweep(capsys, "--matrix", "up", "--dtype", "int4", "--group-size", "32")
    assert found["weight_bytes"] == 128 * 352 * 4.5 / 8
    assert found["intensity_weights_only"] == pytest.approx(3.5556, abs=1e-4)
    coarse = sweep(capsys, "--matrix", "up", "--dtype", "int4", "--group-size", "128")
    assert coarse["weight_bytes"] < found["weight_bytes"]
    assert coarse["max_abs_error_vs_float32"] > found["max_abs_error_vs_float32"] > 0.01
    assert found["max_abs_error_vs_matmul"] < 1e-4


def test_without_json_it_says_the_same_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "--matrix", "q", "--dtype", "int8", "--rows", "5"]) == 0
    out = capsys.readouterr().out
    assert "5 rows through a 128 x 128 matrix: 16,640 B of weights read once (counted)" in out
    assert "163,840 FLOPs" in out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--matrix", "w"), "invalid choice: 'w'"),
        ((), "--matrix"),
        (("--matrix", "q", "--layer", "4"), "layer must be 0 to 3, got 4"),
        (("--matrix", "q", "--layer", "-1"), "--layer"),
        (("--matrix", "lm_head", "--layer", "0"), "lm_head takes no layer, got 0"),
        (("--matrix", "q", "--rows", "0"), "at least 1 and at most 512, got 0"),
        (("--matrix", "q", "--rows", "-3"), "at least 1 and at most 512, got -3"),
        (("--matrix", "q", "--rows", "513"), "at least 1 and at most 512, got 513"),
        (("--matrix", "q", "--rows", "nan"), "got 'nan'"),
        (("--matrix", "q", "--rows", "1e40"), "got '1e40'"),
        (("--matrix", "q", "--rows", "many"), "got 'many'"),
        (("--matrix", "q", "--dtype", "int4", "--group-size", "48"), "group_size must divide"),
        (("--matrix", "q", "--dtype", "int4", "--group-size", "0"), "--group-size"),
        (("--matrix", "q", "--group-size", "nan"), "--group-size"),
        (("--matrix", "q", "--dtype", "int3"), "invalid choice: 'int3'"),
        (("--matrix", "q", "--prompt", ""), "the prompt is empty"),
        (("--matrix", "q", "--row", "2"), "unrecognized arguments"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], words: str
) -> None:
    assert words in refused(capsys, *flags)
