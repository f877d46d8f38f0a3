"""Weight bytes, stored and read per decode step, from the model's list of matrices.

Every weight counts at the chosen format, scales included; without a choice each part counts as
it was published (experts in MXFP4 beside 16-bit attention, for instance).
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

from core.cost import checks
from core.cost.dtypes import NumberFormat
from core.cost.formula import Formula, Number
from core.cost.parameters import copy_bits, format_for, need_widths
from core.cost.spec import Matrix, ModelSpec

Dtype = str | NumberFormat | None


def weight_bytes_stored(model: ModelSpec, dtype: Dtype = None) -> int:
    """Return the bytes of all weights; ``dtype`` None means as published.

    >>> from core.config import STORYTELLER
    >>> from core.cost.spec import spec_from_config
    >>> weight_bytes_stored(spec_from_config(STORYTELLER), "float16")
    1739008
    """
    return int(stored_formula(model, dtype).value)


def weight_bytes_read(model: ModelSpec, batch: int = 1, dtype: Dtype = None) -> int:
    """Return the bytes of weights that one decode step of B sequences reads.

    Looked-up tables are not read; the few rows that are looked up are activations.

    >>> from core.config import STORYTELLER
    >>> from core.cost.spec import spec_from_config
    >>> weight_bytes_read(spec_from_config(STORYTELLER), 1, "float16")
    1739008
    """
    return int(read_formula(model, batch, dtype).value)


def stored_formula(model: ModelSpec, dtype: Dtype = None) -> Formula:
    """Return parameters * bytes per number, one term per format."""
    need_widths(model)
    tally = _Tally()
    for matrix, count in _matrices(model):
        if matrix.part == "head" and model.tied_embeddings:
            tally.vector(format_for(model, "", dtype), count * matrix.extra)
        else:
            tally.matrix(model, matrix, dtype, count * matrix.copies)
    plain = format_for(model, "", dtype)
    for _, n_params in model.tables:
        width = model.d_model or 1
        tally.block(plain, width, n_params // width, 1)
    _add_vectors(tally, model, dtype)
    expression, variables = tally.expression()
    return Formula("weight_bytes_stored", f"ceil({expression})", variables, "bytes")


def read_formula(model: ModelSpec, batch: int = 1, dtype: Dtype = None) -> Formula:
    """Return what a step reads: all but tables, and the expected distinct experts.

    Source: routing taken as uniform and independent, E (1 - (1 - k / E)^B) distinct experts
    """
    need_widths(model)
    tally = _Tally()
    routed: dict[tuple[int, int], int] = defaultdict(int)
    for matrix, count in _matrices(model):
        if matrix.used < matrix.copies:
            bits = copy_bits(model, matrix, dtype)
            routed[(matrix.copies, matrix.used)] += count * bits
        else:
            tally.matrix(model, matrix, dtype, count * matrix.copies)
    _add_vectors(tally, model, dtype)
    expression, variables = tally.expression()
    if routed:
        variables["batch"] = checks.batch(batch)
    for index, ((n_experts, used), bits) in enumerate(routed.items()):
        suffix = f"_{index}" if len(routed) > 1 else ""
        n, k = f"n_experts{suffix}", f"experts_per_token{suffix}"
        expression += f" + {n} * (1 - (1 - {k} / {n}) ** batch) * one_expert_bytes{suffix}"
        size = Fraction(bits, 8)
        whole = size.numerator if size.denominator == 1 else float(size)
        variables |= {n: n_experts, k: used, f"one_expert_bytes{suffix}": whole}
    rounding = "round" if routed else "ceil"
    return Formula("weight_bytes_read_per_step", f"{rounding}({expression})", variables, "bytes")


@dataclass
class _Tally:
    """Counts numbers, channel scales and odd remainders per format."""

    numbers: dict[NumberFormat, int] = field(default_factory=lambda: defaultdict(int))
    channels: dict[NumberFormat, int] = field(default_factory=lambda: defaultdict(int))
    odd_bits: int = 0

    def matrix(self, model: ModelSpec, matrix: Matrix, dtype: Dtype, count: int) -> None:
        fmt = format_for(model, matrix.part, dtype)
        self.block(fmt, matrix.d_in, matrix.d_out, count)
        self.vector(format_for(model, "", dtype), count * matrix.extra)

    def block(self, fmt: NumberFormat, d_in: int, d_out: int, count: int) -> None:
        self.numbers[fmt] += count * d_in * d_out
        if fmt.per_channel:
            self.channels[fmt] += count * d_out
        elif fmt.block is not None:
            exact = d_in * d_out * fmt.bits
            self.odd_bits += round(count * (fmt.matrix_bits(d_in, d_out) - exact))

    def vector(self, fmt: NumberFormat, count: int) -> None:
        if count:
            self.numbers[fmt] += count

    def expression(self) -> tuple[str, dict[str, Number]]:
        terms: list[str] = []
        variables: dict[str, Number] = {}
        for fmt, count in self.numbers.items():
            name = re.sub(r"\W+", "_", fmt.name).strip("_") if len(self.numbers) > 1 else ""
            params, per = (f"params_{name}", f"bytes_{name}") if name else ("params", "bytes_each")
            width = fmt.bits / 8
            value = width.numerator if width.denominator == 1 else float(width)
            variables |= {params: count, per: value}
            terms.append(f"{params} * {per}")
            if self.channels[fmt]:
                variables |= {"scales": self.channels[fmt], "scale_bytes": fmt.scale_bits // 8}
                terms.append("scales * scale_bytes")
        if self.odd_bits:
            variables["part_block_bits"] = self.odd_bits
            terms.append("part_block_bits / 8")
        return " + ".join(terms) or "0", variables


def _matrices(model: ModelSpec) -> list[tuple[Matrix, int]]:
    """Return every distinct matrix with how many layers have it."""
    listed = [(matrix, 1) for matrix in model.outer_matrices]
    for layer, count in model.groups().items():
        listed += [(matrix, count) for matrix in layer.matrices]
    return listed


def _add_vectors(tally: _Tally, model: ModelSpec, dtype: Dtype) -> None:
    plain = format_for(model, "", dtype)
    layers = sum(count * layer.vector_params for layer, count in model.groups().items())
    tally.vector(plain, layers + model.outer_vectors)
