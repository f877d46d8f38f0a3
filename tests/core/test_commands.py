"""The headless commands: one strict JSON object, or one line of error and exit code 2."""

import json
import subprocess
import sys

import pytest

import core
from core.__main__ import COMMANDS, main
from core.commands.common import to_json
from core.model import checkpoint
from core.model.manifest import MODEL_FOLDER, read_manifest

TRACE = ["trace", "--prompt", "Tom has a red ball. Mia has a", "--steps", "3", "--json"]
GENERATE = ["generate", "--prompt", "Once upon a time", "--steps", "5", "--json"]


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@pytest.fixture
def run(capsys):
    def run(*arguments: str) -> dict:
        assert main(arguments) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        assert captured.out.count("\n") == 1
        return json.loads(captured.out, parse_constant=refuse_constant)

    return run


@pytest.fixture
def refused(capsys):
    def refused(*arguments: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        captured = capsys.readouterr()
        assert stopped.value.code == 2
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        return captured.err

    return refused


def test_a_trace_has_exactly_the_promised_keys(run):
    result = run(*TRACE)
    assert set(result) == {
        *("schema_version", "app_version", "model_sha256", "notes"),
        *("model", "tokens", "prefill", "steps", "stop_reason"),
    }
    assert result["app_version"] == core.__version__
    assert result["model_sha256"] == read_manifest(MODEL_FOLDER).model_sha256
    assert result["notes"] == []
    assert result["model"] == {
        "n_layers": 4,
        "n_heads": 4,
        "n_kv_heads": 2,
        "head_dim": 32,
        "d_model": 128,
        "d_ff": 352,
        "vocab_size": 1024,
        "n_params": 869_504,
        "weight_bytes": 3_478_016,
    }
    assert set(result["prefill"]) == {
        *("n_tokens", "attn_weights", "logits_top", "chosen_id", "elapsed_s")
    }
    for step in result["steps"]:
        assert set(step) == {
            *("position", "input_id", "context_len", "shapes", "attn_weights", "logits_top"),
            *("chosen_id", "kv_bytes_in_use", "proof", "elapsed_s"),
        }
        assert set(step["proof"]) == {
            *("max_abs_logit_diff", "max_abs_row_diff", "same_argmax"),
            *("old_kv_unchanged", "appended"),
        }


def test_the_numbers_of_a_trace_fit_together(run):
    result = run(*TRACE)
    n = result["prefill"]["n_tokens"]
    tokens = result["tokens"]
    assert len(tokens) == n + 3 + 1
    assert [token["source"] for token in tokens] == ["prompt"] * n + ["generated"] * 4
    assert "".join(token["text"] for token in tokens[1:n]) == TRACE[2]
    assert result["prefill"]["chosen_id"] == tokens[n]["id"]
    for i, step in enumerate(result["steps"]):
        s = n + i + 1
        assert (step["position"], step["context_len"]) == (n + i, s)
        assert step["input_id"] == tokens[n + i]["id"]
        assert step["chosen_id"] == tokens[n + i + 1]["id"]
        assert step["shapes"] == {
            "q": [1, 32],
            "k_cache": [s, 32],
            "scores": [1, s],
            "v_cache": [s, 32],
            "output": [1, 32],
        }
        assert step["kv_bytes_in_use"] == 2048 * s
        assert step["proof"]["appended"] == 1
        assert step["proof"]["same_argmax"]
        assert step["proof"]["old_kv_unchanged"]
        assert step["proof"]["max_abs_logit_diff"] <= 1e-4
        for layer in "0123":
            for head in "0123":
                row = step["attn_weights"][layer][head]
                assert len(row) == s
                assert sum(row) == pytest.approx(1, abs=1e-5)
        assert len(step["logits_top"]) == 10
        assert set(step["logits_top"][0]) == {"id", "text", "logit", "prob"}
    rows = result["prefill"]["attn_weights"]["3"]["1"]
    assert [len(row) for row in rows] == list(range(1, n + 1))
    assert result["stop_reason"] == "steps"


def test_layers_and_heads_can_be_picked(run):
    result = run(*TRACE, "--layers", "1,3", "--heads", "0")
    assert {k: list(v) for k, v in result["prefill"]["attn_weights"].items()} == {
        "1": ["0"],
        "3": ["0"],
    }
    assert list(result["steps"][0]["attn_weights"]) == ["1", "3"]
    assert len(run(*TRACE, "--layers", "all")["steps"][0]["attn_weights"]) == 4


def test_bfloat16_halves_the_bytes(run):
    result = run(*TRACE, "--dtype", "bfloat16", "--layers", "0", "--heads", "0")
    assert result["model"]["weight_bytes"] == 1_739_008
    assert result["steps"][0]["kv_bytes_in_use"] == 1024 * result["steps"][0]["context_len"]


def test_generate_reports_its_gaps(run):
    result = run(*GENERATE)
    assert set(result) == {
        *("schema_version", "app_version", "model_sha256", "notes"),
        *("text", "ids", "ttft_s", "itl_s", "stop_reason"),
    }
    assert len(result["ids"]) == 5
    assert set(result["itl_s"]) == {"p50", "p90", "p99", "min", "n"}
    assert result["itl_s"]["n"] == 4
    assert 0 < result["itl_s"]["min"] <= result["itl_s"]["p50"] <= result["itl_s"]["p99"]
    assert result["ttft_s"] > 0


def test_la_01_one_token_has_no_gap(run):
    result = run(*GENERATE[:4], "1", "--json")
    assert result["itl_s"] == {"p50": None, "p90": None, "p99": None, "min": None, "n": 0}


def test_a_seed_repeats_a_draw(run):
    hot = (*GENERATE, "--temperature", "1.2", "--top-k", "50", "--top-p", "0.95", "--min-p", "0.01")
    first = run(*hot, "--seed", "7")
    assert run(*hot, "--seed", "7")["ids"] == first["ids"]
    drawn = {tuple(run(*hot, "--seed", str(seed))["ids"]) for seed in range(5)}
    assert len(drawn) > 1


def test_mc_02_empty_is_an_error_and_spaces_are_a_prompt(run, refused):
    assert "the prompt is empty" in refused(*GENERATE[:2], "", *GENERATE[3:])
    assert run(*GENERATE[:2], "   ", *GENERATE[3:])["stop_reason"] in ("steps", "end")


@pytest.mark.parametrize("prompt", ["Mia had a ball. " * 1250, "x" * 100_000, "😀" * 20_000])
def test_mc_02_a_huge_prompt_is_cut_and_says_so(run, prompt):
    result = run("trace", "--prompt", prompt, "--steps", "2", "--json", "--layers", "0")
    assert len(result["tokens"]) <= 256
    assert len(result["steps"]) == 2
    assert result["stop_reason"] == "steps"
    assert any("were dropped" in note for note in result["notes"])


def test_mc_02_the_context_stops_a_run(run):
    result = run(*GENERATE[:4], "1000", "--json", "--ignore-end")
    assert result["stop_reason"] == "context"
    assert len(result["ids"]) < 256


@pytest.mark.parametrize(
    "prompt", ["\ud800 a", "<|end|>", "\x00\x1b", "\u202eabc", "<script>$5*x*"]
)
def test_odd_prompts_run(run, prompt):
    assert len(run(*GENERATE[:2], prompt, *GENERATE[3:])["ids"]) >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "a command is needed"),
        (["sing"], "unknown command 'sing'"),
        (["trace"], "the following arguments are required: --prompt, --steps"),
        ([*TRACE, "--speed", "3"], "unrecognized arguments: --speed 3"),
        ([*TRACE, "--temp", "1"], "unrecognized arguments: --temp 1"),
        ([*TRACE, "extra"], "unrecognized arguments: extra"),
        ([*TRACE, "--steps", "-1"], "--steps: must be a whole number of at least 0, got -1"),
        ([*GENERATE, "--steps", "0"], "--steps: must be a whole number of at least 1, got 0"),
        ([*TRACE, "--steps", "2.5"], "got '2.5'"),
        ([*TRACE, "--seed", "-1"], "--seed: must be a whole number of at least 0"),
        ([*TRACE, "--temperature", "nan"], "--temperature: must be a finite number, got 'nan'"),
        ([*TRACE, "--temperature", "inf"], "--temperature: must be a finite number, got 'inf'"),
        ([*TRACE, "--temperature", "-1"], "temperature must be a finite number of at least 0"),
        ([*TRACE, "--top-p", "0"], "top_p must be above 0 and at most 1, got 0.0"),
        ([*TRACE, "--top-p", "1.5"], "top_p must be above 0 and at most 1, got 1.5"),
        ([*TRACE, "--top-k", "-2"], "--top-k: must be a whole number of at least 0, got -2"),
        ([*TRACE, "--min-p", "2"], "min_p must be from 0 to 1, got 2.0"),
        ([*TRACE, "--layers", "0,9"], "--layers must be 0 to 3, got 9"),
        ([*TRACE, "--heads", "-1"], "--heads must be 0 to 3, got -1"),
        ([*TRACE, "--heads", "one"], "must be 'all' or indices as 0,2; got 'one'"),
        ([*TRACE, "--dtype", "float64"], "invalid choice: 'float64'"),
    ],
)
def test_bad_calls_are_one_line_and_code_2(refused, arguments, message):
    assert message in refused(*arguments)


def test_a_missing_model_is_one_line(refused, monkeypatch, tmp_path):
    load = checkpoint.load_model
    monkeypatch.setattr(checkpoint, "load_model", lambda dtype: load(tmp_path, dtype))
    assert "manifest.json is missing. Run `make model`" in refused(*TRACE)


def test_json_is_strict():
    with pytest.raises(ValueError, match="JSON"):
        to_json({"value": float("nan")})


def test_without_json_people_get_a_few_lines(capsys):
    assert main([*TRACE[:-1]]) == 0
    out = capsys.readouterr().out
    assert out.startswith(TRACE[2])
    assert out.rstrip().endswith("stopped: steps")
    assert main([*GENERATE[:-1]]) == 0
    assert "median of 4 gaps" in capsys.readouterr().out
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in listed] == []


def test_flags_are_read_before_torch_is_loaded():
    names = ", ".join(f"core.commands.{name}" for name in COMMANDS)
    code = f"import sys; import core.__main__, {names}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_module_runs_with_an_ascii_terminal():
    command = [sys.executable, "-m", "core", "generate", "--prompt", "😀", "--steps", "1"]
    environment = {"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"stopped: " in done.stdout
