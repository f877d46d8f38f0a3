"""A Hugging Face config.json as a ModelSpec: per layer what it caches and what it reads.

The file is data: nothing in it is executed or fetched. What cannot be read is a ConfigError
that names the missing or contradictory field; a number is never guessed and never 0. Where a
family's own reader has a documented default for an absent field, it is used and noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.cost.config_fields import NAMES, Fields, short
from core.cost.config_text import ConfigError, read_config_text
from core.cost.dtypes import dtype_from_text
from core.cost.layer_builder import LayerBuilder
from core.cost.layer_plan import Slot, layer_count, plan_layers
from core.cost.layouts import ALIASES, LAYOUTS, Layout
from core.cost.quantization_block import BLOCK_NAMES, native_formats
from core.cost.spec import Matrix, ModelSpec

_LANGUAGE_BLOCKS = ("text_config", "language_config", "llm_config")
_VISION_BLOCKS = ("vision_config", "visual", "vision_tower_config")
_FROM_OUTSIDE = ("dtype", "torch_dtype", "tie_word_embeddings", *BLOCK_NAMES)
_STATE_ONLY = ("mamba", "mamba2", "falcon_mamba", "rwkv", "rwkv7")
_UNMODELLED_TYPES = ("zamba", "zamba2", "t5", "bert")
_UNMODELLED_WEIGHTS = (
    "moe_latent_size", "hidden_size_per_layer_input", "enable_moe_block",
    "attn_res_block_size",
)  # fmt: skip


def parse_config_text(text: str | bytes, name: str = "") -> ModelSpec:
    """Return the model described by the text of a config.json.

    Raises: ConfigError with one line for a person

    >>> spec = parse_config_text('{"num_hidden_layers":8,"hidden_size":512,'
    ...                          '"num_attention_heads":8,"torch_dtype":"float16"}')
    >>> spec.n_layers, spec.layers[0].n_kv_heads, spec.layers[0].head_dim, spec.complete
    (8, 8, 64, False)
    """
    return parse_config(read_config_text(text), name)


def parse_config(config: Mapping[str, Any], name: str = "", source: str = "") -> ModelSpec:
    """Return the model described by a config that has been read already.

    Raises: ConfigError naming the missing, contradictory or unmodelled field
    """
    inner, origin = _language_part(config)
    model_type = _model_type(inner, config)
    inner = _translated(inner, model_type)
    known = LAYOUTS.get(model_type)
    layout = known or LAYOUTS[""]
    fields = Fields(inner, layout.defaults or {}, origin)
    _refuse_other_kinds(fields, model_type)
    n_layers = layer_count(fields)
    if n_layers is None:
        n_layers, _ = fields.need("n_layers", "n_heads")
    fields.need("n_heads")
    slots, notes = plan_layers(fields, n_layers, model_type)
    layout = layout.with_flags(fields)
    builder = LayerBuilder(fields, layout, model_type)
    missing = _missing_for_weights(fields, builder, slots, model_type, known is not None)
    layers = builder.layers(slots, with_weights=not missing)
    if not any(layer.caches for layer in layers):
        raise ConfigError("no layer keeps keys and values, so no cache grows with tokens")
    dtype, dtype_note = _dtype(fields)
    formats, format_notes = native_formats(fields, dtype)
    notes += [*builder.notes, *dtype_note, *format_notes]
    if missing:
        notes.append(f"Only the K/V cache can be computed: {'; '.join(missing)}.")
    if fields.defaulted:
        listed = ", ".join(fields.defaulted)
        notes.append(f"Not in the file, taken from the {model_type} reader's defaults: {listed}.")
    tied = fields.flag("tie_word_embeddings", layout.tied)
    return ModelSpec(
        name=name or str(config.get("_name_or_path") or model_type or "config.json"),
        layers=layers,
        complete=not missing,
        model_type=model_type,
        d_model=fields.count("d_model"),
        vocab_size=fields.count("vocab_size"),
        tied_embeddings=tied,
        max_context=fields.count("max_context"),
        dtype=dtype,
        state_dtype=_state_dtype(fields),
        native=formats,
        notes=tuple(dict.fromkeys(notes)),
        source=source,
        **({} if missing else _outer(fields, layout, tied)),
    )


def _language_part(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the object that describes the language model, and how to call it in a message."""
    names = NAMES["n_layers"]
    for key in _LANGUAGE_BLOCKS:
        block = config.get(key)
        if block is None:
            continue
        if not isinstance(block, dict):
            raise ConfigError(f"{key} must be an object, got {short(block)}")
        if any(block.get(alias) is not None for alias in names):
            outside = {k: config[k] for k in _FROM_OUTSIDE if config.get(k) is not None}
            return {**outside, **{k: v for k, v in block.items() if v is not None}}, key
    vision = next((config[k] for k in _VISION_BLOCKS if isinstance(config.get(k), dict)), None)
    has_layers = any(config.get(alias) is not None for alias in names)
    if vision is not None and (not has_layers or _repeats(config, vision)):
        raise ConfigError(
            "the language model's fields are missing: text_config with num_hidden_layers, "
            "hidden_size and num_attention_heads (only a vision tower is described)"
        )
    return config, "the config"


def _repeats(config: Mapping[str, Any], vision: Mapping[str, Any]) -> bool:
    """Whether the top level only repeats the vision tower."""
    keys = ("num_hidden_layers", "hidden_size", "num_attention_heads")
    return all(config.get(key) == vision.get(key) for key in keys)


def _model_type(inner: Mapping[str, Any], outer: Mapping[str, Any]) -> str:
    value = inner.get("model_type", outer.get("model_type"))
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ConfigError(f"model_type must be a text, got {short(value)}")
    return ALIASES.get(value.lower(), value.lower())


def _translated(config: Mapping[str, Any], model_type: str) -> Mapping[str, Any]:
    """Rename the fields of families that use a usual name for something else."""
    if model_type != "llama4_text":
        return config
    changes = {
        "moe_intermediate_size": config.get("intermediate_size"),
        "intermediate_size": config.get("intermediate_size_mlp"),
        "n_shared_experts": 1,
    }
    return {**config, **changes}


def _refuse_other_kinds(fields: Fields, model_type: str) -> None:
    if fields.flag("is_encoder_decoder"):
        raise ConfigError("is_encoder_decoder is true; only decoder-only models are modelled")
    if model_type in _STATE_ONLY:
        raise ConfigError(
            f"model_type {model_type} has no attention layers, so no cache grows with tokens"
        )
    if model_type in _UNMODELLED_TYPES:
        raise ConfigError(f"model_type {model_type} is not modelled")


def _missing_for_weights(
    fields: Fields, builder: LayerBuilder, slots: list[Slot], model_type: str, known: bool
) -> list[str]:
    """Say why weights cannot be counted, in words; an empty list means they can."""
    reasons = []
    if not known:
        reasons.append(f"the weight matrices of model_type {model_type!r} are not known here")
    absent = [
        NAMES[name][0] for name in ("d_model", "vocab_size") if fields.count(name) is None
    ]  # fmt: skip
    if builder.layout.positions is not None and fields.count("max_context") is None:
        absent.append("n_positions")
    if not absent:
        absent += builder.missing_widths(slots)
    if absent:
        reasons.append(f"{', '.join(absent)} missing")
    odd = [key for key in _UNMODELLED_WEIGHTS if fields.config.get(key)]
    if model_type.startswith("cohere") and fields.config.get("use_qk_norm"):
        odd.append("use_qk_norm")
    width, proj = fields.count("d_model"), fields.count("word_embed_proj_dim")
    if proj is not None and proj != width:
        odd.append("word_embed_proj_dim")
    if odd:
        reasons.append(f"weights with {', '.join(odd)} are not modelled")
    return reasons


def _dtype(fields: Fields) -> tuple[str | None, list[str]]:
    for key in ("dtype", "torch_dtype"):
        value = fields.config.get(key)
        if isinstance(value, str) and dtype_from_text(value) is not None:
            return dtype_from_text(value), []
    return None, ["The file names no usable dtype: 16 bits per number are assumed."]


def _state_dtype(fields: Fields) -> str | None:
    """Return the dtype in which a file says that its constant state is kept, or None."""
    for key in ("mamba_ssm_cache_dtype", "mamba_ssm_dtype"):
        value = fields.config.get(key)
        if isinstance(value, str):
            return dtype_from_text(value)
    return None


def _outer(fields: Fields, layout: Layout, tied: bool) -> dict[str, Any]:
    """Return tables, output head and the vectors outside the layers."""
    d_model, vocab = fields.need("d_model", "vocab_size")
    tables = [("embedding", vocab * d_model)]
    if layout.positions is not None:
        context = fields.count("max_context") or 0
        tables.append(("positions", (context + layout.positions) * d_model))
    head = Matrix("lm_head", d_model, vocab, "head", extra=vocab * layout.head_bias)
    vectors = layout.outer_norms * layout.norm_vectors * d_model
    return {
        "tables": tuple(tables),
        "outer_matrices": (head,),
        "outer_vectors": vectors,
    }
