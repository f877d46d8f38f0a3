"""From a config to what each layer is: full, windowed, latent, state or MLP only.

Every rule here is a published convention of config files; the order is from the most explicit
(a mark or a word per layer) to the most general (one window for all layers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.cost.config_fields import Fields, short, whole_number
from core.cost.config_text import ConfigError

Mixer = Literal["full", "window", "state", "both", "none"]
Mlp = Literal["dense", "moe", "none"]

_WORDS: dict[str, Mixer] = {
    "full_attention": "full", "attention": "full", "global": "full", "full": "full",
    "sliding_attention": "window", "local": "window", "sliding": "window",
    "sliding_window": "window", "local_attention": "window", "chunked_attention": "window",
    "linear_attention": "state", "mamba": "state", "mamba2": "state", "recurrent": "state",
    "conv": "state", "hybrid": "both",
}  # fmt: skip

_UNMODELLED = (
    ("index_topk", "sparse attention with its own index cache"),
    ("compress_ratios", "a compressed cache"),
    ("sparse_attention_config", "block-sparse attention with an index"),
)

_WINDOW_OFF_BY_DEFAULT = ("qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen2_vl", "qwen2_5_vl")


@dataclass(frozen=True)
class Slot:
    """What one layer does: how it mixes positions, its window, and its MLP."""

    mixer: Mixer
    window: int | None
    mlp: Mlp


def plan_layers(fields: Fields, n_layers: int, model_type: str) -> tuple[list[Slot], list[str]]:
    """Return one Slot per layer, and notes on conventions that were applied.

    Raises: ConfigError where fields are missing, contradictory or not modelled
    """
    for key, what in _UNMODELLED:
        if fields.config.get(key):
            raise ConfigError(f"{key}: {what} is not modelled, so no cache size can be given")
    notes: list[str] = []
    pattern = fields.config.get("hybrid_override_pattern") or _block_marks(fields)
    if pattern is not None:
        return _from_marks(pattern, n_layers), notes
    mixers = _mixers(fields, n_layers, model_type)
    windowed = "window" in mixers
    window = window_size(fields, model_type, notes) if windowed else None
    if windowed and window is None:
        raise ConfigError(
            "the layers list windowed attention but sliding_window, the window's size, is missing"
        )
    mlps = _mlps(fields, n_layers)
    slots = [
        Slot(mixer, window if mixer == "window" else None, mlp)
        for mixer, mlp in zip(mixers, mlps, strict=True)
    ]
    return slots, notes


def layer_count(fields: Fields) -> int | None:
    """Return the layer count: the field, else the length of a list or text with one per layer."""
    explicit = fields.count("n_layers")
    if explicit is not None:
        return explicit
    for key in ("layers_block_type", "hybrid_override_pattern", "layer_types"):
        listed = fields.config.get(key)
        if isinstance(listed, list | str) and listed:
            return whole_number(f"the length of {key}", len(listed), 1, 10_000)
    return None


def _block_marks(fields: Fields) -> str | None:
    """Return the marks behind a list in which every layer is one block, MLPs included."""
    words = fields.listed("layers_block_type")
    marks = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}
    if words is None or not any(word in ("mlp", "moe") for word in words):
        return None
    return "".join(marks.get(word, "?") if isinstance(word, str) else "?" for word in words)


def window_size(fields: Fields, model_type: str, notes: list[str]) -> int | None:
    """Return the window in tokens, None if there is none or it is switched off."""
    if model_type.startswith("llama4"):
        chunk = fields.count_of("attention_chunk_size")
        if chunk:
            notes.append(
                f"Chunked attention of {chunk} tokens is counted as a window of that size; "
                "on average a step reads half of it."
            )
        return chunk
    switched_on = fields.config.get("use_sliding_window")
    if switched_on is None:
        switched_on = model_type not in _WINDOW_OFF_BY_DEFAULT
    if not isinstance(switched_on, bool):
        raise ConfigError(f"use_sliding_window must be true or false, got {short(switched_on)}")
    if not switched_on:
        return None
    for key in ("sliding_window", "sliding_window_size", "attention_window_size", "window_size"):
        value = fields.raw(key)
        if value is not None:
            return whole_number(key, value, 1, 10**12)
    return None


def _from_marks(pattern: object, n_layers: int) -> list[Slot]:
    """Read a string with one mark per layer: M state, * attention, - MLP, E experts."""
    marks: dict[str, Slot] = {
        "M": Slot("state", None, "none"),
        "*": Slot("full", None, "none"),
        "-": Slot("none", None, "dense"),
        "E": Slot("none", None, "moe"),
    }
    if not isinstance(pattern, str):
        raise ConfigError(f"hybrid_override_pattern must be a text, got {short(pattern)}")
    if len(pattern) != n_layers:
        raise ConfigError(
            f"hybrid_override_pattern has {len(pattern)} marks, which contradicts "
            f"num_hidden_layers = {n_layers}"
        )
    strange = sorted(set(pattern) - set(marks))
    if strange:
        raise ConfigError(f"hybrid_override_pattern has the unknown mark {strange[0]!r}")
    return [marks[mark] for mark in pattern]


def _mixers(fields: Fields, n: int, model_type: str) -> list[Mixer]:
    rules: tuple[Callable[[Fields, int, str], list[Mixer] | None], ...] = (
        _by_word, _by_number_list, _by_period, _by_index, _by_window_pattern,
    )  # fmt: skip
    for rule in rules:
        mixers = rule(fields, n, model_type)
        if mixers is not None:
            return mixers
    if model_type == "falcon_h1":
        return ["both"] * n
    return _by_single_window(fields, n, model_type)


def _by_word(fields: Fields, n: int, _: str) -> list[Mixer] | None:
    """One word per layer: layer_types, layers_block_type, or GPT-Neo's attention_types."""
    for key in ("layer_types", "layers_block_type"):
        words = fields.listed(key, n)
        if words is not None:
            return [_word(key, word) for word in words]
    cycle = fields.listed("block_types")
    if cycle:
        return [
            "window" if word == "attention" else _word("block_types", word)
            for word in (cycle[i % len(cycle)] for i in range(n))
        ]
    pairs = fields.listed("attention_types")
    if pairs is None:
        return None
    mixers: list[Mixer] = []
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], list)):
            raise ConfigError(f"attention_types must list [[kinds], repeats], got {short(pair)}")
        repeats = whole_number("attention_types", pair[1], 1, n)
        mixers += [_word("attention_types", word) for word in pair[0]] * repeats
    if len(mixers) != n:
        raise ConfigError(f"attention_types gives {len(mixers)} layers, the layer count is {n}")
    return mixers


def _word(key: str, word: object) -> Mixer:
    mixer = _WORDS.get(word) if isinstance(word, str) else None
    if mixer is None:
        raise ConfigError(f"{key} has the unknown kind {short(word)}")
    return mixer


def _by_number_list(fields: Fields, n: int, _: str) -> list[Mixer] | None:
    """Zero and one per layer: MiniMax attn_type_list (1 full), hybrid_layer_pattern (0 full)."""
    kinds = fields.listed("attn_type_list", n)
    if kinds is not None:
        return ["full" if kind == 1 else "state" for kind in kinds]
    kinds = fields.listed("hybrid_layer_pattern", n)
    if kinds is not None:
        return ["full" if kind == 0 else "window" for kind in kinds]
    return None


def _by_period(fields: Fields, n: int, model_type: str) -> list[Mixer] | None:
    """Attention every so many layers, the others with a constant state."""
    period = fields.count_of("attn_layer_period")
    if period is not None:
        offset = fields.count("attn_layer_offset", 0)
        if offset is None:
            raise ConfigError("attn_layer_period is given but attn_layer_offset is missing")
        return ["full" if i % period == offset else "state" for i in range(n)]
    interval = fields.count_of("full_attention_interval")
    if interval is None and model_type.startswith(("qwen3_next", "qwen3_5")):
        raise ConfigError(f"{model_type} lacks layer_types or full_attention_interval")
    if interval is not None:
        return ["full" if (i + 1) % interval == 0 else "state" for i in range(n)]
    return None


def _by_index(fields: Fields, n: int, _: str) -> list[Mixer] | None:
    """Attention in listed layers, counted from 0 (Kimi's linear_attn_config counts from 1)."""
    linear = fields.block("linear_attn_config")
    chosen, base, key = None, 0, ""
    if linear is not None:
        key, base = "full_attn_layers", 1
        chosen = Fields(linear, {}, "linear_attn_config").listed(key)
    else:
        for key in ("attn_layer_indices", "full_attn_idxs"):
            chosen = fields.listed(key)
            if chosen is not None:
                break
    if chosen is None:
        return None
    indices = {whole_number(key, i, base, n - 1 + base) - base for i in chosen}
    return ["full" if i in indices else "state" for i in range(n)]


def _by_window_pattern(fields: Fields, n: int, model_type: str) -> list[Mixer] | None:
    """Windows in all layers but every P-th, or by a string of L and G, or Llama 4's chunks."""
    if model_type.startswith("llama4"):
        no_rope = fields.listed("no_rope_layers", n)
        if no_rope:
            return ["window" if rope else "full" for rope in no_rope]
        step = fields.count("no_rope_layer_interval") or 4
        return ["window" if (i + 1) % step else "full" for i in range(n)]
    pattern = fields.raw("sliding_window_pattern")
    if pattern is None:
        pattern = fields.config.get("_sliding_window_pattern")
    if pattern is None or window_size(fields, model_type, []) is None:
        return None
    if isinstance(pattern, str) and pattern and set(pattern) <= {"L", "G"}:
        return ["window" if pattern[i % len(pattern)] == "L" else "full" for i in range(n)]
    step = whole_number("sliding_window_pattern", pattern, 1, 10_000)
    return ["window" if (i + 1) % step else "full" for i in range(n)]


def _by_single_window(fields: Fields, n: int, model_type: str) -> list[Mixer]:
    """Without a pattern: the window in every layer, or from max_window_layers on (Qwen)."""
    if window_size(fields, model_type, []) is None:
        return ["full"] * n
    first = None
    if fields.config.get("use_sliding_window") is True:
        first = fields.count("max_window_layers", 0)
    return ["window" if i >= (first or 0) else "full" for i in range(n)]


def _mlps(fields: Fields, n: int) -> list[Mlp]:
    """Say per layer whether its MLP is dense or a mixture of experts."""
    n_experts = fields.count("n_experts", 0)
    if not n_experts:
        return ["dense"] * n
    first = fields.count("first_k_dense_replace", 0) or 0
    listed = fields.listed("mlp_only_layers") or ()
    only = {whole_number("mlp_only_layers", index, 0, n - 1) for index in listed}
    step = fields.count_of("decoder_sparse_step") or fields.count_of("interleave_moe_layer_step")
    period = fields.count_of("expert_layer_period")
    offset = fields.count("expert_layer_offset", 0) or 0
    frequency = fields.raw("moe_layer_freq")
    if isinstance(frequency, list):
        return ["moe" if mark else "dense" for mark in fields.listed("moe_layer_freq", n) or ()]
    every = 1 if frequency is None else whole_number("moe_layer_freq", frequency, 1, 10_000)

    def sparse(i: int) -> bool:
        if period is not None:
            return i % period == offset
        if step is not None:
            return (i + 1) % step == 0 and i not in only
        return i >= first and i % every == 0

    return ["moe" if sparse(i) else "dense" for i in range(n)]
