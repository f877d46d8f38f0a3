"""In which format the published weights are stored, from a config's quantisation block.

Such a block is about weights. It never changes the cache, and tables, norms, router and (unless
it says so) the output head stay in the model's own dtype.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.cost.config_fields import Fields, whole_number
from core.cost.dtypes import NumberFormat, number_format

BLOCK_NAMES = ("quantization_config", "quantization", "compression_config")
_QUANTISED_PARTS = ("attention", "mlp", "expert", "state")


def native_formats(fields: Fields, dtype: str | None) -> tuple[dict[str, NumberFormat], list[str]]:
    """Return part -> stored format ("" for all other parts), and notes on what was assumed."""
    base = number_format(dtype or "bfloat16")
    formats = {"": base}
    block = None
    for name in BLOCK_NAMES:
        block = block or fields.block(name)
    if not block:
        return formats, []
    chosen = _block_format(block)
    if chosen is None:
        method = block.get("quant_method")
        return formats, [
            f"The quantisation method {method!r} is not known here: "
            f"stored weights are counted at {base.name}."
        ]
    parts = _parts(block)
    formats.update(dict.fromkeys(parts, chosen))
    return formats, [
        f"Stored weights: {chosen.name} ({float(chosen.bits):g} bits with scales) in "
        f"{', '.join(parts)}; {base.name} elsewhere. This does not change the cache."
    ]


def _block_format(block: Mapping[str, Any]) -> NumberFormat | None:
    method = str(block.get("quant_method") or "").lower()
    algorithm = str(block.get("quant_algo") or "").lower()
    if method == "mxfp4":
        return number_format("mxfp4")
    if algorithm == "nvfp4":
        return NumberFormat("nvfp4", 4, block=16, scale_bits=8)
    if method in ("fp8", "fbgemm_fp8") or algorithm == "fp8":
        return number_format("fp8")
    if block.get("load_in_8bit") is True:
        return number_format("int8")
    if block.get("load_in_4bit") is True:
        return NumberFormat("4-bit blocks of 64", 4, block=64, scale_bits=32)
    return _by_bits(block)


def _by_bits(block: Mapping[str, Any]) -> NumberFormat | None:
    """Read bits and group size, at the top of the block or in its first config group."""
    source: Mapping[str, Any] = block
    groups = block.get("config_groups")
    if isinstance(groups, dict) and groups:
        first = next(iter(groups.values()))
        weights = first.get("weights") if isinstance(first, dict) else None
        source = weights if isinstance(weights, dict) else block
    raw = source.get("num_bits", source.get("bits", source.get("w_bit")))
    if raw is None:
        return None
    bits = whole_number("bits", raw, 1, 32)
    if bits == 8 and source.get("type") == "float":
        return number_format("fp8")
    raw_group = source.get("group_size", source.get("q_group_size"))
    if raw_group in (-1, 0) or (raw_group is None and bits == 8):
        return NumberFormat(f"int{bits}", bits, scale_bits=16, per_channel=True)
    group = 32 if raw_group is None else whole_number("group_size", raw_group, 1, 1_000_000)
    if source.get("type") == "float" and bits == 4:
        return NumberFormat(f"4-bit floats, blocks of {group}", 4, block=group, scale_bits=8)
    has_zeros = source.get("zero_point") is True or source.get("sym") is False
    scale_bits = 16 + (bits if has_zeros else 0)
    return NumberFormat(f"int{bits}, groups of {group}", bits, block=group, scale_bits=scale_bits)


def _parts(block: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts that are quantised, from the lists of modules left alone."""
    left_alone: list[str] = []
    for key in ("modules_to_not_convert", "ignore", "ignored_layers"):
        value = block.get(key)
        if isinstance(value, list):
            left_alone += [entry for entry in value if isinstance(entry, str)]
    if str(block.get("quant_method") or "").lower() == "mxfp4":
        return ("expert",)
    if any("self_attn" in entry for entry in left_alone):
        return tuple(part for part in _QUANTISED_PARTS if part != "attention")
    return _QUANTISED_PARTS
