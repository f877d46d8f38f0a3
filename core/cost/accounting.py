"""What every operation of a forward pass computes, reads and writes: one path for all T.

A decode step is a prefill with one token. Rows come from the model's own list of matrices, so
their sums are the totals of every page. FLOPs are 2 x multiply-adds of the products; softmax,
norms and other element-wise work, well under one per cent, counts bytes of weights only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from core.config import ModelConfig
from core.cost import checks
from core.cost.dtypes import NumberFormat, activation_dtype_for, number_format
from core.cost.kv import default_kv_dtype, layer_bytes_per_token
from core.cost.parameters import copy_bits, format_for, matrices_read
from core.cost.spec import LayerKind, Matrix, ModelSpec, spec_from_config


@dataclass(frozen=True)
class OpCost:
    """One operation's work and traffic; ``layer`` is None outside the layers.

    Units: bytes and multiply-adds (macs). state_bytes: read plus written.
    """

    name: str
    layer: int | None = None
    macs: int = 0
    weight_bytes: int = 0
    kv_read_bytes: int = 0
    kv_write_bytes: int = 0
    activation_read_bytes: int = 0
    activation_write_bytes: int = 0
    state_bytes: int = 0

    @property
    def flops(self) -> int:
        """Floating-point operations: one multiply and one add each."""
        return 2 * self.macs

    @property
    def activation_bytes(self) -> int:
        """Activations read and written."""
        return self.activation_read_bytes + self.activation_write_bytes

    @property
    def total_bytes(self) -> int:
        """All bytes moved."""
        kv = self.kv_read_bytes + self.kv_write_bytes
        return self.weight_bytes + kv + self.activation_bytes + self.state_bytes

    @property
    def intensity(self) -> float:
        """FLOPs per byte moved, activations counted; 0 where nothing moves."""
        return self.flops / self.total_bytes if self.total_bytes else 0.0

    @property
    def intensity_weights_only(self) -> float:
        """FLOPs per byte of weights; 0 where no weight is read."""
        return self.flops / self.weight_bytes if self.weight_bytes else 0.0

    def times(self, count: int) -> OpCost:
        """Return the cost of that many equal operations."""
        return replace(self, **{name: getattr(self, name) * count for name in _SUMMED})


_SUMMED = (
    "macs", "weight_bytes", "kv_read_bytes", "kv_write_bytes", "activation_read_bytes",
    "activation_write_bytes", "state_bytes",
)  # fmt: skip


def total_cost(ops: Iterable[OpCost], name: str = "total") -> OpCost:
    """Return the sum of the rows.

    >>> total_cost([OpCost("a", macs=1), OpCost("b", macs=2)]).flops
    6
    """
    rows = list(ops)
    return OpCost(name, **{key: sum(getattr(op, key) for op in rows) for key in _SUMMED})


def matmul_cost(
    d_in: int,
    d_out: int,
    rows: int = 1,
    dtype: str | NumberFormat = "bfloat16",
    group_size: int | None = None,
    count_scales: bool = True,
) -> OpCost:
    """Return the cost of R rows through a (d_in, d_out) matrix.

    Weights: d_in d_out b bytes, read once whatever R; FLOPs: 2 R d_in d_out. Without scales
    the intensity on weights is the ideal 2 R / b.

    Raises: ValueError for a size, row count or group below 1, or an unknown dtype

    >>> cost = matmul_cost(4096, 4096, 8, "float16")
    >>> cost.intensity_weights_only, round(cost.intensity, 2)
    (8.0, 7.97)
    >>> round(matmul_cost(4096, 4096, 1, "int4").intensity_weights_only, 2)
    3.56
    """
    checks.whole("d_in", d_in)
    checks.whole("d_out", d_out)
    n_rows = checks.whole("rows", rows)
    fmt = number_format(dtype, group_size)
    act = number_format(activation_dtype_for(fmt)).value_bits // 8
    return OpCost(
        "matmul",
        macs=n_rows * d_in * d_out,
        weight_bytes=-(-fmt.matrix_bits(d_in, d_out, count_scales) // 8),
        activation_read_bytes=n_rows * d_in * act,
        activation_write_bytes=n_rows * d_out * act,
    )


@dataclass(frozen=True)
class Pass:
    """One forward pass to be costed: T new tokens each in B sequences, S attended at the end.

    ``fused`` attention keeps scores on chip; unfused writes and reads them. ``all_logits``:
    the head runs for every new token, else for the last one only.
    """

    n_tokens: int = 1
    context_len: int = 1
    batch: int = 1
    weight_dtype: str | NumberFormat | None = None
    kv_dtype: str | NumberFormat | None = None
    activation_dtype: str | None = None
    fused: bool = True
    all_logits: bool = True

    def __post_init__(self) -> None:
        checks.context(self.context_len)
        checks.whole("n_tokens", self.n_tokens, 1, self.context_len)
        checks.batch(self.batch)

    @property
    def rows(self) -> int:
        """Rows that go through every matrix, B * T."""
        return self.batch * self.n_tokens


def forward_ops(
    model: ModelSpec | ModelConfig,
    n_tokens: int = 1,
    context_len: int | None = None,
    batch: int = 1,
    weight_dtype: str | NumberFormat | None = None,
    kv_dtype: str | NumberFormat | None = None,
    activation_dtype: str | None = None,
    *,
    fused: bool = True,
    all_logits: bool = True,
) -> list[OpCost]:
    """Return one row per operation of a pass, in the order in which they run.

    ``context_len`` counts the new tokens too and defaults to them (a prefill from nothing).
    dtype None: as published, and the cache at the model's own.

    Raises: ValueError for sizes out of range or a model whose widths are unknown

    >>> from core.config import STORYTELLER
    >>> ops = forward_ops(STORYTELLER, context_len=10, weight_dtype="float16")
    >>> [op.name for op in ops[:5]], total_cost(ops).weight_bytes
    (['embed', 'norms', 'q', 'k', 'v'], 1739008)
    """
    spec = as_spec(model)
    run = Pass(
        n_tokens, n_tokens if context_len is None else context_len, batch,
        weight_dtype, kv_dtype, activation_dtype, fused, all_logits,
    )  # fmt: skip
    ops = [_embed(spec, run)]
    for index, layer in enumerate(spec.layers):
        ops += [replace(op, layer=index) for op in layer_ops(spec, layer, run)]
    return [*ops, *_outer_ops(spec, run)]


def forward_total(model: ModelSpec | ModelConfig, run: Pass) -> OpCost:
    """Return the sum of :func:`forward_ops`, quickly: equal layers are costed once."""
    spec = as_spec(model)
    rows = [_embed(spec, run), *_outer_ops(spec, run)]
    for layer, count in spec.groups().items():
        rows += [op.times(count) for op in layer_ops(spec, layer, run)]
    return total_cost(rows)


def as_spec(model: ModelSpec | ModelConfig) -> ModelSpec:
    """Return the cost record of a model given either way.

    Raises: ValueError if its widths are unknown
    """
    spec = spec_from_config(model) if isinstance(model, ModelConfig) else model
    if not spec.complete:
        raise ValueError(f"the widths of {spec.name} are not known, only its cache")
    return spec


def layer_ops(model: ModelSpec, layer: LayerKind, run: Pass) -> list[OpCost]:
    """Return the rows of one layer: norms, projections, attention, output, state, MLP."""
    plain = format_for(model, "", run.weight_dtype)
    ops = [OpCost("norms", weight_bytes=-(-plain.row_bits(layer.vector_params) // 8))]
    named = {matrix.name: matrix for matrix in layer.matrices}
    output = named.get("o") if layer.caches else None
    before = [m for m in layer.matrices if m.part == "attention" and m is not output]
    after = [m for m in layer.matrices if m.part != "attention"]
    ops += [_product(model, matrix, run) for matrix in before]
    if layer.caches:
        ops += attention_ops(model, layer, run)
    if output is not None:
        ops.append(_product(model, output, run))
    if layer.state_numbers:
        width = max(2, _activation_bytes(model, run))
        if model.state_dtype is not None:
            width = number_format(model.state_dtype).value_bits // 8
        traffic = 2 * run.batch * layer.state_numbers * width
        ops.append(OpCost("state", state_bytes=traffic))
    return ops + [_product(model, matrix, run) for matrix in after]


def attention_ops(model: ModelSpec, layer: LayerKind, run: Pass) -> list[OpCost]:
    """Return append, scores, softmax and blend: bytes by K/V heads, FLOPs by query heads.

    Each sequence reads its own cache. Scores are those kept under the mask and the window.
    """
    per_row = _kv_row_bytes(model, layer, run)
    reads = run.batch * tokens_read(run.n_tokens, run.context_len, layer.window)
    pairs = run.batch * attended_pairs(run.n_tokens, run.context_len, layer.window)
    act = _activation_bytes(model, run)
    is_mla = layer.kind == "mla"
    k_dim = layer.latent_dim if is_mla else layer.head_dim
    v_dim = layer.latent_value_dim if is_mla else layer.value_dim
    scores = pairs * layer.n_heads
    score_bytes = 0 if run.fused else scores * act
    stored = 0 if layer.shares_cache else run.rows
    return [
        OpCost("append", kv_write_bytes=stored * sum(per_row)),
        OpCost(
            "scores",
            macs=scores * k_dim,
            kv_read_bytes=reads * per_row[0],
            activation_read_bytes=run.rows * layer.n_heads * k_dim * act,
            activation_write_bytes=score_bytes,
        ),
        OpCost(
            "softmax", activation_read_bytes=score_bytes, activation_write_bytes=score_bytes
        ),
        OpCost(
            "blend",
            macs=scores * v_dim,
            kv_read_bytes=0 if is_mla else reads * per_row[1],
            activation_read_bytes=score_bytes,
            activation_write_bytes=run.rows * layer.n_heads * v_dim * act,
        ),
    ]  # fmt: skip


def attended_pairs(n_tokens: int, context_len: int, window: int | None = None) -> int:
    """Return query-key pairs kept for T new tokens: each sees itself and what came before.

    >>> attended_pairs(1, 12), attended_pairs(12, 12), attended_pairs(12, 12, window=4)
    (12, 78, 42)
    """
    first, last = context_len - n_tokens + 1, context_len
    if window is None or last <= window:
        return (first + last) * n_tokens // 2
    growing = max(0, window - first + 1)
    return (first + first + growing - 1) * growing // 2 + (n_tokens - growing) * window


def tokens_read(n_tokens: int, context_len: int, window: int | None = None) -> int:
    """Return cached tokens that a pass of T new tokens reads, each once.

    >>> tokens_read(1, 5000, window=4096), tokens_read(100, 5000, window=4096)
    (4096, 4195)
    """
    return context_len if window is None else min(context_len, window + n_tokens - 1)


def _kv_row_bytes(model: ModelSpec, layer: LayerKind, run: Pass) -> tuple[int, ...]:
    """Return the bytes per token of K and of V, or of the latent."""
    fmt = number_format(default_kv_dtype(model) if run.kv_dtype is None else run.kv_dtype)
    rows = layer.cache_rows()
    whole = layer_bytes_per_token(layer, fmt)
    if len(rows) == 1:
        return (whole,)
    keys = -(-fmt.row_bits(rows[0]) // 8)
    return (keys, whole - keys)


def _product(model: ModelSpec, matrix: Matrix, run: Pass, rows: int | None = None) -> OpCost:
    """Return the cost of the rows through one matrix, or through the experts they pick."""
    n_rows = run.rows if rows is None else rows
    act = _activation_bytes(model, run)
    bits = matrices_read(matrix, n_rows) * copy_bits(model, matrix, run.weight_dtype)
    return OpCost(
        matrix.name,
        macs=n_rows * matrix.used * matrix.d_in * matrix.d_out,
        weight_bytes=round(bits / 8) if isinstance(bits, float) else -(-bits // 8),
        activation_read_bytes=n_rows * matrix.used * matrix.d_in * act,
        activation_write_bytes=n_rows * matrix.used * matrix.d_out * act,
    )


def _embed(model: ModelSpec, run: Pass) -> OpCost:
    """Return the row look-ups: no FLOPs, one row per token of every table, no table read."""
    width = model.d_model or 0
    row = format_for(model, "", run.weight_dtype).row_bits(width) * len(model.tables)
    return OpCost(
        "embed",
        activation_read_bytes=-(-run.rows * row // 8),
        activation_write_bytes=run.rows * width * _activation_bytes(model, run),
    )


def _outer_ops(model: ModelSpec, run: Pass) -> list[OpCost]:
    plain = format_for(model, "", run.weight_dtype)
    norm = OpCost("final_norm", weight_bytes=-(-plain.row_bits(model.outer_vectors) // 8))
    rows = run.rows if run.all_logits else run.batch
    return [norm, *(_product(model, matrix, run, rows) for matrix in model.outer_matrices)]


def _activation_bytes(model: ModelSpec, run: Pass) -> int:
    if run.activation_dtype is not None:
        return number_format(run.activation_dtype).value_bits // 8
    weights = format_for(model, "mlp", run.weight_dtype)
    return number_format(activation_dtype_for(weights)).value_bits // 8
