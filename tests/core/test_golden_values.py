"""Golden values with their sources: published worked numbers, recomputed by our formulas."""

from __future__ import annotations

import math

import pytest

from core.cost import kv
from core.cost.catalog import attention_variant, find_accelerator, find_model
from core.cost.hf_config import parse_config
from core.cost.parameters import parameter_counts
from core.cost.planner import PlanRequest, plan
from core.cost.roofline import critical_rows, floor_seconds, ridge
from core.cost.spec import AcceleratorSpec
from core.cost.speculation import forecast

V5E = AcceleratorSpec("TPU v5e", 8.2e11, 1.97e14, 16 * 10**9)


def test_scaling_book_cache_of_llama2_13b_at_8192_tokens() -> None:
    """inference.md lines 279-285 at 0819a7d; the text's 6.7 are GB, not GiB."""
    assert kv.kv_bytes_total(find_model("Llama 2 13B"), 8192) == 6_710_886_400


def test_scaling_book_worked_problem_parameters() -> None:
    """inference.md lines 497-519: D 4096, F 16384, L 64, K 8, H 32, d 256, one table of V 32128."""
    spec = parse_config(
        {
            "model_type": "llama", "num_hidden_layers": 64, "hidden_size": 4096,
            "intermediate_size": 16384, "num_attention_heads": 32, "num_key_value_heads": 8,
            "head_dim": 256, "vocab_size": 32128, "tie_word_embeddings": True,
        }
    )  # fmt: skip
    norms = 64 * 2 * 4096 + 4096
    assert parameter_counts(spec).total - norms == 18_385_207_296


@pytest.mark.parametrize(("batch", "milliseconds"), [(4, 2.568), (256, 21.05)])
def test_scaling_book_step_time_of_30b_int8_on_16_chips(batch: int, milliseconds: float) -> None:
    """inference.md lines 224-228: the caches' time, then the weights' roof, at 8.1e11 B/s."""
    bandwidth, peak = 16 * 8.1e11, 16 * 1.97e14
    caches = floor_seconds(batch * 100e3 * 8192, 1, bandwidth, peak)
    matrices = floor_seconds(30e9, 2 * batch * 30e9, bandwidth, peak)
    assert round((caches + matrices) * 1e3, 3 if batch == 4 else 2) == milliseconds


def test_scaling_book_critical_batch() -> None:
    """inference.md lines 151-158."""
    assert round(critical_rows(V5E, 2), 1) == 240.2


def test_nanogpt_parameter_table() -> None:
    """transformer_sizing.ipynb cell 3: GPT-2 small without biases, tied, is 124,337,664."""
    counts = parameter_counts(find_model("GPT-2 (124M)"))
    biases = 12 * (3 * 768 + 768 + 3072 + 768) + 12 * 2 * 768 + 768
    assert counts.total - biases == 124_337_664


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [(1, 131_072), (500, 65_536_000), (4096, 512 * 2**20), (131_072, 16 * 2**30)],
)
def test_llama3_8b_cache(tokens: int, expected: int) -> None:
    """2 L K d b with (32, 8, 128, 2 bytes); 256 MiB at 4,096 tokens, in circulation, is wrong."""
    assert kv.kv_bytes_total(find_model("Llama 3.1 8B"), tokens) == expected


def test_llama3_8b_layer_and_multi_head_cache() -> None:
    spec = find_model("Llama 3.1 8B")
    assert kv.layer_bytes_per_token(spec.layers[0], "bfloat16") == 4096
    assert kv.kv_bytes_per_token(attention_variant(spec, 32)) == 512 * 1024


def test_deepseek_v3_latent_cache() -> None:
    """arXiv 2505.09343 table 1: 70.272 KB; the expanded heads would be a 57th part of nothing."""
    assert kv.kv_bytes_per_token(find_model("DeepSeek-V3 671B")) == 61 * (512 + 64) * 2 == 70_272


@pytest.mark.parametrize(
    ("n_bytes", "bandwidth", "milliseconds", "tokens_per_s"),
    [
        (14e9, 800e9, 17.5, 57.1),
        (26e9, 1e12, 26.0, 38.5),
        (20e9, 1e12, 20.0, 50.0),
        (14e9 + 0.524e9, 800e9, 18.2, 55.1),
    ],
)
def test_worked_latencies(
    n_bytes: float, bandwidth: float, milliseconds: float, tokens_per_s: float
) -> None:
    seconds = floor_seconds(n_bytes, 14e9, bandwidth, 82e12)
    assert round(seconds * 1e3, 1) == milliseconds
    assert round(1 / seconds, 1) == tokens_per_s


def test_arithmetic_of_the_worked_step_is_one_per_cent() -> None:
    assert round(14e9 / 82e12 * 1e3, 2) == 0.17
    assert 4 / floor_seconds(20e9, 1, 1e12, 1e15) == pytest.approx(200.0)


@pytest.mark.parametrize(
    ("name", "rows"), [("A100 80GB SXM", 153), ("H100 SXM 80GB", 295), ("RTX 4090", 164)]
)
def test_ridge_batches(name: str, rows: int) -> None:
    assert round(find_accelerator(name).ridge_flops_per_byte) == rows
    assert round(critical_rows(find_accelerator(name), 2)) == rows


def test_speculation_example() -> None:
    """Leviathan et al. 2023: (1 - a^(g+1)) / (1 - a) at a = 0.8, g = 5."""
    assert round(forecast(0.8, 5).tokens_per_step, 5) == 3.68928


def test_latent_attention_is_near_the_ridge() -> None:
    """2 H (latent + value part) FLOPs over 2 latent bytes: about 242 FLOP per byte for V3."""
    layer = find_model("DeepSeek-V3 671B").layers[0]
    flops = 2 * layer.n_heads * (layer.latent_dim + layer.latent_value_dim)
    assert round(flops / (2 * layer.latent_dim)) == 242


def test_grouped_attention_reaches_its_group_size() -> None:
    result = plan(PlanRequest(find_model("Llama 3.1 8B"), 10_000, 1, find_accelerator("L4")))
    short = plan(PlanRequest(find_model("Llama 3.1 8B"), 5_000, 1, find_accelerator("L4")))
    flops = (result.flops_per_step or 0) - (short.flops_per_step or 0)
    n_bytes = result.kv_bytes_read_per_step - short.kv_bytes_read_per_step
    assert flops / n_bytes == 32 / 8


def test_h100_ridge_is_dense() -> None:
    assert math.isclose(ridge(989e12, 3350e9), 295.22, abs_tol=0.005)
