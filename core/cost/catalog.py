"""The shipped catalogues: published models and accelerators, with their sources.

A row of ``models.csv`` is a published configuration in columns; it goes through the same
reader as a config.json. ``models_verified.csv`` says per field whether it was checked against
a published file. Names match exactly but for case.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.cost.dtypes import FORMATS, NumberFormat, number_format
from core.cost.hf_config import parse_config
from core.cost.layer_text import layer_words
from core.cost.spec import AcceleratorSpec, LayerKind, ModelSpec

DATA_DIR = Path(__file__).resolve().parents[2] / "assets" / "data"
Row = Mapping[str, str]

_HF_NAMES = {
    "n_layers": "num_hidden_layers", "d_model": "hidden_size", "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads", "head_dim": "head_dim", "d_ff": "intermediate_size",
    "vocab_size": "vocab_size", "max_context_tokens": "max_position_embeddings",
    "window_tokens": "sliding_window", "n_experts": "num_local_experts",
    "experts_per_token": "num_experts_per_tok", "d_ff_expert": "moe_intermediate_size",
    "n_shared_experts": "n_shared_experts", "n_dense_first_layers": "first_k_dense_replace",
    "q_lora_rank": "q_lora_rank", "kv_lora_rank": "kv_lora_rank",
    "qk_rope_head_dim": "qk_rope_head_dim", "qk_nope_head_dim": "qk_nope_head_dim",
    "v_head_dim": "v_head_dim", "state_heads": "mamba_num_heads",
    "state_head_dim": "mamba_head_dim", "state_size": "ssm_state_size",
    "state_groups": "n_groups", "state_conv_kernel": "conv_kernel",
}  # fmt: skip
_QUANTISED = ("attention", "mlp", "expert", "state")


def model_names() -> tuple[str, ...]:
    """Return the names of all models in the catalogue, in its order.

    >>> "Llama 3.1 8B" in model_names()
    True
    """
    return tuple(row["name"] for row in model_rows())


@lru_cache(maxsize=1)
def model_rows() -> tuple[Row, ...]:
    """Return the rows of the model catalogue as text, with units in their names."""
    return read_table("models.csv")


@lru_cache(maxsize=1)
def verified_fields() -> dict[str, Row]:
    """Return name -> field -> "yes", "no" or "" (not applicable)."""
    return {row["name"]: row for row in read_table("models_verified.csv")}


@lru_cache(maxsize=64)
def find_model(name: str) -> ModelSpec:
    """Return the catalogue's model of that name, exact but for case.

    Raises: ValueError naming the nearest names

    >>> find_model("llama 3.1 8b").n_layers
    32
    >>> find_model("Lama 3.1 8B")
    Traceback (most recent call last):
    ValueError: no model named 'Lama 3.1 8B'; the nearest is 'Llama 3.1 8B'
    """
    known = match_name(name, model_names(), "model")
    return _spec(next(row for row in model_rows() if row["name"] == known))


def unverified_fields(name: str) -> tuple[str, ...]:
    """Return the fields of a model that were not checked against a published file."""
    row = verified_fields()[match_name(name, model_names(), "model")]
    return tuple(key for key, value in row.items() if value == "no")


def accelerator_names() -> tuple[str, ...]:
    """Return the names of all accelerators in the catalogue, in its order."""
    return tuple(accelerators())


@lru_cache(maxsize=1)
def accelerators() -> dict[str, AcceleratorSpec]:
    """Return all accelerators by name: dense figures, GB = 1e9 bytes."""
    rows = read_table("accelerators.csv")
    return {row["name"]: _accelerator(row) for row in rows}


def find_accelerator(name: str) -> AcceleratorSpec:
    """Return the accelerator of that name, exact but for case; never a guess from its size.

    Raises: ValueError naming the nearest name

    >>> round(find_accelerator("H100 SXM 80GB").ridge_flops_per_byte, 2)
    295.22
    """
    return accelerators()[match_name(name, accelerator_names(), "accelerator")]


def read_table(file_name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a shipped CSV file as text by column name."""
    with open(DATA_DIR / file_name, encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def attention_variant(model: ModelSpec, n_kv_heads: int) -> ModelSpec:
    """Return the same model with another number of K/V heads in its attention layers.

    Raises: ValueError unless it divides the query heads of every attention layer

    >>> multi_head = attention_variant(find_model("Llama 3.1 8B"), 32)
    >>> sum(2 * k.n_kv_heads * k.head_dim * 2 for k in multi_head.layers)
    524288
    """

    def changed(layer: LayerKind) -> LayerKind:
        if layer.kind not in ("full", "window"):
            return layer
        if n_kv_heads < 1 or layer.n_heads % n_kv_heads:
            raise ValueError(f"n_kv_heads must divide {layer.n_heads}, got {n_kv_heads}")
        widths = {"k": n_kv_heads * layer.head_dim, "v": n_kv_heads * layer.value_dim}
        matrices = tuple(
            replace(m, d_out=widths[m.name], extra=widths[m.name] if m.extra else 0)
            if m.name in widths
            else m
            for m in layer.matrices
        )
        return replace(layer, n_kv_heads=n_kv_heads, matrices=matrices)

    name = f"{model.name} with {n_kv_heads} K/V heads"
    return replace(model, name=name, layers=tuple(changed(layer) for layer in model.layers))


def match_name(name: str, names: Sequence[str], what: str) -> str:
    """Return the listed name that equals ``name`` but for case.

    Raises: ValueError naming the nearest
    """
    folded = {known.casefold(): known for known in names}
    wanted = name.strip().casefold()
    if wanted in folded:
        return folded[wanted]
    from difflib import get_close_matches  # only an error needs it

    near = get_close_matches(wanted, folded, n=1, cutoff=0.0)
    raise ValueError(f"no {what} named {name!r}; the nearest is {folded[near[0]]!r}")


def _spec(row: Row) -> ModelSpec:
    config: dict[str, Any] = {
        hf: int(row[ours]) for ours, hf in _HF_NAMES.items() if row[ours] != ""
    }
    config["model_type"] = row["model_type"]
    config["tie_word_embeddings"] = row["tied_embeddings"] == "true"
    if row["dtype"]:
        config["dtype"] = row["dtype"]
    config |= _layer_fields(layer_words(row["layer_kinds"]))
    if row["model_type"] == "falcon":
        config |= {"multi_query": row["n_kv_heads"] == "1", "bias": False, "parallel_attn": True}
    spec = parse_config(config, row["name"], row["source"])
    notes = [note for note in spec.notes if "names no usable dtype" not in note]
    if not row["dtype"]:
        notes.append("The published config names no dtype: the cache is counted at 16 bits.")
    doubtful = unverified_fields(row["name"])
    if doubtful:
        notes.append(f"Not checked against a published file: {', '.join(doubtful)}.")
    return replace(spec, native=_stored(row["stored_weights"], spec), notes=tuple(notes))


def _layer_fields(words: Sequence[str]) -> dict[str, Any]:
    """Return the config fields that say the same as one word per layer."""
    if set(words) <= {"mla"}:
        return {}
    if "mlp" in words:
        blocks = {"state": "mamba", "mlp": "mlp", "full": "attention"}
        return {"layers_block_type": [blocks[word] for word in words]}
    kinds = {"full": "full_attention", "window": "sliding_attention", "state": "linear_attention"}
    return {"layer_types": [kinds[word] for word in words]}


def _stored(text: str, spec: ModelSpec) -> dict[str, NumberFormat]:
    """Return part -> format for the weights as published, e.g. "fp8" or "mxfp4 experts"."""
    word, _, part = text.partition(" ")
    base = number_format(spec.dtype or "bfloat16")
    if part == "experts":
        return {"": base, "expert": number_format(word)}
    if FORMATS[word].is_quantised:
        return {"": base, **dict.fromkeys(_QUANTISED, number_format(word))}
    return {"": number_format(word)}


def _accelerator(row: Row) -> AcceleratorSpec:
    def scaled(key: str, unit: float) -> float | None:
        return float(row[key]) * unit if row[key] else None

    memory, l2 = scaled("memory_gb", 1e9), scaled("l2_mb", 1e6)
    return AcceleratorSpec(
        name=row["name"],
        kind=row["kind"],
        bandwidth_bytes_per_s=float(row["bandwidth_gb_per_s"]) * 1e9,
        flops_per_s=float(row["bf16_dense_tflop_per_s"]) * 1e12,
        memory_bytes=None if memory is None else int(memory),
        fp8_flops_per_s=scaled("fp8_dense_tflop_per_s", 1e12),
        int8_ops_per_s=scaled("int8_dense_top_per_s", 1e12),
        fp4_flops_per_s=scaled("fp4_dense_tflop_per_s", 1e12),
        l2_bytes=None if l2 is None else int(l2),
        extra_cache=row["extra_cache"],
        tdp_w=scaled("tdp_w", 1.0),
        memory_type=row["memory_type"],
        source=row["source"],
        verified=row["verified"],
        note=row["note"],
    )
