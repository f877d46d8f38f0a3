"""One sweep of a weight matrix, column by column, with the work counted by the loop that runs.

Column j of W gives output j. A column is read once, whatever the number of rows: the same
sweep carries one row (decode), a batch, the tokens of a speculative verification or a prefill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from core.cost.accounting import OpCost
from core.cost.checks import whole
from core.cost.dtypes import activation_dtype_for, number_format
from core.decode.sampling import choose, new_generator
from core.decode.settings import SamplingSettings
from core.decode.sweep_settings import MAX_ROWS
from core.model.quantization import StoredMatrix
from core.model.transformer import ForwardResult, Transformer

_INPUTS = {
    "q": "qkv", "k": "qkv", "v": "qkv", "o": "o", "gate": "gate_up", "up": "gate_up",
    "down": "down",
}  # fmt: skip
"""Matrix -> the product it is part of, whose input rows the model records."""

_STORIES_AT_ONCE = 4
_STORY_LENGTH = 192


@dataclass
class SweepCounts:
    """Work counted while a sweep runs; a column adds its own share when it is read."""

    columns: int = 0
    weights_read: int = 0
    weight_bytes: int = 0
    multiply_adds: int = 0
    activations_read: int = 0
    activations_written: int = 0

    @property
    def flops(self) -> int:
        """Floating-point operations: one multiply and one add each."""
        return 2 * self.multiply_adds

    def cost(self, dtype: str) -> OpCost:
        """Return the counts as a row of the one accounting; ``dtype`` is that of the weights."""
        width = number_format(activation_dtype_for(dtype)).value_bits // 8
        return OpCost(
            "sweep",
            macs=self.multiply_adds,
            weight_bytes=self.weight_bytes,
            activation_read_bytes=self.activations_read * width,
            activation_write_bytes=self.activations_written * width,
        )


@dataclass(frozen=True)
class SweepResult:
    """What a sweep gave, what it cost, and how far it is from torch's own product.

    ``vs_matmul``: against torch's product of the same stored weights; ``vs_float32``: against
    the product of the weights before they were stored. Both per row, the largest difference.

    Shapes: output (R, d_out), vs_matmul and vs_float32 (R,)
    """

    output: Tensor
    counts: SweepCounts
    dtype: str
    vs_matmul: Tensor
    vs_float32: Tensor

    @property
    def cost(self) -> OpCost:
        """The counted work as a row of the one accounting."""
        return self.counts.cost(self.dtype)

    @property
    def max_abs_error_vs_matmul(self) -> float:
        """Largest difference from torch's product with the same weights."""
        return float(self.vs_matmul.max())

    @property
    def max_abs_error_vs_float32(self) -> float:
        """Largest difference from torch's product with the weights as they were."""
        return float(self.vs_float32.max())


def sweep_columns(x: Tensor, stored: StoredMatrix, counts: SweepCounts) -> Iterator[Tensor]:
    """Yield output after output: column j is read once and met by every row.

    Shapes: x (R, d_in) -> d_out times (R,)
    """
    counts.activations_read += x.numel()
    for index in range(stored.d_out):
        column = stored.column(index)  # (d_in,)
        output = x @ column
        counts.columns += 1
        counts.weights_read += column.numel()
        counts.weight_bytes += stored.column_bytes
        counts.multiply_adds += x.shape[0] * column.numel()
        counts.activations_written += output.numel()
        yield output


@torch.inference_mode()
def run_sweep(x: Tensor, weight: Tensor, stored: StoredMatrix) -> SweepResult:
    """Sweep all columns and compare with torch's products, in float32.

    Shapes: x (R, d_in), weight (d_out, d_in) as it was before it was stored
    Raises: ValueError if the rows do not fit the matrix
    """
    if x.ndim != 2 or x.shape[0] < 1 or x.shape[1] != stored.d_in:
        raise ValueError(f"x must have shape (R, {stored.d_in}), got {tuple(x.shape)}")
    rows = x.float()
    counts = SweepCounts()
    output = torch.stack(list(sweep_columns(rows, stored, counts)), -1)
    same = F.linear(rows, stored.dequantize())
    exact = F.linear(rows, weight.float().contiguous())
    return SweepResult(
        output=output,
        counts=counts,
        dtype=stored.dtype,
        vs_matmul=(output - same).abs().amax(-1),
        vs_float32=(output - exact).abs().amax(-1),
    )


@torch.inference_mode()
def entering(
    model: Transformer, ids: Sequence[int], matrix: str, layer: int | None = None
) -> Tensor:
    """Return the rows that enter a matrix when these tokens are processed, one per token.

    Shapes: -> (T, d_in)
    Raises: ValueError for a matrix or layer that the model lacks, or too many tokens
    """
    model.weights.matrix(matrix, layer)
    tokens = torch.tensor([list(ids)], device=model.device)
    result = model.prefill(tokens, model.new_cache(), record=True)
    return _rows_of(result, matrix, layer)


def activation_rows(
    model: Transformer, ids: Sequence[int], matrix: str, layer: int | None, n_rows: int
) -> Tensor:
    """Return R real activations: of the last token first, then of the ones before it.

    Rows beyond the run's own tokens are those of further stories, told by the model itself.

    Shapes: -> (R, d_in)
    Raises: ValueError for rows out of range, or a matrix or layer that the model lacks
    """
    n_rows = whole("rows", n_rows, 1, MAX_ROWS)
    own = entering(model, ids, matrix, layer).flip(0)[:n_rows]
    if own.shape[0] == n_rows:
        return own
    return torch.cat((own, story_rows(model, matrix, layer)))[:n_rows]


def story_rows(model: Transformer, matrix: str, layer: int | None = None) -> Tensor:
    """Return at least :data:`MAX_ROWS` activations of stories that the model tells itself.

    Shapes: -> (at least MAX_ROWS, d_in)
    """
    rows = [entering(model, ids, matrix, layer) for ids in further_stories(model, MAX_ROWS)]
    return torch.cat(rows)


@lru_cache(maxsize=2)
def further_stories(model: Transformer, n_tokens: int) -> tuple[tuple[int, ...], ...]:
    """Return stories of together at least ``n_tokens`` tokens, told from the start token alone.

    Several are decoded at once, each until its end token; the same model tells the same ones,
    so they are told once.
    """
    config = model.config
    length = min(_STORY_LENGTH, config.max_seq_len)
    stories: list[tuple[int, ...]] = []
    while sum(len(story) for story in stories) < n_tokens:
        for story in _tell(model, first_seed=len(stories), length=length):
            end = story.index(config.end_id) if config.end_id in story else length
            stories.append(tuple(story[:end]))
    return tuple(stories)


def _tell(model: Transformer, first_seed: int, length: int) -> list[list[int]]:
    """Decode a batch of sampled stories, every one to the same length."""
    settings = [
        SamplingSettings(temperature=0.8, seed=first_seed + n) for n in range(_STORIES_AT_ONCE)
    ]
    generators = [new_generator(one) for one in settings]
    told = [[model.config.bos_id] for _ in settings]
    cache = model.new_cache(_STORIES_AT_ONCE, length)
    for _ in range(length - 1):
        last = torch.tensor([[story[-1]] for story in told], device=model.device)
        logits = model.decode_step(last, cache).logits[:, -1]
        for row, story in enumerate(told):
            story.append(choose(logits[row], settings[row], generators[row]))
    return told


def _rows_of(result: ForwardResult, matrix: str, layer: int | None) -> Tensor:
    if layer is None:
        return result.final_hidden[0]
    return result.layers[layer].inputs[_INPUTS[matrix]][0]
