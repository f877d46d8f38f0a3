"""The names under which published configs keep the same fact, and checks of its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.cost.config_text import ConfigError

NAMES: dict[str, tuple[str, ...]] = {
    "n_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "d_model": ("hidden_size", "n_embd", "d_model", "model_dim"),
    "n_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "n_kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "n_kv_heads"),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels", "head_size"),
    "d_ff": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "vocab_size": ("vocab_size", "padded_vocab_size"),
    "max_context": (
        "max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length",
    ),
    "n_experts": ("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"),
    "experts_per_token": (
        "num_experts_per_tok", "experts_per_token", "num_experts_per_token", "top_k_experts",
        "moe_topk", "moe_top_k",
    ),
    "n_shared_experts": ("n_shared_experts", "num_shared_experts"),
    "d_ff_expert": ("moe_intermediate_size", "expert_ffn_hidden_size"),
}  # fmt: skip
"""Our name -> the names in published files, the usual one first."""

LIMITS = {
    "n_layers": 10_000, "n_heads": 100_000, "n_kv_heads": 100_000, "head_dim": 1_000_000,
    "n_experts": 1_000_000, "max_context": 10**12,
}  # fmt: skip
DEFAULT_LIMIT = 10**9


class Fields:
    """Typed look-ups in one config object, with our names or the file's own.

    ``defaults`` are what the library that reads such files takes for absent fields; using one
    leaves a note, because the file itself does not say it.
    """

    def __init__(self, config: Mapping[str, Any], defaults: Mapping[str, Any], origin: str) -> None:
        self.config = config
        self._defaults = defaults
        self._origin = origin
        self.defaulted: list[str] = []

    def raw(self, key: str) -> Any:
        """Return the field of that exact name, else its library default, else None."""
        value = self.config.get(key)
        if value is None and key not in self.config and key in self._defaults:
            self._note_default(key)
            return self._defaults[key]
        return value

    def _note_default(self, key: str) -> None:
        entry = f"{key} = {self._defaults[key]!r}"
        if entry not in self.defaulted:
            self.defaulted.append(entry)

    def flag(self, key: str, fallback: bool = False) -> bool:
        """Return a yes/no field.

        Raises: ConfigError if it is neither true, false nor null
        """
        value = self.raw(key)
        if value is None:
            return fallback
        if not isinstance(value, bool):
            raise ConfigError(f"{key} must be true or false, got {short(value)}")
        return value

    def count(self, name: str, minimum: int = 1) -> int | None:
        """Return a whole number under any of its published names, or None if absent or null.

        Raises: ConfigError if a value is not a usable number, or two names disagree
        """
        found: dict[str, int] = {}
        for key in NAMES.get(name, (name,)):
            value = self.config.get(key)
            if value is not None:
                limit = LIMITS.get(name, DEFAULT_LIMIT)
                found[key] = whole_number(key, value, minimum, limit)
        if len(set(found.values())) > 1 and name != "max_context":
            listed = " and ".join(f"{key} = {value}" for key, value in found.items())
            raise ConfigError(f"contradictory fields: {listed}")
        if found:
            return next(iter(found.values()))
        for key in NAMES.get(name, (name,)):
            if key in self._defaults and key not in self.config:
                self._note_default(key)
                return int(self._defaults[key])
        return None

    def count_of(self, key: str, minimum: int = 1) -> int | None:
        """Return a whole number under one exact name, or None."""
        return self.count(key, minimum)

    def need(self, *names: str) -> list[int]:
        """Return several counts that must be there.

        Raises: ConfigError naming every missing field
        """
        values = [self.count(name) for name in names]
        missing = [n for n, value in zip(names, values, strict=True) if value is None]
        if missing:
            listed = ", ".join(NAMES.get(name, (name,))[0] for name in missing)
            verb = "are" if len(missing) > 1 else "is"
            raise ConfigError(f"{self._origin} lacks {listed}, which {verb} needed for the cache")
        return [value for value in values if value is not None]

    def listed(self, key: str, length: int | None = None) -> Sequence[Any] | None:
        """Return a list field, checked for its length.

        Raises: ConfigError if it is not a list, or its length contradicts the layer count
        """
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, list):
            raise ConfigError(f"{key} must be a list, got {short(value)}")
        if length is not None and len(value) != length:
            raise ConfigError(
                f"{key} lists {len(value)} layers, which contradicts a layer count of {length}"
            )
        return value

    def block(self, key: str) -> Mapping[str, Any] | None:
        """Return a nested object, or None.

        Raises: ConfigError if it is there and not an object
        """
        value = self.config.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise ConfigError(f"{key} must be an object, got {short(value)}")
        return value


def whole_number(key: str, value: object, minimum: int = 1, maximum: int = DEFAULT_LIMIT) -> int:
    """Return the value if it is a whole number in range.

    Raises: ConfigError naming the field, the range and the value

    >>> whole_number("num_hidden_layers", 32)
    32
    """
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    if not usable or value != value or int_or_none(value) is None:
        raise ConfigError(f"{key} must be a whole number, got {short(value)}")
    number = int_or_none(value)
    if number is None or not minimum <= number <= maximum:
        raise ConfigError(f"{key} must be from {minimum} to {maximum}, got {short(value)}")
    return number


def int_or_none(value: object) -> int | None:
    """Return a number that is whole as an int, else None (also for infinity and NaN)."""
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def short(value: object) -> str:
    """Return a value as a short text for a message."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
