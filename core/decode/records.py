"""The record of one run, in numpy only: pages can read and draw it before torch has loaded.

A run is a prefill of P tokens (step 0) and N cached decode steps. Step s >= 1 processes the
token at position P + s - 1 and adds exactly that row, so a run has P + N rows and lists
P + N + 1 tokens: the last one is chosen but not processed.

Rows are packed: row r of the lower triangle has r + 1 entries and starts at r (r + 1) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.config import ModelConfig
from core.decode.settings import SamplingSettings

Floats = NDArray[np.float32]
StopReason = Literal["steps", "end", "context"]
Source = Literal["prompt", "generated"]


def row_start(row: int) -> int:
    """Return where row ``row`` starts in a packed triangle; also the size of ``row`` rows.

    >>> [row_start(r) for r in range(5)]
    [0, 1, 3, 6, 10]
    """
    return row * (row + 1) // 2


@dataclass(frozen=True)
class TokenRecord:
    """One token of a run, with its bytes and the label that the pages show.

    ``text`` is what the token alone reads as; ``label`` is the same made visible (a leading
    space as a middle dot, incomplete bytes in hex). ``piece`` is empty for a special token.
    """

    position: int
    id: int
    piece: bytes
    text: str
    label: str
    source: Source


@dataclass(frozen=True)
class TopToken:
    """One of the likeliest next tokens, with the model's own probability (temperature 1)."""

    id: int
    label: str
    text: str
    logit: float
    prob: float


@dataclass(frozen=True)
class StepShapes:
    """Shapes in one step, of one head in one layer, read off the tensors that ran.

    Shapes: q (T, d), k and v (S, d), scores and weights (T, S), output (T, d)
    """

    q: tuple[int, ...]
    k: tuple[int, ...]
    scores: tuple[int, ...]
    weights: tuple[int, ...]
    v: tuple[int, ...]
    output: tuple[int, ...]


@dataclass(frozen=True)
class StepCounts:
    """Work counted by the running code in one step, for one head in one layer.

    ``scores_executed`` is what the product computed, ``scores_kept`` what the mask left;
    ``kv_projections`` is how many tokens had their key and value computed.
    """

    scores_kept: int
    scores_executed: int
    kv_projections: int

    def __add__(self, other: StepCounts) -> StepCounts:
        return StepCounts(
            self.scores_kept + other.scores_kept,
            self.scores_executed + other.scores_executed,
            self.kv_projections + other.kv_projections,
        )


@dataclass(frozen=True)
class StepRecord:
    """One forward pass of a run: the prefill (index 0) or one cached decode step.

    ``position`` and ``input_id`` are those of the last token processed; ``chosen_id`` is what
    it selects for ``position + 1``. Cache bytes are counted after the append.

    Units: ``elapsed_s`` in seconds, model and choice only; bytes at the run's dtype
    """

    index: int
    position: int
    input_id: int
    n_new: int
    context_len: int
    shapes: StepShapes
    counts: StepCounts
    logits_top: tuple[TopToken, ...]
    chosen_id: int
    chosen_prob: float
    kv_bytes_in_use: int
    kv_bytes_allocated: int
    elapsed_s: float


@dataclass(frozen=True)
class RunTrace:
    """Everything that the pages show of one run.

    ``attn_dots`` holds q.k before scaling, ``attn_weights`` the softmax rows, both packed.
    ``steps[0]`` is the prefill. ``stop_reason`` is "steps" where the run could go on.
    ``recorded`` says that the run was read from a file.

    Shapes: attn_dots and attn_weights (L, H, n_rows (n_rows + 1) / 2),
        keys and values (L, K, n_rows, d)
    """

    config: ModelConfig
    model_sha256: str
    dtype: str
    weight_bytes: int
    sampling: SamplingSettings
    prompt: str
    tokens: tuple[TokenRecord, ...]
    n_prompt: int
    steps: tuple[StepRecord, ...]
    attn_dots: Floats = field(repr=False)
    attn_weights: Floats = field(repr=False)
    keys: Floats = field(repr=False)
    values: Floats = field(repr=False)
    stop_reason: StopReason
    notes: tuple[str, ...] = ()
    head_off: tuple[int, int] | None = None
    recorded: bool = False

    @property
    def n_rows(self) -> int:
        """Rows of the triangle, P + N: one for every processed token."""
        return len(self.tokens) - 1

    @property
    def n_steps(self) -> int:
        """Cached decode steps N, without the prefill."""
        return len(self.steps) - 1

    @property
    def ids(self) -> tuple[int, ...]:
        """The token ids, P + N + 1 of them."""
        return tuple(token.id for token in self.tokens)

    @property
    def scale(self) -> float:
        """The factor 1 / sqrt(d) between q.k and the scaled score."""
        return float(self.config.head_dim**-0.5)

    def rows_after(self, step: int) -> int:
        """Rows that exist once ``step`` has run: P for the prefill, one more per step."""
        return self.n_prompt + step

    def dots_row(self, layer: int, head: int, row: int) -> Floats:
        """Row ``row`` of q.k before scaling: row + 1 numbers."""
        return self.attn_dots[layer, head, row_start(row) : row_start(row + 1)]

    def weights_row(self, layer: int, head: int, row: int) -> Floats:
        """Row ``row`` of attention weights: row + 1 numbers that sum to 1."""
        return self.attn_weights[layer, head, row_start(row) : row_start(row + 1)]

    def counts_until(self, step: int) -> StepCounts:
        """The counted work of all steps up to and including ``step``, prefill first."""
        total = StepCounts(0, 0, 0)
        for record in self.steps[: step + 1]:
            total = total + record.counts
        return total

    def generated_ids(self) -> tuple[int, ...]:
        """The ids after the prompt: N + 1, the last one not processed."""
        return self.ids[self.n_prompt :]
