"""The records that costs are computed from: a model layer by layer, and an accelerator.

A model is a list of layers; each layer says what it caches and lists its weight matrices.
Parameters, weight traffic, FLOPs and cache bytes all come from these same lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from core.cost.dtypes import NumberFormat, number_format

if TYPE_CHECKING:
    from core.config import ModelConfig

Bound = Literal["memory", "compute"]
Kind = Literal["full", "window", "mla", "state", "none"]
Part = Literal["attention", "state", "mlp", "expert", "router", "head"]


@dataclass(frozen=True)
class Matrix:
    """A weight matrix, or ``copies`` equal ones of which each token uses ``used`` (experts).

    ``extra`` counts the small vectors that belong to each copy, such as a bias.
    """

    name: str
    d_in: int
    d_out: int
    part: Part
    copies: int = 1
    used: int = 1
    extra: int = 0
    needs_product: bool = True

    @property
    def n_params(self) -> int:
        """Stored parameters, all copies."""
        return self.copies * (self.d_in * self.d_out + self.extra)

    @property
    def n_active_params(self) -> int:
        """Parameters that one token uses."""
        return self.used * (self.d_in * self.d_out + self.extra)


@dataclass(frozen=True)
class LayerKind:
    """One layer: what it keeps per token, and the weights it reads.

    kind: "full" and "window" cache keys and values of every K/V head; "mla" caches one latent
    of ``latent_dim`` numbers; "state" keeps a constant state; "none" keeps nothing. A hybrid
    layer that has both is "full" or "window" with ``state_numbers`` above 0.
    state_numbers: None where the file does not give the sizes of the state.
    shares_cache: reads the keys and values of an earlier layer and stores none of its own.
    """

    kind: Kind
    n_heads: int = 0
    n_kv_heads: int = 0
    head_dim: int = 0
    value_dim: int = 0
    window: int | None = None
    latent_dim: int = 0
    latent_value_dim: int = 0
    state_numbers: int | None = 0
    shares_cache: bool = False
    matrices: tuple[Matrix, ...] = ()
    vector_params: int = 0

    @property
    def caches(self) -> bool:
        """Whether the layer attends to a cache that grows with tokens."""
        return self.kind in ("full", "window", "mla")

    def cache_rows(self) -> tuple[int, ...]:
        """Numbers per token of each stored row: K and V of all K/V heads, or one latent."""
        if self.kind == "mla":
            return (self.latent_dim,)
        if self.caches:
            return (self.n_kv_heads * self.head_dim, self.n_kv_heads * self.value_dim)
        return ()


@dataclass(frozen=True)
class ModelSpec:
    """A model as far as its cost goes; widths may be unknown, the cache never is.

    tables: lookup tables that a step reads a row of (embedding, learned positions), with
    their parameter counts. ``head_from_table`` marks a head that is the embedding itself.
    native: part -> format in which the published weights are stored; "" is the default.
    """

    name: str
    layers: tuple[LayerKind, ...]
    complete: bool
    model_type: str = ""
    d_model: int | None = None
    vocab_size: int | None = None
    tied_embeddings: bool = False
    max_context: int | None = None
    tables: tuple[tuple[str, int], ...] = ()
    outer_matrices: tuple[Matrix, ...] = ()
    outer_vectors: int = 0
    dtype: str | None = None
    state_dtype: str | None = None
    native: Mapping[str, NumberFormat] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()
    source: str = ""

    @property
    def n_layers(self) -> int:
        """Layers of every kind, L."""
        return len(self.layers)

    def groups(self) -> dict[LayerKind, int]:
        """Distinct layers with how often each occurs, in the order of first occurrence."""
        return self._groups

    @cached_property
    def _groups(self) -> dict[LayerKind, int]:
        return dict(Counter(self.layers))

    def native_format(self, part: str) -> NumberFormat:
        """Return the format in which the published weights of that part are stored."""
        fallback = number_format("bfloat16")
        return self.native.get(part, self.native.get("", fallback))


@dataclass(frozen=True)
class AcceleratorSpec:
    """One accelerator from its data sheet; dense arithmetic figures, GB = 1e9 bytes.

    ``memory_bytes`` is None where unknown. ``verified`` says what was checked, in words.
    """

    name: str
    bandwidth_bytes_per_s: float
    flops_per_s: float
    memory_bytes: int | None
    kind: str = "custom"
    fp8_flops_per_s: float | None = None
    int8_ops_per_s: float | None = None
    fp4_flops_per_s: float | None = None
    l2_bytes: int | None = None
    extra_cache: str = ""
    tdp_w: float | None = None
    memory_type: str = ""
    source: str = ""
    verified: str = ""
    note: str = ""

    @property
    def ridge_flops_per_byte(self) -> float:
        """Intensity where arithmetic starts to bind: peak FLOP/s over bandwidth."""
        return self.flops_per_s / self.bandwidth_bytes_per_s


def spec_from_config(config: ModelConfig, name: str = "this model") -> ModelSpec:
    """Return the cost record of one of our own Llama-style models.

    >>> from core.config import STORYTELLER
    >>> spec = spec_from_config(STORYTELLER)
    >>> spec.n_layers, spec.layers[0].n_kv_heads, spec.layers[0].kind
    (4, 2, 'full')
    """
    parts: dict[str, Part] = {
        "q": "attention", "k": "attention", "v": "attention", "o": "attention",
        "gate": "mlp", "up": "mlp", "down": "mlp",
    }  # fmt: skip
    layer = LayerKind(
        "full",
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads,
        head_dim=config.head_dim,
        value_dim=config.head_dim,
        matrices=tuple(
            Matrix(key, d_in, d_out, parts[key])
            for key, (d_in, d_out) in config.layer_matrices().items()
        ),
        vector_params=2 * config.d_model,
    )
    return ModelSpec(
        name=name,
        layers=(layer,) * config.n_layers,
        complete=True,
        model_type="llama",
        d_model=config.d_model,
        vocab_size=config.vocab_size,
        tied_embeddings=config.tied_embeddings,
        max_context=config.max_seq_len,
        tables=(("embedding", config.vocab_size * config.d_model),),
        outer_matrices=(Matrix("lm_head", config.d_model, config.vocab_size, "head"),),
        outer_vectors=config.d_model,
        dtype="float32",
        native={"": number_format("float32")},
    )
