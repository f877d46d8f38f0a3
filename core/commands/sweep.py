"""``sweep``: rows through one weight matrix, column by column, counted and compared."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.commands.common import envelope, whole_number
from core.config import STORYTELLER
from core.cost.dtypes import DEFAULT_GROUP_SIZE
from core.decode.sweep_settings import DTYPES, MAX_ROWS
from core.decode.trace_file import DEFAULT_PROMPT

if TYPE_CHECKING:
    from core.decode.sweep import SweepResult
    from core.model.quantization import StoredMatrix


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of ``sweep``."""
    parser.add_argument("--matrix", required=True, choices=tuple(STORYTELLER.matrices()))
    parser.add_argument(
        "--layer", type=whole_number(0), metavar="I", help="0 where not given; lm_head takes none"
    )
    parser.add_argument("--rows", type=whole_number(1, MAX_ROWS), default=1, metavar="R")
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument(
        "--group-size",
        type=whole_number(1),
        default=DEFAULT_GROUP_SIZE,
        metavar="G",
        help="weights along d_in that share a scale, int4 only",
    )
    parser.add_argument("--prompt", default=DEFAULT_PROMPT, metavar="TEXT")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Sweep the matrix and return sizes, counted work, intensities and errors.

    Raises: ValueError for a layer out of range, a group that does not divide the row, or an
        empty prompt.
    """
    import torch

    from core.decode.sweep import run_sweep
    from core.decode.sweep_rows import activation_rows
    from core.model.checkpoint import load_model
    from core.model.quantization import store

    torch.set_num_threads(1)
    layer = 0 if args.layer is None and args.matrix != "lm_head" else args.layer
    model = load_model()
    weight = model.transformer.weights.matrix(args.matrix, layer)
    stored = store(weight, args.dtype, args.group_size)
    prompt = model.tokenizer.encode_prompt(args.prompt, model.config.max_seq_len)
    x = activation_rows(model.transformer, prompt.ids, args.matrix, layer, args.rows)
    result = run_sweep(x, weight, stored)
    return envelope(
        sweep_object(result, stored),
        notes=[*prompt.notes, *sweep_notes(args.dtype, args.rows, len(prompt.ids))],
        model_sha256=model.model_sha256,
    )


def sweep_object(result: SweepResult, stored: StoredMatrix) -> dict[str, Any]:
    """Return a sweep as plain numbers with their units in the names, without the envelope."""
    cost = result.cost
    return {
        "d_in": stored.d_in,
        "d_out": stored.d_out,
        "rows": result.output.shape[0],
        "weight_bytes": cost.weight_bytes,
        "activation_bytes": cost.activation_bytes,
        "flops": cost.flops,
        "intensity_weights_only": cost.intensity_weights_only,
        "intensity": cost.intensity,
        "max_abs_error_vs_matmul": result.max_abs_error_vs_matmul,
        "max_abs_error_vs_float32": result.max_abs_error_vs_float32,
    }


def summary(result: Mapping[str, Any]) -> str:
    """Return what was read, computed and found in a few lines."""
    rows, read = result["rows"], result["weight_bytes"]
    lines = [
        f"{rows} {'row' if rows == 1 else 'rows'} through a {result['d_in']} x {result['d_out']} "
        f"matrix: {read:,} B of weights read once (counted)",
        f"{result['flops']:,} FLOPs, {result['intensity_weights_only']:.4g} per byte of weights, "
        f"{result['intensity']:.4g} with {result['activation_bytes']:,} B of activations (counted)",
        f"largest difference from torch's product {result['max_abs_error_vs_matmul']:.1e}, from "
        f"that of the weights as they were {result['max_abs_error_vs_float32']:.1e} (measured)",
    ]
    return "\n".join([*lines, *result["notes"]])


def sweep_notes(dtype: str, rows: int, n_own: int) -> list[str]:
    """Return what a reader has to know about the rows and the arithmetic, in sentences."""
    notes = []
    if dtype != "float32":
        notes.append(
            "Only the weights are stored in fewer bits; the product runs in float32, and "
            "activations are counted at 16 bit."
        )
    if rows > n_own:
        notes.append(
            f"The prompt has {n_own} tokens with the start token; the other {rows - n_own} rows "
            "are activations of further stories that the model told itself."
        )
    return notes
