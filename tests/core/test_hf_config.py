"""Config files as published: names, nesting, windows, hybrids, and messages for the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.cost import kv
from core.cost.config_text import MAX_CONFIG_BYTES, ConfigError
from core.cost.dtypes import number_format
from core.cost.hf_config import parse_config, parse_config_text
from core.cost.parameters import parameter_counts
from core.cost.weights import weight_bytes_stored

PLAIN: dict[str, Any] = {
    "num_hidden_layers": 6,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "torch_dtype": "float16",
}
FIRST: dict[str, Any] = {
    "num_hidden_layers": 20,
    "hidden_size": 1536,
    "num_attention_heads": 24,
    "num_key_value_heads": 6,
    "head_dim": 96,
    "torch_dtype": "bfloat16",
}
SMALL_LATENT: dict[str, Any] = {
    "num_hidden_layers": 27,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "kv_lora_rank": 256,
    "qk_rope_head_dim": 32,
    "qk_nope_head_dim": 64,
    "v_head_dim": 64,
    "torch_dtype": "bfloat16",
}
LANGUAGE: dict[str, Any] = {
    "num_hidden_layers": 30,
    "hidden_size": 2560,
    "num_attention_heads": 20,
    "num_key_value_heads": 5,
    "head_dim": 128,
    "dtype": "bfloat16",
}
TOWER: dict[str, Any] = {
    "num_hidden_layers": 27,
    "hidden_size": 1152,
    "num_attention_heads": 16,
}
SWITCHED_OFF: dict[str, Any] = {
    "num_hidden_layers": 24,
    "hidden_size": 896,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "sliding_window": 16384,
    "use_sliding_window": False,
    "max_window_layers": 20,
    "torch_dtype": "bfloat16",
}


def per_token(config: dict[str, Any], dtype: str | None = None) -> int:
    return kv.kv_bytes_per_token(parse_config(config), dtype)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(FIRST, 46080, id="KV-01 explicit head_dim"),
        pytest.param(
            {
                "num_hidden_layers": 12,
                "hidden_size": 2048,
                "num_attention_heads": 16,
                "num_key_value_heads": 4,
                "head_dim": None,
                "torch_dtype": "float16",
            },
            24576,
            id="KV-01 null head_dim",
        ),
        pytest.param(PLAIN, 18432, id="KV-01 absent K/V heads"),
        pytest.param({**PLAIN, "num_key_value_heads": None}, 18432, id="KV-01 null K/V heads"),
        pytest.param({**PLAIN, "head_dim": 0}, 18432, id="KV-01 head_dim not positive"),
        pytest.param(SMALL_LATENT, 15552, id="KV-03"),
        pytest.param({**FIRST, "quantization_config": {"bits": 4}}, 46080, id="KV-09 weights only"),
    ],
)
def test_bytes_per_token(config: dict[str, Any], expected: int) -> None:
    assert per_token(config) == expected


@pytest.mark.parametrize("key", ["text_config", "language_config", "llm_config"])
def test_kv04_language_block_wins_over_the_vision_tower(key: str) -> None:
    config = {"model_type": "demo_vlm", **TOWER, "vision_config": TOWER, key: LANGUAGE}
    assert per_token(config) == 76800


@pytest.mark.parametrize("outer", ["dtype", "torch_dtype"])
def test_kv04_dtype_may_stand_outside(outer: str) -> None:
    inner = {k: v for k, v in LANGUAGE.items() if k != "dtype"}
    spec = parse_config({outer: "float32", "text_config": inner})
    assert kv.kv_bytes_per_token(spec) == 2 * 76800


@pytest.mark.parametrize("top", [{}, TOWER])
def test_kv04_a_tower_alone_gives_no_number(top: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"text_config with num_hidden_layers"):
        parse_config({"model_type": "demo_vlm", **top, "vision_config": TOWER})


@pytest.mark.parametrize(
    "change",
    [{}, {"sliding_window": None, "use_sliding_window": None}],
    ids=["switched off", "null"],
)
def test_kv05_a_window_that_is_off(change: dict[str, Any]) -> None:
    spec = parse_config({**SWITCHED_OFF, **change})
    assert kv.kv_bytes_per_token(spec) == 12288
    assert kv.kv_bytes_total(spec, 40000) == 491_520_000


def test_window_switched_on_counts_from_max_window_layers() -> None:
    spec = parse_config({**SWITCHED_OFF, "use_sliding_window": True})
    assert [layer.kind for layer in spec.layers] == ["full"] * 20 + ["window"] * 4


def test_kv08_infinity_and_byte_order_mark() -> None:
    fields = (
        '"num_hidden_layers":8,"hidden_size":512,"num_attention_heads":8,"torch_dtype":"float16"'
    )
    infinite = "{" + fields + ',"time_step_limit":[0.0,Infinity]}'
    assert kv.kv_bytes_per_token(parse_config_text(infinite)) == 16384
    with_mark = "\ufeff{" + fields + "}"
    assert kv.kv_bytes_per_token(parse_config_text(with_mark)) == 16384
    assert kv.kv_bytes_per_token(parse_config_text(with_mark.encode())) == 16384


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"num_hidden_layers":8,\n<<<<<<< HEAD\n"hidden_size":512\n}', r"marker at line 2"),
        ("<!doctype html><html><body>Sign in</body></html>", r"not JSON.*web page"),
        ('{"hidden_size":512}', r"lacks num_hidden_layers, num_attention_heads"),
        ("[]", r"must be a JSON object .* got a list"),
        ("3", r"got a number"),
        ('"x"', r"got a text"),
        ("null", r"got null"),
        ("{}", r"empty object.*num_hidden_layers, num_attention_heads"),
        ("", r"the file is empty"),
        ('{"a": }', r"not JSON: .* line 1, column 7"),
        ("version https://git-lfs.github.com/spec/v1\n", r"Git LFS pointer"),
        ('{"num_hidden_layers": 8, "num_hidden_layers": 9}', r"twice with different values"),
        ("[" * 100_000, r"nested deeper than 64 levels at line 1"),
        ('{"a":' * 500 + "1" + "}" * 500, r"nested deeper"),
        ('{"num_hidden_layers": ' + "9" * 5000 + "}", r"not a usable config"),
        (" " * (MAX_CONFIG_BYTES + 1), r"4,000,001 bytes"),
        (b"\xff\xfe\x00\xd8", r"not text"),
    ],
)
def test_kv08_messages(text: str | bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse_config_text(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_hidden_layers": 0}, r"num_hidden_layers must be from 1"),
        ({"num_hidden_layers": -3}, r"num_hidden_layers must be from 1"),
        ({"num_hidden_layers": 2.5}, r"whole number, got 2.5"),
        ({"num_hidden_layers": "32"}, r"whole number, got '32'"),
        ({"num_hidden_layers": True}, r"whole number, got True"),
        ({"num_hidden_layers": float("nan")}, r"whole number, got nan"),
        ({"num_hidden_layers": float("inf")}, r"whole number, got inf"),
        ({"num_hidden_layers": 10**12}, r"from 1 to 10000"),
        ({"n_layer": 7}, r"contradictory fields: num_hidden_layers = 6 and n_layer = 7"),
        ({"num_key_value_heads": 5}, r"num_attention_heads = 12 is not a multiple of"),
        ({"num_attention_heads": 7}, r"hidden_size = 768 is not a multiple of"),
        ({"hidden_size": None}, r"head_dim and hidden_size are missing"),
        ({"head_dim": "64"}, r"head_dim must be a number"),
        ({"layer_types": ["full_attention"] * 5}, r"layer_types lists 5 layers"),
        ({"layer_types": ["odd"] * 6}, r"unknown kind 'odd'"),
        ({"layer_types": ["sliding_attention"] * 6}, r"sliding_window.* is missing"),
        ({"sliding_window": -1}, r"sliding_window must be from 1"),
        ({"use_sliding_window": "no", "sliding_window": 8}, r"must be true or false"),
        ({"hybrid_override_pattern": "M*"}, r"has 2 marks, which contradicts"),
        ({"hybrid_override_pattern": "M*X---"}, r"unknown mark 'X'"),
        ({"hybrid_override_pattern": "M-M-M-"}, r"no layer keeps keys and values"),
        ({"text_config": 3}, r"text_config must be an object"),
        ({"quantization_config": [4]}, r"quantization_config must be an object"),
        ({"is_encoder_decoder": True}, r"decoder-only"),
        ({"model_type": "mamba"}, r"no attention layers"),
        ({"index_topk": 2048}, r"index_topk: .* not modelled"),
        ({"kv_lora_rank": 256}, r"lacks qk_rope_head_dim"),
        ({"attn_layer_period": 4}, r"attn_layer_offset is missing"),
        ({"num_kv_shared_layers": 6}, r"num_kv_shared_layers = 6 contradicts"),
        ({"num_experts": 4, "mlp_only_layers": [[]]}, r"mlp_only_layers must be a whole number"),
    ],
)
def test_contradictions_name_the_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_config({**PLAIN, **change})


def test_a_short_config_gives_the_cache_and_says_what_is_missing() -> None:
    spec = parse_config(PLAIN)
    assert not spec.complete
    assert any("vocab_size missing" in note for note in spec.notes)
    with pytest.raises(ValueError, match="vocab_size missing"):
        parameter_counts(spec)


def test_rc2_one_window_for_all_layers_stops_the_growth() -> None:
    spec = parse_config(
        {
            "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
            "num_key_value_heads": 8, "sliding_window": 4096, "torch_dtype": "bfloat16",
        }
    )  # fmt: skip
    assert kv.kv_bytes_per_token(spec) == 131072
    assert kv.kv_bytes_total(spec, 4096) == kv.kv_bytes_total(spec, 32768) == 536_870_912
    assert kv.kv_bytes_allocated(spec, 32768) == 4_294_967_296


def test_rc3_gemma3_short_form_takes_the_readers_defaults_and_says_so() -> None:
    spec = parse_config(
        {
            "model_type": "gemma3",
            "text_config": {
                "model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
                "intermediate_size": 10240, "sliding_window": 1024,
            },
            "vision_config": TOWER,
            "torch_dtype": "bfloat16",
            "quantization": {"bits": 6, "group_size": 64},
        }
    )  # fmt: skip
    assert kv.kv_bytes_per_token(spec) == 139_264
    assert kv.kv_bytes_total(spec, 131_072) == 2_805_989_376
    assert sum(layer.kind == "full" for layer in spec.layers) == 5
    assert any("num_attention_heads = 8" in note for note in spec.notes)


def test_rc4_falcon_names_and_multi_query() -> None:
    falcon = {
        "model_type": "RefinedWebModel", "hidden_size": 4544, "n_head": 71, "n_layer": 32,
        "multi_query": True, "torch_dtype": "bfloat16",
    }  # fmt: skip
    assert per_token(falcon) == 8192
    grouped = {**falcon, "new_decoder_architecture": True, "n_head": 64, "hidden_size": 4096}
    assert per_token({**grouped, "n_head_kv": 8}) == 2 * 32 * 8 * 64 * 2
    assert per_token({**falcon, "multi_query": False}) == 581_632


def test_rc6_gpt2_names_and_the_assumed_dtype() -> None:
    spec = parse_config({"model_type": "gpt2", "n_embd": 1280, "n_head": 20, "n_layer": 36})
    assert kv.kv_bytes_per_token(spec) == 184_320
    assert kv.kv_bytes_per_token(spec, "float32") == 368_640
    assert any("16 bits per number are assumed" in note for note in spec.notes)


def test_rc7_head_dim_beside_a_window_that_is_off() -> None:
    assert per_token(
        {
            "num_hidden_layers": 28, "hidden_size": 1024, "num_attention_heads": 16,
            "num_key_value_heads": 8, "head_dim": 128, "sliding_window": None,
            "use_sliding_window": False, "max_window_layers": 28, "torch_dtype": "bfloat16",
        }
    ) == 114_688  # fmt: skip


def test_rc8_hybrid_by_marks_keeps_a_cache_in_ten_layers_and_a_constant_state() -> None:
    unit = "M-M-M-M*-"
    pattern = unit + "M-M-M-M-M*-" * 9 + "M-M-M-M-M-"
    spec = parse_config(
        {
            "model_type": "nemotron_h", "num_hidden_layers": len(pattern), "hidden_size": 8192,
            "num_attention_heads": 64, "num_key_value_heads": 8, "attention_head_dim": 128,
            "hybrid_override_pattern": pattern, "torch_dtype": "bfloat16", "conv_kernel": 4,
            "mamba_num_heads": 256, "mamba_head_dim": 64, "ssm_state_size": 256, "n_groups": 8,
        }
    )  # fmt: skip
    assert pattern.count("*") == 10
    assert kv.kv_bytes_per_token(spec) == 40_960
    assert kv.state_bytes(spec) == pattern.count("M") * 256 * 64 * 256 * 2


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        pytest.param(
            {"layer_types": ["sliding_attention", "full_attention"] * 3, "sliding_window": 128},
            "wfwfwf",
            id="layer_types",
        ),
        pytest.param({"sliding_window_pattern": 3, "sliding_window": 64}, "wwfwwf", id="pattern"),
        pytest.param({"model_type": "gemma2", "sliding_window": 64}, "wfwfwf", id="gemma2"),
        pytest.param({"model_type": "gpt_oss", "sliding_window": 64}, "wfwfwf", id="gpt_oss"),
        pytest.param({"attn_layer_period": 3, "attn_layer_offset": 1}, "sfssfs", id="jamba"),
        pytest.param({"full_attention_interval": 3}, "ssfssf", id="interval"),
        pytest.param({"attn_layer_indices": [0, 5]}, "fssssf", id="indices"),
        pytest.param(
            {"linear_attn_config": {"full_attn_layers": [1, 6]}}, "fssssf", id="indices from 1"
        ),
        pytest.param({"attn_type_list": [0, 0, 1, 0, 0, 1]}, "ssfssf", id="attn_type_list"),
        pytest.param(
            {"layers_block_type": ["mamba", "mlp", "attention", "moe", "mamba", "mlp"]},
            "snfnsn",
            id="blocks",
        ),
        pytest.param(
            {"attention_types": [[["global", "local"], 3]], "window_size": 8}, "fwfwfw", id="neo"
        ),
        pytest.param(
            {"block_types": ["recurrent", "recurrent", "attention"], "attention_window_size": 9},
            "sswssw",
            id="block_types",
        ),
        pytest.param({"model_type": "mistral"}, "wwwwww", id="mistral default window"),
        pytest.param(
            {"model_type": "mistral", "sliding_window": None}, "ffffff", id="mistral null"
        ),
        pytest.param({"model_type": "falcon_h1"}, "ffffff", id="both in every layer"),
    ],
)
def test_kinds_per_layer(change: dict[str, Any], kinds: str) -> None:
    spec = parse_config({**PLAIN, "num_key_value_heads": 4, **change})
    assert "".join(layer.kind[0] for layer in spec.layers) == kinds


BASE: dict[str, Any] = {
    "vocab_size": 1000, "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 4,
    "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 128,
}  # fmt: skip
HEADS = {**BASE, "head_dim": 24}
EXPERTS = {
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 64,
}  # fmt: skip
GPT = {"vocab_size": 1000, "n_embd": 96, "n_head": 6, "n_layer": 4, "n_positions": 128}
PLAIN_NAMES = {"vocab_size": 1000, "hidden_size": 96}
FALCON = {**PLAIN_NAMES, "num_attention_heads": 6, "num_hidden_layers": 4, "multi_query": True}

FAMILY_COUNTS = [
    ("llama", BASE, 475_488),
    ("llama", {**BASE, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
     382_176),
    ("mistral", BASE, 475_488),
    ("mixtral", {**BASE, "num_local_experts": 4, "num_experts_per_tok": 2}, 1_029_984),
    ("phi3", BASE, 475_488),
    ("qwen2", BASE, 476_128),
    ("qwen2_moe", {**BASE, **EXPERTS, "decoder_sparse_step": 2}, 495_520),
    ("qwen3", HEADS, 524_832),
    ("gemma", HEADS, 428_640),
    ("gemma2", HEADS, 429_408),
    ("gemma3_text", HEADS, 429_600),
    ("cohere", BASE, 379_104),
    ("cohere2", BASE, 379_104),
    ("olmo2", BASE, 476_000),
    ("gpt2", GPT, 555_840),
    ("gptj", GPT, 638_248),
    ("gpt_neo", {**PLAIN_NAMES, "num_heads": 6, "num_layers": 4, "max_position_embeddings": 128,
                 "attention_types": [[["global", "local"], 2]]}, 554_688),
    ("gpt_neox", {**PLAIN_NAMES, "num_attention_heads": 6, "num_hidden_layers": 4,
                  "intermediate_size": 200}, 497_504),
    ("bloom", {**PLAIN_NAMES, "n_head": 6, "n_layer": 4}, 543_744),
    ("mpt", {"vocab_size": 1000, "d_model": 96, "n_heads": 6, "n_layers": 4,
             "expansion_ratio": 4}, 539_232),
    ("opt", {**PLAIN_NAMES, "num_attention_heads": 6, "num_hidden_layers": 4, "ffn_dim": 200,
             "max_position_embeddings": 128, "word_embed_proj_dim": 96}, 413_984),
    ("falcon", FALCON, 477_888),
    ("falcon", {**FALCON, "new_decoder_architecture": True, "num_kv_heads": 2}, 490_944),
    ("falcon", {**FALCON, "multi_query": False, "parallel_attn": False, "bias": True}, 543_552),
    ("phi", BASE, 417_192),
    ("starcoder2", BASE, 320_960),
    ("jamba", {**BASE, "num_experts": 4, "num_experts_per_tok": 2, "attn_layer_period": 4,
               "attn_layer_offset": 2, "expert_layer_period": 2, "expert_layer_offset": 1,
               "mamba_d_state": 8, "mamba_d_conv": 4, "mamba_expand": 2,
               "mamba_dt_rank": "auto"}, 869_730),
    ("bamba", {**BASE, "attn_layer_indices": [1, 3], "mamba_n_heads": 8, "mamba_d_head": 24,
               "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2},
     547_280),
    ("falcon_h1", {**BASE, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_ssm": 128,
                   "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_conv": 4,
                   "mamba_expand": 2, "mamba_rms_norm": False}, 641_600),
    ("qwen3_next", {**HEADS, **EXPERTS, "linear_num_key_heads": 4, "linear_key_head_dim": 16,
                    "linear_num_value_heads": 8, "linear_value_head_dim": 16,
                    "linear_conv_kernel_dim": 4, "full_attention_interval": 4}, 621_936),
    ("deepseek_v2", {**BASE, "num_key_value_heads": 6, "kv_lora_rank": 32, "q_lora_rank": 48,
                     "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
                     "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 2,
                     "moe_intermediate_size": 32, "first_k_dense_replace": 1}, 640_928),
    ("llama4_text", {**HEADS, "intermediate_size_mlp": 200, "num_local_experts": 4,
                     "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
                     "attention_chunk_size": 64}, 917_088),
]  # fmt: skip


@pytest.mark.parametrize(("model_type", "config", "expected"), FAMILY_COUNTS)
def test_parameters_equal_a_built_model(
    model_type: str, config: dict[str, Any], expected: int
) -> None:
    """The expected counts are those of models built with transformers 5.24 from these configs."""
    spec = parse_config({"model_type": model_type, **config})
    assert spec.complete, spec.notes
    assert parameter_counts(spec).total == expected


@pytest.mark.parametrize(
    ("block", "bits"),
    [
        ({"quant_method": "fp8"}, 8.0),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}, 4.125),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, 4.15625),
        ({"bits": 4}, 4.5),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8.0),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5),
        ({"quant_algo": "NVFP4"}, 4.5),
        ({"config_groups": {"g": {"weights": {"num_bits": 8, "type": "float"}}}}, 8.0),
    ],
)
def test_quantisation_blocks_size_the_weights_only(block: dict[str, Any], bits: float) -> None:
    config = {"model_type": "llama", **BASE, "torch_dtype": "bfloat16"}
    spec = parse_config({**config, "quantization_config": block})
    assert float(spec.native_format("mlp").bits) == bits
    assert spec.native_format("head") == number_format("bfloat16")
    assert kv.kv_bytes_per_token(spec) == per_token(config)
    assert weight_bytes_stored(spec) < weight_bytes_stored(parse_config(config))


def test_mxfp4_is_for_experts_and_an_unknown_method_is_said() -> None:
    config = {"model_type": "gpt_oss", **HEADS, "num_local_experts": 4, "num_experts_per_tok": 2}
    spec = parse_config({**config, "quantization_config": {"quant_method": "mxfp4"}})
    assert spec.native_format("expert").name == "mxfp4"
    assert spec.native_format("attention").name == "bfloat16"
    other = parse_config({**config, "quantization_config": {"quant_method": "new"}})
    assert any("'new' is not known" in note for note in other.notes)


def test_the_file_is_data_only() -> None:
    """Fields that name code to run change nothing and are not looked at."""
    config = {**PLAIN, "auto_map": {"AutoConfig": "evil--x.Config"}, "architectures": ["os.system"]}
    assert per_token(config) == per_token(PLAIN)


def test_a_round_trip_of_our_own_model() -> None:
    from core.config import STORYTELLER

    spec = parse_config_text(json.dumps(STORYTELLER.to_hf()))
    assert parameter_counts(spec).total == STORYTELLER.n_params
