"""What the weight sweep sends to the browser: one matrix in every precision, swept and compared.

Everything is computed here, once for a matrix and a token: the rows that enter, the outputs of
the column-by-column product, its counts, its distance from torch's own product, and the colour
levels of a picture of at most 32 by 96 cells. The browser draws, and multiplies whole counts.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.cost.accounting import matmul_cost
from core.cost.dtypes import activation_dtype_for, number_format
from core.decode.records import RunTrace
from core.decode.sweep_levels import Blocks, blocks_for, full_colour_at, levels, strongest
from core.decode.sweep_settings import DTYPES, MAX_ROWS, PRESETS
from pages.ui import units

if TYPE_CHECKING:
    from core.decode.sweep import SweepResult
    from core.model.checkpoint import LoadedModel
    from core.model.quantization import StoredMatrix

FORMAT = 1
Floats = NDArray[np.float32]

MATRIX_LABELS = {
    "q": "Q projection", "k": "K projection", "v": "V projection", "o": "Attention output",
    "gate": "MLP gate", "up": "MLP up", "down": "MLP down", "lm_head": "Output head",
}  # fmt: skip
FULL_SHARE = {"weights": 0.995, "rows": 0.97}
"""Which share of the numbers lies below full colour: weights, and rows in and out."""


@dataclass(frozen=True)
class SweepKey:
    """What a payload is made from; equal keys give equal payloads."""

    run: str
    matrix: str
    layer: int | None
    position: int
    group_size: int

    def __str__(self) -> str:
        where = "head" if self.layer is None else self.layer
        return f"{self.run}:sweep:{self.matrix}:{where}:{self.position}:{self.group_size}"


def drawn_rows() -> list[int]:
    """Return the rows that can be drawn: the first 64, then every fourth.

    >>> len(drawn_rows()), drawn_rows()[62:66]
    (176, [62, 63, 64, 68])
    """
    return [*range(64), *range(64, MAX_ROWS, 4)]


def sweep_payload(model: LoadedModel, trace: RunTrace, key: SweepKey) -> dict[str, Any]:
    """Sweep a matrix in every precision and return what the browser draws.

    Raises: ValueError for a matrix or layer that the model lacks, or a group that does not
        divide the row
    """
    from core.decode.sweep import run_sweep
    from core.decode.sweep_rows import activation_rows
    from core.model.quantization import store

    transformer = model.transformer
    weight = transformer.weights.matrix(key.matrix, key.layer)
    stored = {dtype: store(weight, dtype, key.group_size) for dtype in DTYPES}
    ids = trace.ids[: key.position + 1]
    x = activation_rows(transformer, ids, key.matrix, key.layer, MAX_ROWS)
    results = {dtype: run_sweep(x, weight, stored[dtype]) for dtype in DTYPES}
    d_out, d_in = weight.shape
    blocks = blocks_for(d_in, d_out)
    exact = stored["float32"].dequantize().numpy()
    full = {
        "w": full_colour_at(strongest(exact, blocks.along_in, 1), FULL_SHARE["weights"]),
        "x": full_colour_at(x.numpy(), FULL_SHARE["rows"]),
        "y": full_colour_at(results["float32"].output.numpy(), FULL_SHARE["rows"]),
    }
    rows = strongest(x.numpy()[drawn_rows()], blocks.along_in, 1)
    return {
        "format": FORMAT,
        "d_in": d_in,
        "d_out": d_out,
        "max_rows": MAX_ROWS,
        "own_rows": min(len(ids), MAX_ROWS),
        "blocks": {"along_in": blocks.along_in, "along_out": blocks.along_out},
        "drawn_rows": drawn_rows(),
        "x": _packed(x[0].numpy()),
        "x_levels": _packed(levels(rows, full["x"])),
        "dtypes": {
            dtype: _precision(stored[dtype], results[dtype], blocks, full) for dtype in DTYPES
        },
        "presets": [[preset.name, preset.rows, preset.what] for preset in PRESETS],
        "words": _words(trace, key, d_in, d_out, blocks, full),
    }


def _precision(
    stored: StoredMatrix, result: SweepResult, blocks: Blocks, full: dict[str, float]
) -> dict[str, Any]:
    """One precision: how the weights lie in memory, what came out, counted work, error."""
    dtype = stored.dtype
    fmt = number_format(dtype, stored.group_size)
    ideal = matmul_cost(stored.d_in, stored.d_out, 1, fmt, count_scales=False)
    formula = matmul_cost(stored.d_in, stored.d_out, MAX_ROWS, fmt)
    grid = strongest(stored.dequantize().numpy(), blocks.along_in, 1)
    grid = strongest(grid, blocks.along_out, 0)
    outputs = result.output.numpy()
    drawn = strongest(outputs[drawn_rows()], blocks.along_out, 1)
    return {
        **_stored_numbers(stored),
        "grid": _packed(levels(grid.T, full["w"])),
        "outputs": _packed(outputs[0]),
        "out_levels": _packed(levels(drawn, full["y"])),
        "column_bytes": stored.column_bytes,
        "activation_width": number_format(activation_dtype_for(dtype)).value_bits // 8,
        "weight_bytes": formula.weight_bytes,
        "closed_form_holds": result.cost == replace(formula, name=result.cost.name),
        "is_torchs_product": result.is_torchs_product,
        "ideal_intensity": ideal.intensity_weights_only,
        "bits_short": f"{_bits_a_weight(stored)} bits a weight",
        "bits_text": _bits_text(stored),
        "errors": _errors(result),
    }


def _stored_numbers(stored: StoredMatrix) -> dict[str, Any]:
    """The weights for reading single ones: as halves, upper halves of float32, or whole numbers."""
    if stored.scales is not None:
        return {
            "encoding": stored.dtype,
            "weights": _packed(stored.values.numpy()),
            "scales": _packed(stored.scales.numpy()),
            "n_groups": stored.scales.shape[1],
        }
    values = stored.dequantize().numpy()
    halves = values.astype(np.float16)
    if np.array_equal(halves.astype(np.float32), values):
        return {"encoding": "half", "weights": _packed(halves)}
    upper = (values.view(np.uint32) >> 16).astype(np.uint16)
    if np.array_equal((upper.astype(np.uint32) << 16).view(np.float32), values):
        return {"encoding": "bfloat", "weights": _packed(upper)}
    return {"encoding": "single", "weights": _packed(values)}


def _errors(result: SweepResult) -> list[list[Any]]:
    """Largest difference over the first R rows, listed where it changes: [R, text, text]."""
    running = [np.maximum.accumulate(row.numpy()) for row in (result.vs_matmul, result.vs_float32)]
    found: list[list[Any]] = []
    for index, (same, exact) in enumerate(zip(*running, strict=True)):
        texts = [units.difference(float(same)), units.difference(float(exact))]
        if not found or found[-1][1:] != texts:
            found.append([index + 1, *texts])
    return found


def _bits_a_weight(stored: StoredMatrix) -> str:
    return units.number(8 * stored.n_bytes / (stored.d_in * stored.d_out))


def _bits_text(stored: StoredMatrix) -> str:
    bits = _bits_a_weight(stored)
    if stored.scales is None:
        return f"{bits} bits a weight"
    sharing = "an output" if stored.dtype == "int8" else f"{stored.group_size} weights"
    return f"{bits} bits a weight with a float16 scale for {sharing}"


def _words(
    trace: RunTrace,
    key: SweepKey,
    d_in: int,
    d_out: int,
    blocks: Blocks,
    full: dict[str, float],
) -> dict[str, Any]:
    token = trace.tokens[key.position].label
    where = "" if key.layer is None else f", layer {key.layer}"
    scales = {name: units.number(value, 2) for name, value in full.items()}
    cell = f"{blocks.along_in} × {blocks.along_out}"
    return {
        "matrix": f"{MATRIX_LABELS[key.matrix]}{where}",
        "token": f"“{token}” at position {key.position}",
        "drawn": f"One cell is drawn for {cell} weights, the strongest of them; full colour stands "
        f"for ±{scales['x']} in x, ±{scales['w']} in W and ±{scales['y']} in the output.",
        "legend": scales,
        "start": f"{units.count(d_out)} columns of {units.count(d_in)} weights, one output each. "
        "Nothing has been read yet.",
        "column": {
            "one": f"Column {{column}}: {d_in} weights read, {d_in} multiply-adds, one output. "
            "More rows need no more reading.",
            "many": f"Column {{column}}: {d_in} weights read once for {{rows}} rows, {{macs}} "
            "multiply-adds.",
        },
        "end": f"All {units.count(d_out)} columns: {{bytes}} B of weights read once, {{flops}} "
        "FLOPs: {intensity} per byte.",
        "rows_rule": f"Rows must be a whole number from 1 to {MAX_ROWS}; the last picture stays.",
        "further": f"Row 0 is {{token}}; rows above {min(key.position + 1, MAX_ROWS) - 1} are "
        "activations of further stories that the model told itself.",
        "sampled": "Above 64 rows, every fourth is drawn.",
        "last": "That was the last column; ⟲ starts again.",
        "label": "{matrix}: the row x, the weights W and the outputs. Arrow keys move through "
        "single weights, Escape leaves.",
        "compare_later": "After the last column: compared with torch’s own product.",
        "equal": "Equals torch’s product",
        "unequal": "Differs from torch’s product, or the counts from the closed form",
        "why_equal": f"All {MAX_ROWS} rows were multiplied column by column and by torch.nn."
        "functional.linear with the same stored weights; the largest difference over the rows "
        "shown stands here, and rounding alone explains it. Bytes and FLOPs counted by the loop "
        "equal the closed form.",
        "difference": "largest difference {same} · counts end on the closed form",
        "difference_stored": "largest difference {same}, {exact} from unstored weights · counts "
        "end on the closed form",
    }


def _packed(array: NDArray[Any]) -> str:
    """An array's bytes, little-endian, as base64."""
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(little.tobytes()).decode()
