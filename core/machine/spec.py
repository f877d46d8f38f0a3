"""What is to be measured: one frozen request, equal for all who ask the same; no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from core.config import ModelConfig

MeasureKind = Literal["probe", "decode", "batch sweep", "context sweep"]
ModelKind = Literal["shipped", "heavy"]
DTYPES = ("float32", "float16", "bfloat16")
BATCH_SWEEP = (1, 2, 4, 8, 16)
CONTEXT_SWEEP = (128, 512, 1024, 2048, 4096)
MAX_STEPS = 100_000
MAX_BATCH = 4096


@dataclass(frozen=True)
class MeasureSpec:
    """One measurement to make.

    kind: the read probe alone, decode steps, or a sweep of one variable with the other held.
    model: the model that ships, or random weights of ``weight_bytes`` or of ``config``'s shape
    (neither given: a size that suits the device). sweep: the batches or contexts of a sweep.
    n_threads: None lets a short sweep choose. probe_bytes: None sizes the buffer by the caches.

    Raises: ValueError with the name, the allowed range and the value given.

    >>> MeasureSpec(n_steps=0)
    Traceback (most recent call last):
    ValueError: n_steps must be 1 to 100000, got 0
    """

    kind: MeasureKind = "decode"
    model: ModelKind = "heavy"
    device: str = "auto"
    weight_bytes: int | None = None
    config: ModelConfig | None = None
    dtype: str = "bfloat16"
    batch_size: int = 1
    context_len: int = 128
    n_steps: int = 64
    sweep: tuple[int, ...] = ()
    n_threads: int | None = None
    probe_bytes: int | None = None

    def __post_init__(self) -> None:
        for name, allowed in (
            ("kind", get_args(MeasureKind)),
            ("model", get_args(ModelKind)),
            ("dtype", DTYPES),
        ):
            if getattr(self, name) not in allowed:
                choices = ", ".join(allowed)
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}")
        for name, limit in (
            ("batch_size", MAX_BATCH),
            ("n_steps", MAX_STEPS),
            ("context_len", 2**20),
        ):
            if not 1 <= getattr(self, name) <= limit:
                raise ValueError(f"{name} must be 1 to {limit}, got {getattr(self, name)}")
        if self.n_threads is not None and self.n_threads < 1:
            raise ValueError(f"n_threads must be at least 1, got {self.n_threads}")
        if any(value < 1 for value in self.sweep):
            raise ValueError(f"sweep must hold numbers of at least 1, got {self.sweep}")
        if self.weight_bytes is not None and self.config is not None:
            raise ValueError("weight_bytes and config exclude each other; give one of them")

    @property
    def is_heavy(self) -> bool:
        """Whether the run may take much memory and time."""
        return self.kind != "probe" and self.model == "heavy"

    def points(self) -> tuple[tuple[int, int], ...]:
        """The (batch, context) pairs to bench, the held variable constant."""
        if self.kind == "probe":
            return ()
        if self.kind == "batch sweep":
            return tuple((batch, self.context_len) for batch in self.sweep or BATCH_SWEEP)
        if self.kind == "context sweep":
            return tuple((self.batch_size, n) for n in self.sweep or CONTEXT_SWEEP)
        return ((self.batch_size, self.context_len),)
