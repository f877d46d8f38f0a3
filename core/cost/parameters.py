"""Parameters: all, active for one token, and read by one decode step.

The input embedding and learned positions are looked up, a row per token, so a step does not
read them; the output head is read whole, and a tied head is the embedding, stored once. Of
experts, a step with B sequences reads the expected number of distinct ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.cost.dtypes import NumberFormat, number_format
from core.cost.spec import LayerKind, Matrix, ModelSpec


@dataclass(frozen=True)
class ParameterCounts:
    """Parameters of a model: all, used by one token, and read by a decode step of batch 1."""

    total: int
    active: int
    read_per_step: int
    tables: int


def parameter_counts(model: ModelSpec) -> ParameterCounts:
    """Return the parameter counts of a model whose widths are known.

    ``active`` is the total with experts reduced to those of one token; ``read_per_step``
    leaves out the looked-up tables but not a head that is tied to one.

    Raises: ValueError if the config did not give the widths

    >>> from core.config import STORYTELLER
    >>> from core.cost.spec import spec_from_config
    >>> parameter_counts(spec_from_config(STORYTELLER))
    ParameterCounts(total=869504, active=869504, read_per_step=869504, tables=131072)
    """
    need_widths(model)
    tables = sum(n_params for _, n_params in model.tables)
    head = sum(matrix.n_params for matrix in model.outer_matrices)
    head_weights = sum(matrix.d_in * matrix.d_out for matrix in model.outer_matrices)
    stored_head = head - head_weights if model.tied_embeddings else head
    layers = sum(n * _layer_params(layer, False) for layer, n in model.groups().items())
    active = sum(n * _layer_params(layer, True) for layer, n in model.groups().items())
    outer = tables + stored_head + model.outer_vectors
    return ParameterCounts(
        total=outer + layers,
        active=outer + active,
        read_per_step=active + head + model.outer_vectors,
        tables=tables,
    )


def _layer_params(layer: LayerKind, active: bool) -> int:
    matrices = sum(m.n_active_params if active else m.n_params for m in layer.matrices)
    return matrices + layer.vector_params


def expected_distinct(n_experts: int, used: int, batch: int) -> float:
    """Return how many of E experts a step reads when each of B tokens picks k of them.

    >>> expected_distinct(8, 2, 1), round(expected_distinct(8, 2, 8), 3)
    (2.0, 7.199)
    """
    if used >= n_experts:
        return float(n_experts)
    if batch == 1:
        return float(used)
    return float(n_experts * (1.0 - (1.0 - used / n_experts) ** batch))


def matrices_read(matrix: Matrix, batch: int) -> int | float:
    """Return how many copies of a matrix one step of B sequences reads."""
    if matrix.copies == matrix.used:
        return matrix.copies
    if batch == 1:
        return matrix.used
    return expected_distinct(matrix.copies, matrix.used, batch)


def format_for(model: ModelSpec, part: str, dtype: str | NumberFormat | None) -> NumberFormat:
    """Return the format of a part: the chosen dtype for all, or the published one."""
    return model.native_format(part) if dtype is None else number_format(dtype)


def copy_bits(model: ModelSpec, matrix: Matrix, dtype: str | NumberFormat | None) -> int:
    """Return the bits of one copy: its weights with scales, its vectors at the plain format."""
    weights = format_for(model, matrix.part, dtype).matrix_bits(matrix.d_in, matrix.d_out)
    return weights + format_for(model, "", dtype).row_bits(matrix.extra)


def need_widths(model: ModelSpec) -> None:
    """Refuse a model whose config did not give its widths."""
    if not model.complete:
        raise ValueError(f"the weights of {model.name} are not known: {' '.join(model.notes)}")
