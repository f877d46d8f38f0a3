"""What one stored number costs in bits, its scales counted.

A scale is counted where it grows with the numbers: blocks of 32 with a 16-bit scale make an
8-bit format 8.5 bits. Names say the storage exactly, because "8 bits" alone does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

DEFAULT_GROUP_SIZE = 32


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are stored: bits per value, and 16-bit or 8-bit scales shared by some of them.

    ``block``: values that share one scale along d_in; None for one scale per output channel
    (``per_channel``) or none that grows with the numbers.
    """

    name: str
    value_bits: int
    block: int | None = None
    scale_bits: int = 0
    per_channel: bool = False

    @property
    def bits(self) -> Fraction:
        """Bits per number, block scales included.

        >>> float(number_format("q8_0").bits), float(number_format("int4").bits)
        (8.5, 4.5)
        """
        if self.block is None:
            return Fraction(self.value_bits)
        return self.value_bits + Fraction(self.scale_bits, self.block)

    @property
    def is_quantised(self) -> bool:
        """Whether a number takes fewer than 16 bits."""
        return self.value_bits < 16

    def row_bits(self, n_numbers: int) -> int:
        """Return the bits of ``n_numbers`` stored in a row, a last part block counting whole.

        >>> number_format("q8_0").row_bits(512) // 8
        544
        """
        if self.block is None:
            return n_numbers * self.value_bits
        return n_numbers * self.value_bits + -(-n_numbers // self.block) * self.scale_bits

    def matrix_bits(self, d_in: int, d_out: int, count_scales: bool = True) -> int:
        """Return the bits of a (d_in, d_out) weight matrix, exactly.

        int8 has one float16 scale per output channel; int4 one per group along d_in.

        >>> number_format("int8").matrix_bits(4096, 4096) // 8 - 4096 * 4096
        8192
        >>> number_format("int4").matrix_bits(128, 352) // 8
        25344
        """
        bits = d_in * d_out * self.value_bits
        if not count_scales:
            return bits
        if self.per_channel:
            return bits + d_out * self.scale_bits
        if self.block is not None:
            return bits + -(-d_in // self.block) * d_out * self.scale_bits
        return bits


FORMATS: dict[str, NumberFormat] = {
    entry.name: entry
    for entry in (
        NumberFormat("float32", 32),
        NumberFormat("float16", 16),
        NumberFormat("bfloat16", 16),
        NumberFormat("fp8", 8),
        NumberFormat("int8", 8, scale_bits=16, per_channel=True),
        NumberFormat("int4", 4, block=DEFAULT_GROUP_SIZE, scale_bits=16),
        NumberFormat("q8_0", 8, block=32, scale_bits=16),
        NumberFormat("q4_0", 4, block=32, scale_bits=16),
        NumberFormat("mxfp4", 4, block=32, scale_bits=8),
    )
}
"""The formats by name. fp8 is the kind with one scale per tensor: exactly one byte a number."""

DTYPE_NAMES = tuple(FORMATS)

_SPELLINGS = {
    "fp32": "float32",
    "f32": "float32",
    "float": "float32",
    "fp16": "float16",
    "f16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "float8_e4m3fn": "fp8",
    "float8": "fp8",
}


def number_format(dtype: str | NumberFormat, group_size: int | None = None) -> NumberFormat:
    """Return the format of that name; ``group_size`` replaces the block of int4.

    Raises: ValueError for an unknown name (naming the nearest) or a group below 1.

    >>> float(number_format("int4", group_size=128).bits)
    4.125
    """
    if isinstance(dtype, NumberFormat):
        return dtype
    known = FORMATS.get(dtype)
    if known is None:
        from difflib import get_close_matches  # only an error needs it

        near = get_close_matches(str(dtype), DTYPE_NAMES, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"dtype must be one of {', '.join(DTYPE_NAMES)}, got {dtype!r}{hint}")
    if group_size is None or known.name != "int4":
        return known
    if isinstance(group_size, bool) or not isinstance(group_size, int) or group_size < 1:
        raise ValueError(f"group_size must be a whole number of at least 1, got {group_size!r}")
    return replace(known, block=group_size)


def dtype_from_text(text: str) -> str | None:
    """Return the dtype name behind a spelling such as "torch.bfloat16", or None.

    >>> dtype_from_text("torch.bfloat16"), dtype_from_text("fp16"), dtype_from_text("auto")
    ('bfloat16', 'float16', None)
    """
    short = text.strip().lower().removeprefix("torch.")
    name = _SPELLINGS.get(short, short)
    return name if name in FORMATS else None


def activation_dtype_for(weight_dtype: str | NumberFormat) -> str:
    """Return the dtype that activations are counted at: 32 bit beside float32, else 16 bit.

    >>> activation_dtype_for("float32"), activation_dtype_for("int4")
    ('float32', 'bfloat16')
    """
    return "float32" if number_format(weight_dtype).value_bits == 32 else "bfloat16"
