"""What the growing cache sends to the browser: measured bytes beside the formula, step by step.

Bytes in use and bytes reserved are read off the tensors by the run itself; the formula and the
stair of blocks come from ``core.cost``. Every displayed string is formatted here.
"""

from __future__ import annotations

from typing import Any

from core.cost.formula import Formula
from core.cost.kv import (
    DEFAULT_BLOCK_SIZE,
    context_at_bytes,
    kv_bytes_allocated,
    kv_bytes_read,
    per_token_formula,
    total_formula,
)
from core.cost.spec import ModelSpec, spec_from_config
from core.decode.records import RunTrace, StepRecord
from pages.ui import units

FORMAT = 1
_MAX_TICKS = 5


def growth_key(run_key: str) -> str:
    """Return the name of a run's growth in the browser."""
    return f"{run_key}:growth"


def growth_payload(trace: RunTrace, limit: int, run: dict[str, Any]) -> dict[str, Any]:
    """Return the growth of a run's cache; ``limit`` is the most steps that it may take.

    ``run`` is the run's own payload, which has the running text and how it stopped.
    """
    spec = spec_from_config(trace.config, "storyteller")
    per_token = per_token_formula(spec, trace.dtype)
    config = trace.config
    room = config.max_seq_len
    reach = min(room, trace.n_prompt + max(limit, trace.n_steps))
    return {
        "format": FORMAT,
        "recorded": trace.recorded,
        "n_prompt": trace.n_prompt,
        "n_layers": config.n_layers,
        "n_kv_heads": config.n_kv_heads,
        "block_size": DEFAULT_BLOCK_SIZE,
        "per_token_bytes": int(per_token.value),
        "axes": {"run": _axis(spec, trace, reach), "context": _axis(spec, trace, room)},
        "words": _words(trace, per_token),
        "tokens": [token.label for token in trace.tokens],
        "steps": [
            _step(spec, trace, record, run["steps"][record.index]["text"]) for record in trace.steps
        ],
        "stop": run["stop"],
        "notes": list(trace.notes),
    }


def _words(trace: RunTrace, per_token: Formula) -> dict[str, Any]:
    config, given = trace.config, per_token.variables
    total = units.exact_bytes(int(per_token.value))
    reserved = units.binary_bytes(trace.steps[-1].kv_bytes_allocated)
    size = DEFAULT_BLOCK_SIZE
    return {
        "title": "The KV cache of this run, step by step",
        "bytes": "bytes in the cache",
        "reserved": f"{reserved} reserved at once, room for {config.max_seq_len} tokens, measured",
        "reserved_short": f"{reserved} reserved, measured",
        "key": {
            "in_use": "in use, measured after every step",
            "formula": (
                f"formula: {given['n_layers']} layers × 2 (K and V) × {given['n_kv_heads']} heads "
                f"× {given['head_dim']} numbers × {given['bytes_per_number']} B = {total} a token"
            ),
            "blocks": f"in blocks of {size} tokens, modelled",
        },
        "short_key": {
            "in_use": "in use, measured",
            "formula": f"formula: {total} a token",
            "blocks": f"blocks of {size}, modelled",
        },
        "lanes": [
            ["k", "K, key"],
            ["v", "V, value"],
            ["new", "new this step"],
        ],
        "lanes_title": (
            f"{config.n_layers} layers × {config.n_kv_heads} K/V heads, one column a token"
        ),
        "hover": "{token} at position {position}: its keys and values stay where they are",
    }


def _step(
    spec: ModelSpec, trace: RunTrace, record: StepRecord, text: list[list[str]]
) -> dict[str, Any]:
    formula = total_formula(spec, record.context_len, 1, trace.dtype)
    blocks = kv_bytes_allocated(spec, record.context_len, 1, trace.dtype)
    return {
        "context_len": record.context_len,
        "in_use_bytes": record.kv_bytes_in_use,
        "in_use_text": units.binary_bytes(record.kv_bytes_in_use),
        "allocated_bytes": record.kv_bytes_allocated,
        "blocks_bytes": blocks,
        "formula_bytes": int(formula.value),
        "caption": _caption(spec, trace, record),
        "panel": _panel(spec, trace, record, blocks),
        "proof": _proof(record, formula.text, int(formula.value)),
        "text": text,
    }


def _caption(spec: ModelSpec, trace: RunTrace, record: StepRecord) -> str:
    config = trace.config
    held = units.binary_bytes(record.kv_bytes_in_use)
    if record.index == 0:
        return (
            f"Prefill stores all {trace.n_prompt} prompt tokens at once: one key and one value "
            f"each, in {config.n_layers} layers × {config.n_kv_heads} K/V heads. {held} so far."
        )
    added = units.binary_bytes(_added(trace, record))
    label = trace.tokens[record.position].label
    return (
        f"Token {record.position} “{label}” adds one key and one value in every layer and K/V "
        f"head: {added}, as every token before it. The cache holds {record.context_len} tokens."
    )


def _added(trace: RunTrace, record: StepRecord) -> int:
    before = trace.steps[record.index - 1].kv_bytes_in_use if record.index else 0
    return record.kv_bytes_in_use - before


def _panel(
    spec: ModelSpec, trace: RunTrace, record: StepRecord, blocks: int
) -> list[dict[str, Any]]:
    in_use, reserved = record.kv_bytes_in_use, record.kv_bytes_allocated
    read = kv_bytes_read(spec, record.context_len, 1, trace.dtype)
    meeting = context_at_bytes(spec, trace.weight_bytes, 1, trace.dtype)
    added = "K, V of the prompt" if record.index == 0 else "one K, one V per head"
    tiles = [
        ("in_use", "In use", units.binary_bytes(in_use), "measured",
         f"{record.context_len} tokens"),
        ("added", "Added now", units.binary_bytes(_added(trace, record)), "measured",
         added),
        ("read", "Read now", units.binary_bytes(read), "modelled", "all of it, every step"),
        ("blocks", f"In blocks of {DEFAULT_BLOCK_SIZE}", units.binary_bytes(blocks), "modelled",
         f"{units.binary_bytes(blocks - in_use)} unused"),
        ("reserved", "Reserved", units.binary_bytes(reserved), "measured",
         f"room for {trace.config.max_seq_len} tokens"),
        ("weights", "Weights", units.binary_bytes(trace.weight_bytes), "measured",
         _meeting(meeting)),
    ]  # fmt: skip
    names = ("id", "label", "value", "kind", "beside")
    return [dict(zip(names, tile, strict=True)) for tile in tiles]


def _meeting(tokens: float | None) -> str:
    return "" if tokens is None else f"= cache of {units.count(round(tokens))} tokens"


def _proof(record: StepRecord, formula: str, expected: int) -> dict[str, Any]:
    measured = record.kv_bytes_in_use
    equal = measured == expected
    return {
        "ok": equal,
        "identical": equal,
        "title": "Measured = formula" if equal else "Measured is not the formula",
        "detail": f"measured {units.exact_bytes(measured)} · formula {formula.replace('*', '×')} B",
    }


def _axis(spec: ModelSpec, trace: RunTrace, reach: int) -> dict[str, Any]:
    """A pair of axes for ``reach`` tokens in whole blocks; it stays as a run grows."""
    x_max = -(-reach // DEFAULT_BLOCK_SIZE) * DEFAULT_BLOCK_SIZE
    y_max = kv_bytes_allocated(spec, x_max, 1, trace.dtype)
    every = _step_of_two(x_max, _MAX_TICKS + 2)
    kib = _step_of_two(-(-y_max // 1024), _MAX_TICKS)
    return {
        "x_max": x_max,
        "y_max": y_max,
        "x_ticks": _labelled_tokens(x_max, every),
        "y_ticks": [[n, units.binary_bytes(n)] for n in range(0, y_max + 1, kib * 1024)],
    }


def _labelled_tokens(x_max: int, every: int) -> list[list[Any]]:
    ticks: list[list[Any]] = [[n, units.count(n)] for n in range(0, x_max, every)]
    if x_max - ticks[-1][0] < every // 2:
        ticks.pop()
    return [*ticks, [x_max, f"{units.count(x_max)} tokens"]]


def _step_of_two(most: int, n_ticks: int) -> int:
    """The least power of two that cuts ``most`` into at most ``n_ticks`` parts.

    >>> _step_of_two(112, 5), _step_of_two(256, 5)
    (32, 64)
    """
    step = 1
    while most / step > n_ticks:
        step *= 2
    return step
