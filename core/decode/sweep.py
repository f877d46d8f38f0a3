"""One sweep of a weight matrix, column by column, with the work counted by the loop that runs.

Column j of W gives output j. A column is read once, whatever the number of rows: the same
sweep carries one row (decode), a batch, the tokens of a speculative verification or a prefill.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from core.cost.accounting import OpCost
from core.cost.dtypes import activation_dtype_for, number_format
from core.model.quantization import StoredMatrix

UNIT_ROUNDOFF = 2.0**-24
"""Half the distance from 1 to the next float32."""


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
    ``rounding_bound``: how far two orders of adding the same products may be apart.

    Shapes: output (R, d_out), vs_matmul and vs_float32 (R,)
    """

    output: Tensor
    counts: SweepCounts
    dtype: str
    vs_matmul: Tensor
    vs_float32: Tensor
    rounding_bound: float

    @property
    def is_torchs_product(self) -> bool:
        """Whether rounding alone can explain every difference from torch's product."""
        return self.max_abs_error_vs_matmul <= self.rounding_bound

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
    weights = stored.dequantize()
    same = F.linear(rows, weights)
    exact = F.linear(rows, weight.float().contiguous())
    return SweepResult(
        output=output,
        counts=counts,
        dtype=stored.dtype,
        vs_matmul=(output - same).abs().amax(-1),
        vs_float32=(output - exact).abs().amax(-1),
        rounding_bound=rounding_bound(rows, weights),
    )


def rounding_bound(x: Tensor, weight: Tensor) -> float:
    """Return how far apart two float32 sums of the same d_in products can be by rounding.

    Each is within gamma = d_in u / (1 - d_in u) of the exact sum, times the sum of |x| |w|.

    Shapes: x (R, d_in), weight (d_out, d_in)
    Source: Higham, Accuracy and Stability of Numerical Algorithms, section 3.1

    >>> f"{rounding_bound(torch.ones(1, 128), torch.ones(1, 128)):.2e}"
    '1.95e-03'
    """
    error = x.shape[1] * UNIT_ROUNDOFF
    return 2 * error / (1 - error) * float((x.abs() @ weight.abs().T).max())
