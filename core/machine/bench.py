"""Decode steps under a stopwatch: the same transformer that the pages show, one token at a time.

The context is held: every timed step attends to the same number of tokens, because the token
it appends is taken back afterwards. So each step moves the same bytes, and batch and context
can be varied one at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch

from core.config import ModelConfig
from core.cost.accounting import Pass, forward_total
from core.decode.latency import percentile
from core.machine.graph import as_graph
from core.machine.heavy import fill_cache, matrices_of, weight_bytes_read
from core.machine.products import ProductChoice, bare_pass, onednn
from core.machine.timing import DeviceClock, calls_for, clock_for
from core.model.attention import attend, attend_fused
from core.model.transformer import ForwardOptions, Transformer
from core.model.weights import Weights

N_WARM_UP = 3
"""Steps before timing starts: the first pays for set-up, and a graph wants two more."""

BARE_SPAN_S = 0.02


@dataclass(frozen=True)
class StepTraffic:
    """What one decode step must read, and the arithmetic it must do.

    Units: bytes, floating-point operations; the K/V bytes are those of all sequences
    """

    weight_bytes: int
    kv_bytes: int
    flops: int

    @property
    def total_bytes(self) -> int:
        """All bytes that the floor counts."""
        return self.weight_bytes + self.kv_bytes

    def floor_s(self, bandwidth_bytes_per_s: float) -> float:
        """Least time of a step that only waits for memory."""
        return self.total_bytes / bandwidth_bytes_per_s


def step_traffic(
    config: ModelConfig, dtype_name: str, batch_size: int, context_len: int
) -> StepTraffic:
    """Traffic of one step by the accounting that every page uses.

    >>> from core.config import STORYTELLER
    >>> step_traffic(STORYTELLER, "float16", 1, 10).kv_bytes
    10240
    """
    run = Pass(
        context_len=context_len, batch=batch_size, weight_dtype=dtype_name, kv_dtype=dtype_name
    )
    total = forward_total(config, run)
    return StepTraffic(total.weight_bytes, total.kv_read_bytes, total.flops)


class DecodeRunner:
    """One batch at one held context, ready to be stepped.

    On CUDA the step is captured once as a graph and replayed, so that launching its many
    small kernels costs one call; ``graphed`` says whether that was done.

    Raises: ValueError if the context is longer than the model's.
    """

    def __init__(
        self,
        config: ModelConfig,
        weights: Weights,
        choice: ProductChoice,
        *,
        batch_size: int = 1,
        context_len: int = 128,
        fused: bool = True,
        clock: DeviceClock | None = None,
    ) -> None:
        if not 1 <= context_len <= config.max_seq_len:
            raise ValueError(f"context_len must be 1 to {config.max_seq_len}, got {context_len}")
        self.config, self.weights, self.choice = config, weights, choice
        self.batch_size, self.context_len = batch_size, context_len
        self._model = Transformer(config, weights, choice.product)
        self.fused = fused
        self._options = ForwardOptions(fused=fused)
        self._clock = clock or clock_for(self._model.device)
        self._cache = self._model.new_cache(batch_size, context_len)
        fill_cache(self._cache, config, context_len - 1)
        self._tokens = torch.zeros(batch_size, 1, dtype=torch.int64, device=self._model.device)
        self._launch: Callable[[], None] = self.compute
        self.graphed = False
        if self._model.device.type == "cuda":
            self._launch = as_graph(self.compute, self._model.device, N_WARM_UP)
            self.graphed = True

    @torch.inference_mode()
    def compute(self) -> None:
        """One decode step without waiting: its greedy token is the next step's input."""
        logits = self._model.decode_step(self._tokens, self._cache, options=self._options).logits
        self._cache.truncate(self.context_len - 1)
        self._tokens.copy_(logits.argmax(-1))

    def step(self) -> int:
        """One decode step to the end: the token of the first sequence, on the host."""
        self._launch()
        return int(self._tokens[0, 0])

    def eager_step(self) -> int:
        """The same step without its graph, whose kernels a profiler can name one by one."""
        with onednn(self.choice.onednn):
            self.compute()
        return int(self._tokens[0, 0])

    def time_steps(self, n_steps: int) -> list[float]:
        """Seconds of each of ``n_steps`` steps; reading the token is the only wait in one."""
        with onednn(self.choice.onednn):
            stamps = [self._clock.stamp_ns()]
            for _ in range(n_steps):
                self.step()
                stamps.append(self._clock.now_ns())
        return [(after - before) / 1e9 for before, after in itertools.pairwise(stamps)]

    def time_block(self, n_steps: int) -> float:
        """Seconds per step of ``n_steps`` steps with one wait at both ends.

        What this is shorter than :meth:`time_steps` is the cost of waiting for every token.
        """
        with onednn(self.choice.onednn):
            return self._clock.time_s(self._launch, n_steps)

    def traffic(self) -> StepTraffic:
        """What a step reads, from the sizes of the tensors themselves."""
        name = str(self._model.dtype).removeprefix("torch.")
        counted = step_traffic(self.config, name, self.batch_size, self.context_len)
        kv_bytes = self._cache.bytes_per_token * self.context_len
        return StepTraffic(weight_bytes_read(self.weights), kv_bytes, counted.flops)

    def bare_products(self) -> Callable[[], float]:
        """A function that times the same products with the same matrices, and nothing else."""
        work = bare_pass(matrices_of(self.weights), self.choice.product, self.batch_size)
        return self._timed(work)

    def attention_alone(self) -> Callable[[], float]:
        """A function that times attention over the whole cache of every layer, and nothing else."""
        return self._timed(self._attention(self.fused))

    def _attention(self, fused: bool) -> Callable[[], None]:
        config, kind = self.config, self._tokens.device
        shape = (self.batch_size, config.n_heads, 1, config.head_dim)
        q = torch.randn(shape, generator=torch.Generator().manual_seed(2))
        q = q.to(kind, self._model.dtype)
        attention = attend_fused if fused else attend
        self._cache.advance(1)
        views = [(self._cache.keys(i), self._cache.values(i)) for i in range(config.n_layers)]
        self._cache.truncate(self.context_len - 1)

        @torch.inference_mode()
        def work() -> None:
            for keys, values in views:
                attention(q, keys, values)

        return work

    def _timed(self, work: Callable[[], None]) -> Callable[[], float]:
        if self._model.device.type == "cuda":
            work = as_graph(work, self._model.device, 1)

        with onednn(self.choice.onednn):
            n_calls = calls_for(self._clock, work, BARE_SPAN_S)

        def timed() -> float:
            with onednn(self.choice.onednn):
                return self._clock.time_s(work, n_calls)

        return timed

    def faster_attention(self) -> bool:
        """Whether the fused kernel beats attention written out, here and at this context."""
        timers = {fused: self._timed(self._attention(fused)) for fused in (True, False)}
        times = {fused: [timer() for _ in range(5)] for fused, timer in timers.items()}
        return percentile(times[True], 50) <= percentile(times[False], 50)
