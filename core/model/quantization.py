"""Weights in fewer bits: int8 per output channel, int4 per group along d_in, float16 scales.

Symmetric: a weight w is stored as the whole number q nearest to w / scale, and read back as
q * scale; the scale is the largest |w| that shares it over 127 (int8) or 7 (int4). Plain 16-bit
and 32-bit storage goes through the same record, so that every precision is swept alike.
Source: Dettmers et al. 2022 (vector-wise int8), Frantar et al. 2023 (groups of 4-bit weights).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from core.cost.dtypes import DEFAULT_GROUP_SIZE
from core.model.weights import LayerWeights, Weights

LARGEST = {"int8": 127, "int4": 7}
"""The largest stored whole number of each quantised format; the smallest is its negative."""

PLAIN = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
WEIGHT_DTYPES = (*PLAIN, *LARGEST)
"""The precisions in which :func:`store` really stores a matrix."""

_MATRICES = ("q", "k", "v", "o", "gate", "up", "down")
_PARTS = ("attn_norm", "mlp_norm", *_MATRICES)


@dataclass(frozen=True)
class StoredMatrix:
    """A weight matrix as it lies in memory, read one output channel (column of W) at a time.

    ``values``: the numbers themselves, or whole numbers in int8, or two of 4 bits to a byte.
    ``scales``: None for plain storage.

    Shapes: values (d_out, d_in), for int4 (d_out, d_in / 2) bytes; scales (d_out, n_groups)
    """

    dtype: str
    d_in: int
    d_out: int
    values: Tensor
    scales: Tensor | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes of the tensors that hold it, scales included."""
        return sum(t.numel() * t.element_size() for t in self._tensors())

    @property
    def column_bytes(self) -> int:
        """Bytes read for one output: that channel's weights and scales."""
        return sum(t[0].numel() * t.element_size() for t in self._tensors())

    @property
    def group_size(self) -> int | None:
        """Weights that share a scale, d_in for int8, None for plain storage."""
        return None if self.scales is None else self.d_in // self.scales.shape[1]

    @cached_property
    def whole_numbers(self) -> Tensor:
        """The stored whole numbers, unpacked, one to an int8.

        Shapes: (d_out, d_in)
        Raises: ValueError for plain storage, which has none
        """
        if self.dtype == "int8":
            return self.values
        if self.dtype != "int4":
            raise ValueError(f"only {', '.join(LARGEST)} hold whole numbers, got {self.dtype}")
        return _unpacked(self.values)

    def column(self, index: int) -> Tensor:
        """Read one column of W back as float32.

        Shapes: -> (d_in,)
        """
        if self.scales is None:
            return self.values[index].float()
        packed = self.values[index]
        whole = packed if self.dtype == "int8" else _unpacked(packed[None])[0]
        scales = self.scales[index].float()[:, None]
        return (whole.float().view(scales.shape[0], -1) * scales).flatten()

    def dequantize(self) -> Tensor:
        """Read the whole matrix back as float32.

        Shapes: -> (d_out, d_in)
        """
        if self.scales is None:
            return self.values.float()
        grouped = self.whole_numbers.float().view(self.d_out, self.scales.shape[1], -1)
        return (grouped * self.scales.float()[..., None]).view(self.d_out, self.d_in)

    def _tensors(self) -> tuple[Tensor, ...]:
        return (self.values,) if self.scales is None else (self.values, self.scales)


@dataclass(frozen=True)
class StorageError:
    """How far stored weights are from the ones they were made from."""

    max_abs: float
    root_mean_square: float
    relative: float  # |stored - weight| / |weight|, both as Frobenius norms


def store(weight: Tensor, dtype: str, group_size: int = DEFAULT_GROUP_SIZE) -> StoredMatrix:
    """Store a matrix in one of :data:`WEIGHT_DTYPES`; ``group_size`` is for int4 only.

    Shapes: weight (d_out, d_in)
    Raises: ValueError for another dtype, a group that does not divide d_in, or weights that are
        not finite

    >>> stored = store(torch.tensor([[0.5, -1.0], [0.25, 0.0]]), "int8")
    >>> stored.values.tolist(), stored.n_bytes
    ([[64, -127], [127, 0]], 8)
    """
    if dtype not in WEIGHT_DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(WEIGHT_DTYPES)}, got {dtype!r}")
    d_out, d_in = weight.shape
    weight = weight.contiguous()  # a model may lay its weights out by columns
    if dtype in PLAIN:
        return StoredMatrix(dtype, d_in, d_out, weight.to(PLAIN[dtype]))
    group = d_in if dtype == "int8" else checked_group(group_size, d_in)
    if not bool(torch.isfinite(weight).all()):
        raise ValueError(f"weights must be finite to be stored as {dtype}, got NaN or infinity")
    grouped = weight.float().view(d_out, d_in // group, group)
    scales = (grouped.abs().amax(-1) / LARGEST[dtype]).half()
    if not bool(torch.isfinite(scales).all()):
        raise ValueError(f"weights must fit float16 scales for {dtype}, the largest is too large")
    divisor = scales.float().where(scales > 0, 1.0)[..., None]
    limit = LARGEST[dtype]
    whole = (grouped / divisor).round().clamp(-limit, limit).to(torch.int8).view(d_out, d_in)
    return StoredMatrix(dtype, d_in, d_out, _packed(whole) if dtype == "int4" else whole, scales)


def checked_group(group_size: int, d_in: int) -> int:
    """Return a group size that fills rows of ``d_in`` weights without a rest.

    Raises: ValueError naming what would divide it, or an odd d_in (two weights share a byte)

    >>> checked_group(32, 352)
    32
    >>> checked_group(48, 128)
    Traceback (most recent call last):
    ValueError: group_size must divide d_in = 128 (1, 2, 4, 8, 16, 32, 64, 128), got 48
    """
    if d_in % 2:
        raise ValueError(f"d_in must be even for int4, two weights share a byte; got {d_in}")
    fits = [n for n in range(1, d_in + 1) if d_in % n == 0]
    if type(group_size) is not int or group_size not in fits:
        listed = ", ".join(str(n) for n in fits)
        raise ValueError(f"group_size must divide d_in = {d_in} ({listed}), got {group_size!r}")
    return group_size


def storage_error(weight: Tensor, stored: StoredMatrix) -> StorageError:
    """Measure what storing lost.

    >>> storage_error(torch.ones(2, 4), store(torch.ones(2, 4), "float16")).max_abs
    0.0
    """
    difference = stored.dequantize() - weight.float()
    norm = float(weight.float().norm())
    return StorageError(
        max_abs=float(difference.abs().max()),
        root_mean_square=float(difference.square().mean().sqrt()),
        relative=float(difference.norm()) / norm if norm else 0.0,
    )


def quantized_weights(
    weights: Weights,
    dtype: str,
    group_size: int = DEFAULT_GROUP_SIZE,
    *,
    include_tables: bool = True,
) -> Weights:
    """Return weights whose matrices went through ``store`` and back, in the original precision.

    Norms stay as they are. ``include_tables``: the embedding and the output head too.

    Raises: ValueError as :func:`store`
    """

    def read_back(weight: Tensor) -> Tensor:
        return store(weight, dtype, group_size).dequantize().to(weight.dtype)

    layers = []
    for layer in weights.layers:
        parts = {name: getattr(layer, name) for name in _PARTS}
        parts.update({name: read_back(parts[name]) for name in _MATRICES})
        layers.append(LayerWeights.from_parts(parts))
    embedding, head = weights.embedding, weights.lm_head
    if include_tables:
        tied = head is embedding
        embedding = read_back(embedding)
        head = embedding if tied else read_back(head)
    return Weights(embedding, tuple(layers), weights.final_norm, head)


def _packed(whole: Tensor) -> Tensor:
    """Put two 4-bit numbers in a byte, each as its value plus 8, the first one low."""
    pairs = (whole + 8).to(torch.uint8).view(whole.shape[0], -1, 2)
    return pairs[..., 0] | (pairs[..., 1] << 4)


def _unpacked(packed: Tensor) -> Tensor:
    halves = torch.stack((packed & 0x0F, packed >> 4), -1).flatten(-2)
    return halves.to(torch.int8) - 8
