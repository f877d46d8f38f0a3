"""Large matrices made small enough to draw: one cell for a block, and signed levels for colours.

Only for drawing: no number that is shown comes from here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FULL = 127
"""The level of full colour; its negative is full colour on the other side of 0."""
MAX_CELLS_IN = 32
MAX_CELLS_OUT = 96


@dataclass(frozen=True)
class Blocks:
    """How many weights one drawn cell stands for, along d_in and along d_out."""

    along_in: int
    along_out: int


def blocks_for(d_in: int, d_out: int) -> Blocks:
    """Return the smallest blocks that keep a picture within its most cells.

    >>> blocks_for(128, 352), blocks_for(352, 128)
    (Blocks(along_in=4, along_out=4), Blocks(along_in=11, along_out=2))
    """
    return Blocks(-(-d_in // MAX_CELLS_IN), -(-d_out // MAX_CELLS_OUT))


def strongest(values: NDArray[np.float32], block: int, axis: int) -> NDArray[np.float32]:
    """Return, for each block along an axis, its value of largest size, with its sign.

    >>> strongest(np.array([[1.0, -3.0, 2.0, 0.5, -0.25]], np.float32), 2, 1).tolist()
    [[-3.0, 2.0, -0.25]]
    """
    length = values.shape[axis]
    padding = [(0, 0)] * values.ndim
    padding[axis] = (0, -length % block)
    padded = np.moveaxis(np.pad(values, padding), axis, -1)
    grouped = padded.reshape(*padded.shape[:-1], -1, block)
    index = np.abs(grouped).argmax(-1)[..., None]
    picked: NDArray[np.float32] = np.take_along_axis(grouped, index, -1)[..., 0]
    return np.moveaxis(picked, -1, axis)


def full_colour_at(values: NDArray[np.float32], share: float = 0.99) -> float:
    """Return the size that gets full colour: all but a few of the largest are below it.

    >>> full_colour_at(np.array([0.0, 1.0, -2.0, 100.0], np.float32), 0.5)
    1.5
    """
    found = float(np.quantile(np.abs(values), share))
    return found or float(np.abs(values).max()) or 1.0


def levels(values: NDArray[np.float32], full: float) -> NDArray[np.int8]:
    """Return signed colour levels, linear up to ``full`` and full beyond it.

    >>> levels(np.array([0.0, 0.5, -1.0, 9.0], np.float32), 1.0).tolist()
    [0, 64, -127, 127]
    """
    clipped: NDArray[np.int8] = np.rint(np.clip(values / full, -1.0, 1.0) * FULL).astype(np.int8)
    return clipped
