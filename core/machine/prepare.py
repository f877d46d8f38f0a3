"""Before the stopwatch starts: the weights, the fastest products, the threads, the runners."""

from __future__ import annotations

from collections.abc import Callable

import torch

from core.config import ModelConfig
from core.machine.bench import DecodeRunner
from core.machine.heavy import heavy_config, matrices_of, random_weights
from core.machine.load import LoadMeter
from core.machine.products import (
    ProductChoice,
    ProductTiming,
    best_thread_count,
    compare_products,
    sample_of,
    sweep_threads,
)
from core.machine.records import DeviceInfo, ProductRecord
from core.machine.spec import MeasureSpec
from core.machine.timing import DeviceClock
from core.model.weights import Weights

Say = Callable[[str, float, str], None]

TORCH_DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
DEFAULT_HEAVY_BYTES = {"cpu": 1_000_000_000, "cuda": 14_000_000_000, "mps": 2_000_000_000}
CACHES_EXCEEDED = 2.5
"""Weights of a size not asked for are this many last-level caches at least."""
SHARE_OF_FREE = 0.7
"""Weights and K/V caches may take this much of the free memory; the probe needs some too."""
SAMPLE_BYTES = 500_000_000
RANDOM_NOTE = "The weights and the cached keys and values are random numbers of the usual size."


class Preparation:
    """The weights of a measurement and the runners of its points, made for one device."""

    def __init__(self, spec: MeasureSpec, device: DeviceInfo, clock: DeviceClock, say: Say) -> None:
        self.spec, self.device = spec, device
        self.thread_sweep: tuple[tuple[int, float], ...] = ()
        self.products: list[ProductRecord] = []
        self.notes: list[str] = []
        self._clock, self._say = clock, say
        self._choices: dict[int, ProductChoice] = {}
        self._dtype = TORCH_DTYPES[spec.dtype]
        self._meter = LoadMeter()
        self.config, self._weights = self._model()

    def _model(self) -> tuple[ModelConfig, Weights]:
        self._say("weights", 0.0, "preparing the weights")
        if self.spec.model == "shipped":
            from core.model.checkpoint import load_model

            loaded = load_model(dtype=self._dtype, device=self.device.torch_device)
            self._check_room(loaded.config)
            return loaded.config, loaded.transformer.weights
        config = self.spec.config or heavy_config(self._heavy_bytes(), self._dtype.itemsize)
        self._check_room(config)
        self.notes.append(RANDOM_NOTE)
        weights = self._random(config, columns=False)
        if self._choose(weights, 1, layouts=True).by_columns:
            del weights
            weights = self._random(config, columns=True)
        return config, weights

    def _random(self, config: ModelConfig, *, columns: bool) -> Weights:
        return random_weights(
            config,
            self._dtype,
            self.device.torch_device,
            columns=columns,
            progress=lambda share: self._say("weights", share, "filling the weights"),
        )

    def _heavy_bytes(self) -> int:
        if self.spec.weight_bytes is not None:
            return self.spec.weight_bytes
        past_cache = int(CACHES_EXCEEDED * (self.device.last_level_cache_bytes or 0))
        wanted = max(DEFAULT_HEAVY_BYTES[self.device.kind], past_cache)
        free = self.device.memory_free_bytes
        return wanted if free is None else min(wanted, free // 4)

    def _check_room(self, config: ModelConfig) -> None:
        longest = max(context for _, context in self.spec.points())
        if longest > config.max_seq_len:
            raise ValueError(f"context_len must be 1 to {config.max_seq_len}, got {longest}")
        kv_per_token = 2 * config.n_layers * config.kv_width * self._dtype.itemsize
        caches = sum(batch * context * kv_per_token for batch, context in self.spec.points())
        needed = config.n_params * self._dtype.itemsize + caches
        free = self.device.memory_free_bytes
        if free is not None and needed > SHARE_OF_FREE * free:
            raise ValueError(
                f"weights and K/V caches need {needed / 1e9:.1f} GB; at most "
                f"{SHARE_OF_FREE * free / 1e9:.1f} GB of {self.device.torch_name} may be used"
            )

    def _choose(self, weights: Weights, n_rows: int, *, layouts: bool = False) -> ProductChoice:
        """The fastest correct product for that many rows; on a CPU the thread count too."""
        if n_rows in self._choices:
            return self._choices[n_rows]
        cache = self.device.last_level_cache_bytes or 0
        sample = sample_of(matrices_of(weights), max(SAMPLE_BYTES, 2 * cache))
        self._say("products", 0.0, f"comparing ways to multiply {n_rows} row(s)")
        timings = compare_products(sample, n_rows, self._clock, layouts=layouts)
        sweepable = self.device.kind == "cpu" and self.spec.n_threads is None
        if sweepable and not self.thread_sweep:
            self._say("threads", 0.0, "trying thread counts")
            before = torch.get_num_threads()
            choice, n_free = timings[0].choice, self._free_cpus()
            self.thread_sweep = sweep_threads(sample, choice, n_free, self._clock)
            torch.set_num_threads(best_thread_count(self.thread_sweep))
            if torch.get_num_threads() != before:
                timings = compare_products(sample, n_rows, self._clock, layouts=layouts)
        self.products += [_record(timing, n_rows) for timing in timings]
        if not timings[0].correct:
            raise ValueError("no product on this device is within rounding of the exact one")
        self._choices[n_rows] = timings[0].choice
        return timings[0].choice

    def _free_cpus(self) -> int:
        """Processors that others leave alone: a thread that must wait for one stops all."""
        others = self._meter.read().cores
        n_cpus = self.device.n_cpus
        n_free = n_cpus if others is None else max(1, n_cpus - round(others))
        if n_free < n_cpus:
            self.notes.append(
                f"Other work keeps {others:.1f} of {n_cpus} processors busy, so at most "
                f"{n_free} thread(s) were tried."
            )
        return n_free

    def runners(self) -> list[DecodeRunner]:
        """One runner per point, each with the product and the attention that are fastest."""
        points, made = self.spec.points(), []
        for batch, context in points:
            choice = self._choose(self._weights, batch)
            runner = self._runner(choice, batch, context, fused=True)
            if not runner.faster_attention():
                runner = self._runner(choice, batch, context, fused=False)
            made.append(runner)
            self._say("warm-up", len(made) / len(points), "warming up")
        return made

    def _runner(
        self, choice: ProductChoice, batch: int, context: int, *, fused: bool
    ) -> DecodeRunner:
        return DecodeRunner(
            self.config,
            self._weights,
            choice,
            batch_size=batch,
            context_len=context,
            fused=fused,
            clock=self._clock,
        )


def _record(timing: ProductTiming, n_rows: int) -> ProductRecord:
    return ProductRecord(
        timing.choice.label, n_rows, timing.bytes_per_s, timing.max_relative_error, timing.correct
    )
