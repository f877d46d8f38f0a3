"""Our decode step on weights that fit in no cache: against bare products, the probe, transformers.

Random bfloat16 weights of about 0.9 GB, batch 1, one token at a time. The read probe, the bare
products, our step and transformers' step with the very same tensors take turns, on the same
threads; every ratio is the median over rounds of the ratio within a round. With one thread the
clock is the process's own processor time, which leaves out the moments in which others had the
processor; with more it is wall time, because a thread that waits for another one costs time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
import transformers

from benchmarks.figures import Figure
from core.config import ModelConfig
from core.machine.bench import DecodeRunner
from core.machine.device import find_device
from core.machine.heavy import fill_cache, heavy_config, matrices_of, random_weights
from core.machine.load import LoadMeter
from core.machine.probe import ReadProbe
from core.machine.products import ProductChoice, best_thread_count, compare_products, sweep_threads
from core.machine.timing import DeviceClock, clock_for
from core.model.kv_cache import KVCache
from core.model.weights import Weights

TITLE = "A weights-heavy decode step on this CPU"
WEIGHT_BYTES = 900_000_000
CONTEXT_LEN = 128
ROUNDS = 16
DTYPE = torch.bfloat16


def measure() -> list[Figure]:
    """Measure the ratios; the wall time is about half a minute on a quiet machine."""
    device = find_device("cpu")
    meter = LoadMeter()
    config = heavy_config(WEIGHT_BYTES)
    weights = random_weights(config, DTYPE, device.torch_device)
    choice, n_threads = _fastest(weights, device.n_cpus)
    clock = DeviceClock(_now_ns(n_threads), lambda: None)
    runner = DecodeRunner(config, weights, choice, context_len=CONTEXT_LEN, clock=clock)
    probe = ReadProbe(device, clock=clock)
    for _ in probe.prepare():
        continue
    bare, n_bytes = runner.bare_products(), runner.traffic().total_bytes
    weight_bytes = sum(m.numel() * m.element_size() for m in matrices_of(weights))
    ways: dict[str, Callable[[], float]] = {
        "probe": lambda: 1 / probe.read(),
        "bare": lambda: bare() / weight_bytes,
        "ours": lambda: _median_step(runner) / n_bytes,
        "theirs": lambda: clock.time_s(theirs) / n_bytes,
    }
    theirs = _transformers_step(config, weights)
    rounds = _turns(ways)
    load = meter.read().cores
    clock_name = "processor time" if n_threads == 1 else "wall time"
    note = f"{n_threads} thread(s), {choice.label}, {clock_name}, other load "
    note += "not known" if load is None else f"{load:.1f} cores"
    rates = {name: 1 / statistics.median(r[name] for r in rounds) / 1e9 for name in ways}
    return [
        Figure("read probe", rates["probe"], "GB/s", note=probe.kernel),
        Figure("bare products", rates["bare"], "GB/s", note=note),
        Figure("decode step, ours", rates["ours"], "GB/s"),
        Figure("decode step, transformers", rates["theirs"], "GB/s"),
        Figure("step over bare products", _ratio(rounds, "bare", "ours"), "", at_least=0.90),
        Figure("step over the probe", _ratio(rounds, "probe", "ours"), "", at_least=0.75),
        Figure("speed over transformers", _ratio(rounds, "theirs", "ours"), "x", at_least=1.0),
    ]


def _fastest(weights: Weights, n_cpus: int) -> tuple[ProductChoice, int]:
    """The product and the thread count that a measurement of the app would choose."""
    matrices, clock = matrices_of(weights), clock_for(torch.device("cpu"))
    torch.set_num_threads(1)
    choice = compare_products(matrices, 1, clock)[0].choice
    n_threads = best_thread_count(sweep_threads(matrices, choice, n_cpus, clock))
    torch.set_num_threads(n_threads)
    return choice, n_threads


def _now_ns(n_threads: int) -> Callable[[], int]:
    return time.process_time_ns if n_threads == 1 else time.perf_counter_ns


def _median_step(runner: DecodeRunner) -> float:
    runner.step()
    return statistics.median(runner.time_steps(3))


def _turns(ways: dict[str, Callable[[], float]]) -> list[dict[str, float]]:
    """Seconds per byte of every way, round by round, after one round of warm-up."""
    rounds = [{name: way() for name, way in ways.items()} for _ in range(ROUNDS + 1)]
    return rounds[1:]


def _ratio(rounds: list[dict[str, float]], over: str, under: str) -> float:
    return statistics.median(r[over] / r[under] for r in rounds)


def _transformers_step(config: ModelConfig, weights: Weights) -> Callable[[], int]:
    """A decode step by transformers with the same tensors, context held in the same way."""
    transformers.logging.set_verbosity_error()
    llama = transformers.LlamaConfig(**{**config.to_hf(), "dtype": "bfloat16"})
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(llama)
    tensors = dict(weights.named_tensors())
    if config.tied_embeddings:
        tensors["lm_head.weight"] = weights.lm_head
    model.load_state_dict(tensors, strict=True, assign=True)
    model.model.rotary_emb = type(model.model.rotary_emb)(config=llama)
    model.eval()
    cache = _filled_cache(config)
    token = torch.zeros(1, 1, dtype=torch.int64)

    @torch.inference_mode()
    def step() -> int:
        logits = model(token, cache=cache, use_cache=True).logits
        cache.crop(-1)
        return int(logits[0, -1].argmax())

    step()
    return step


def _filled_cache(config: ModelConfig) -> transformers.DynamicCache:
    ours = KVCache(config, 1, CONTEXT_LEN, DTYPE)
    fill_cache(ours, config, CONTEXT_LEN - 1)
    theirs = transformers.DynamicCache()
    for layer in range(config.n_layers):
        theirs.update(ours.keys(layer).clone(), ours.values(layer).clone(), layer)
    return theirs
