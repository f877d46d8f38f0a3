"""``cost``: bytes, FLOPs and the floor of a decode step for any model; no torch."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.commands.common import envelope, positive_number, whole_number
from core.cost.catalog import find_accelerator, find_model
from core.cost.checks import MAX_BATCH, MAX_CONTEXT
from core.cost.config_text import MAX_CONFIG_BYTES, ConfigError
from core.cost.dtypes import DTYPE_NAMES, number_format
from core.cost.formula import number_text
from core.cost.hf_config import parse_config_text
from core.cost.kv import DEFAULT_BLOCK_SIZE
from core.cost.planner import PlanRequest, PlanResult, plan
from core.cost.spec import AcceleratorSpec, ModelSpec

KEYS = (
    "kv_bytes_per_token", "kv_bytes_total", "kv_bytes_allocated", "kv_bytes_read_per_step",
    "state_bytes_total", "weight_bytes_stored", "weight_bytes_read_per_step", "flops_per_step",
    "itl_floor_s", "tokens_per_s_per_request", "tokens_per_s_total", "bound", "max_batch",
    "max_context",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags: a model, perhaps an accelerator, context, batch and precisions."""
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--model", metavar="NAME", help="a model of the catalogue")
    model.add_argument("--config", metavar="FILE", type=Path, help="a Hugging Face config.json")
    parser.add_argument("--accelerator", metavar="NAME", help="an accelerator of the catalogue")
    parser.add_argument("--bandwidth-bytes-per-s", metavar="X", type=positive_number)
    parser.add_argument("--flops-per-s", metavar="Y", type=positive_number)
    parser.add_argument("--memory-bytes", metavar="Z", type=positive_number)
    parser.add_argument(
        "--context", metavar="N", type=whole_number(1, MAX_CONTEXT), required=True,
        help="attended tokens, the new one included",
    )  # fmt: skip
    parser.add_argument(
        "--batch", metavar="B", type=whole_number(1, MAX_BATCH), required=True,
        help="sequences that decode together",
    )  # fmt: skip
    names = f"as published, or {', '.join(DTYPE_NAMES)}"
    parser.add_argument("--weight-dtype", metavar="D", type=_dtype, help=names)
    parser.add_argument("--kv-dtype", metavar="D", type=_dtype, help="the model's own, or as above")
    parser.add_argument(
        "--block-size", metavar="T", type=whole_number(1, 10**6), default=DEFAULT_BLOCK_SIZE,
        help="tokens per block of the allocator",
    )  # fmt: skip
    parser.add_argument(
        "--reserve-bytes", metavar="R", type=whole_number(0, 10**15), default=0,
        help="memory kept free for other things",
    )  # fmt: skip


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Return the cost of one decode step as JSON fields, with the formula of each."""
    result = plan(
        PlanRequest(
            model=find_model(args.model) if args.model is not None else _read(args.config),
            context=args.context,
            batch=args.batch,
            accelerator=_accelerator(args),
            weight_dtype=args.weight_dtype,
            kv_dtype=args.kv_dtype,
            block_size=args.block_size,
            reserve_bytes=args.reserve_bytes,
        )
    )
    fields: dict[str, Any] = {key: getattr(result, key) for key in KEYS}
    fields["formulas"] = {
        name: formula.text for name, formula in result.formulas.items() if name in KEYS
    }
    return envelope(fields, notes=[*_assumptions(args, result), *result.notes])


def summary(result: Mapping[str, Any]) -> str:
    """Return one line per figure with its formula, then the notes."""
    lines = []
    for key in KEYS:
        formula = result["formulas"].get(key)
        value = result[key]
        shown = "not known" if value is None else value if isinstance(value, str) else None
        lines.append(f"{key}: {shown or formula or number_text(value)}")
    return "\n".join([*lines, *(f"note: {note}" for note in result["notes"])])


def _read(path: Path) -> ModelSpec:
    """Read a config file, refusing one that is too large before it is loaded."""
    size = path.stat().st_size
    if size > MAX_CONFIG_BYTES:
        raise ConfigError(
            f"{path.name} has {size:,} bytes; a config.json has at most {MAX_CONFIG_BYTES:,} here"
        )
    return parse_config_text(path.read_bytes())


def _accelerator(args: argparse.Namespace) -> AcceleratorSpec | None:
    typed = {
        "--bandwidth-bytes-per-s": args.bandwidth_bytes_per_s,
        "--flops-per-s": args.flops_per_s,
        "--memory-bytes": args.memory_bytes,
    }
    given = [flag for flag, value in typed.items() if value is not None]
    if args.accelerator is not None:
        if given:
            raise ValueError(f"--accelerator and {given[0]} exclude each other")
        return find_accelerator(args.accelerator)
    if not given:
        return None
    missing = [flag for flag in ("--bandwidth-bytes-per-s", "--flops-per-s") if typed[flag] is None]
    if missing:
        raise ValueError(f"{given[0]} also needs {' and '.join(missing)}")
    memory = args.memory_bytes
    return AcceleratorSpec(
        "typed in",
        bandwidth_bytes_per_s=args.bandwidth_bytes_per_s,
        flops_per_s=args.flops_per_s,
        memory_bytes=None if memory is None else int(memory),
    )


def _assumptions(args: argparse.Namespace, result: PlanResult) -> list[str]:
    notes = [f"Allocated in blocks of {args.block_size} tokens without rolling buffers."]
    if result.weight_bytes_stored is not None and args.weight_dtype is None:
        notes.append("No weight dtype was chosen: weights count as published.")
    if result.itl_floor_s is not None:
        notes.append("Times are floors at the stated bandwidth and dense FLOP/s, not forecasts.")
    elif result.weight_bytes_stored is not None:
        notes.append("Without an accelerator there are no times.")
    return notes


def _dtype(text: str) -> str:
    try:
        return number_format(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
