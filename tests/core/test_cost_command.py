"""``python -m core cost``: keys, formulas, errors in one line, and no torch."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.__main__ import main
from core.cost.formula import evaluate

KEYS = {
    "kv_bytes_per_token", "kv_bytes_total", "kv_bytes_allocated", "kv_bytes_read_per_step",
    "weight_bytes_stored", "weight_bytes_read_per_step", "flops_per_step", "itl_floor_s",
    "tokens_per_s_per_request", "tokens_per_s_total", "bound", "max_batch", "formulas",
    "schema_version", "app_version", "notes",
}  # fmt: skip
MODEL = ("--model", "Llama 3.1 8B")
SIZES = ("--context", "4096", "--batch", "1")
SHORT = {
    "num_hidden_layers": 24, "hidden_size": 896, "num_attention_heads": 14,
    "num_key_value_heads": 2, "sliding_window": 16384, "use_sliding_window": False,
    "max_window_layers": 20, "torch_dtype": "bfloat16",
}  # fmt: skip


def run(capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    assert main(["cost", *flags, "--json"]) == 0
    out = capsys.readouterr()
    assert out.err == ""
    result = json.loads(out.out)
    assert isinstance(result, dict)
    return result


def error(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(["cost", *flags, "--json"])
    out = capsys.readouterr()
    assert caught.value.code == 2
    assert out.out == ""
    assert out.err.count("\n") == 1
    return out.err


def test_keys_and_values_for_a_preset(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, "--model", "llama 3.1 8b", "--accelerator", "h100 sxm 80gb", *SIZES)
    assert set(result) >= KEYS
    assert result["kv_bytes_per_token"] == 131_072
    assert result["kv_bytes_total"] == result["kv_bytes_read_per_step"] == 512 * 2**20
    assert result["weight_bytes_stored"] == 2 * 8_030_261_248
    assert result["weight_bytes_read_per_step"] == 2 * 7_504_924_672
    assert result["itl_floor_s"] == pytest.approx((15_009_849_344 + 2**29) / 3350e9)
    assert result["tokens_per_s_total"] == result["tokens_per_s_per_request"]
    assert result["bound"] == "memory"
    assert result["max_batch"] == (80 * 10**9 - 16_060_522_496) // 2**29


def test_every_number_has_a_formula_that_gives_it(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, *MODEL, "--accelerator", "H200 SXM", "--context", "1000", "--batch", "7")
    for key, text in result["formulas"].items():
        expression, _, value = text.rpartition(" = ")
        assert float(value) == pytest.approx(float(result[key]))
        assert float(evaluate(expression, {})) == pytest.approx(float(value))
    numbers = {key for key, value in result.items() if isinstance(value, int | float)}
    assert numbers - {"schema_version"} == set(result["formulas"])


def test_windows_blocks_and_precisions(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--model", "Mistral 7B v0.1", "--context", "32760", "--batch", "2")
    result = run(capsys, *flags, "--block-size", "64")
    assert result["kv_bytes_total"] == result["kv_bytes_read_per_step"] == 2 * 536_870_912
    assert result["kv_bytes_allocated"] == 2 * 32768 * 131_072
    low = run(capsys, *flags, "--kv-dtype", "q8_0", "--weight-dtype", "int4")
    assert low["kv_bytes_per_token"] == 131_072 * 8.5 / 16
    assert low["weight_bytes_read_per_step"] == 7_110_660_096 * 4.5 / 8


def test_typed_in_accelerator_and_reserve(capsys: pytest.CaptureFixture[str]) -> None:
    typed = ("--bandwidth-bytes-per-s", "1e12", "--flops-per-s", "1e15")
    result = run(capsys, *MODEL, *typed, *SIZES)
    assert result["itl_floor_s"] == pytest.approx((15_009_849_344 + 2**29) / 1e12)
    assert result["max_batch"] is None
    with_memory = run(capsys, *MODEL, *typed, "--memory-bytes", "2e10", *SIZES)
    reserved = run(
        capsys, *MODEL, *typed, "--memory-bytes", "2e10", *SIZES, "--reserve-bytes", "2000000000"
    )  # fmt: skip
    assert (with_memory["max_batch"], reserved["max_batch"]) == (7, 3)
    small = run(capsys, *MODEL, *typed, "--memory-bytes", "1e9", *SIZES)
    assert small["max_batch"] == 0
    assert any("do not fit" in note for note in small["notes"])


def test_without_accelerator_times_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, *MODEL, *SIZES)
    assert result["itl_floor_s"] is None
    assert result["bound"] is None
    assert result["weight_bytes_stored"] == 16_060_522_496


def test_kv05_a_config_file_without_widths(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text("\ufeff" + json.dumps(SHORT), encoding="utf-8")
    result = run(capsys, "--config", str(path), "--context", "40000", "--batch", "1")
    assert result["kv_bytes_per_token"] == 12288
    assert result["kv_bytes_total"] == 491_520_000
    assert result["weight_bytes_stored"] is None
    assert result["flops_per_step"] is None
    assert any("vocab_size missing" in note for note in result["notes"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((*MODEL, "--context", "0", "--batch", "1"), "--context"),
        ((*MODEL, "--context", "-5", "--batch", "1"), "--context"),
        ((*MODEL, "--context", "1.5", "--batch", "1"), "got '1.5'"),
        ((*MODEL, "--context", "1e12", "--batch", "1"), "got '1e12'"),
        ((*MODEL, "--context", "1000000000000", "--batch", "1"), "at most 1000000000"),
        ((*MODEL, "--context", "nan", "--batch", "1"), "got 'nan'"),
        ((*MODEL, "--context", "1", "--batch", "0"), "--batch"),
        ((*MODEL, "--context", "1"), "--batch"),
        ((*SIZES,), "--model --config is required"),
        ((*MODEL, "--config", "x", *SIZES), "not allowed with"),
        (("--model", "Lama", *SIZES), "no model named 'Lama'; the nearest is"),
        ((*MODEL, "--accelerator", "H100", *SIZES), "no accelerator named 'H100'; the nearest is"),
        ((*MODEL, "--accelerator", "T4", "--flops-per-s", "1", *SIZES), "exclude each other"),
        ((*MODEL, "--flops-per-s", "1e15", *SIZES), "also needs --bandwidth-bytes-per-s"),
        ((*MODEL, "--bandwidth-bytes-per-s", "0", *SIZES), "above 0"),
        ((*MODEL, "--bandwidth-bytes-per-s", "inf", *SIZES), "finite"),
        ((*MODEL, "--weight-dtype", "int5", *SIZES), "got 'int5'"),
        ((*MODEL, "--kv-dtype", "8bit", *SIZES), "got '8bit'"),
        ((*MODEL, "--block-size", "0", *SIZES), "--block-size"),
        ((*MODEL, "--reserve-bytes", "-1", *SIZES), "--reserve-bytes"),
        ((*MODEL, "--contxt", "4", *SIZES), "unrecognized arguments"),
        (("--config", "/nowhere/config.json", *SIZES), "No such file"),
    ],
)
def test_errors_are_one_line(
    capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], message: str
) -> None:
    assert message in error(capsys, *flags)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<!doctype html><html></html>", "web page"),
        ('{"num_hidden_layers":8,\n<<<<<<< HEAD\n"hidden_size":512\n}', "line 2"),
        ("[]", "must be a JSON object"),
        ('{"hidden_size":512}', "lacks num_hidden_layers, num_attention_heads"),
        ("[" * 200_000, "nested deeper"),
    ],
)
def test_kv08_unreadable_files_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "config.json"
    path.write_text(content, encoding="utf-8")
    assert message in error(capsys, "--config", str(path), *SIZES)


def test_a_50_mb_file_is_refused_before_it_is_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(50 * 10**6)
    assert "50,000,000 bytes" in error(capsys, "--config", str(path), *SIZES)


def test_the_text_form_shows_figures_formulas_and_notes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["cost", *MODEL, "--accelerator", "L4", *SIZES]) == 0
    text = capsys.readouterr().out
    assert "kv_bytes_per_token: 32 * 2 * 8 * 128 * 2 = 131072" in text
    assert "note: " in text


def test_it_never_loads_torch_and_answers_quickly() -> None:
    """The bound on the answer is generous here; the real one is kept by the benchmarks."""
    code = (
        "import sys\n"
        "from core.__main__ import main\n"
        f"main(['cost', *{[*MODEL, *SIZES]!r}, '--json'])\n"
        "assert not {'torch', 'numpy', 'pandas', 'streamlit'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_one_answer_after_start_takes_well_under_its_budget(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(capsys, *MODEL, *SIZES)
    started = time.process_time()
    run(capsys, "--model", "gpt-oss-120b", "--accelerator", "B200 SXM (HGX)", *SIZES)
    assert time.process_time() - started < 0.5
