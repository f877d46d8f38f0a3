"""Our cached decode against transformers' ``generate`` with its cache: same weights, one thread.

Both decode the same 100 greedy tokens after the default prompt, prefill included; they must
choose the same ones. Ratios are medians over rounds in which all ways take turns.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torch
import transformers

from benchmarks.figures import Figure, interleaved_s, median_ratio
from core.decode.generate import generate
from core.decode.settings import SamplingSettings
from core.decode.trace import Run
from core.decode.trace_file import DEFAULT_PROMPT
from core.model.checkpoint import LoadedModel, load_model
from core.model.manifest import MODEL_FOLDER

TITLE = "Cached decode against transformers, and against no cache"
N_TOKENS = 100
N_UNCACHED = 200
ROUNDS = 9
GREEDY = SamplingSettings()


def measure() -> list[Figure]:
    """Measure tokens per second of every way and their ratios."""
    torch.set_num_threads(1)
    model = load_model()
    return [*_against_transformers(model), *_against_no_cache(model)]


def _against_transformers(model: LoadedModel) -> list[Figure]:
    theirs = _theirs(model)
    ways: dict[str, Callable[[], list[int]]] = {
        "transformers": theirs,
        "plain": lambda: _plain(model, N_TOKENS),
        "rows": lambda: _with_rows(model),
    }
    if not theirs() == _plain(model, N_TOKENS) == _with_rows(model):
        raise RuntimeError("the ways chose different tokens, so their times do not compare")
    times = interleaved_s(ways, ROUNDS)
    speed = [
        Figure(f"tokens/s, {name}", N_TOKENS / statistics.median(times[way]), "tokens/s")
        for name, way in (
            ("transformers generate", "transformers"),
            ("ours", "plain"),
            ("ours, all attention rows captured", "rows"),
        )
    ]
    return [
        *speed,
        Figure(
            "ours / transformers",
            median_ratio(times["transformers"], times["plain"]),
            "x",
            at_least=2.0,
            note="aim 3",
        ),
        Figure(
            "ours capturing rows / transformers",
            median_ratio(times["transformers"], times["rows"]),
            "x",
            at_least=1.5,
        ),
    ]


def _against_no_cache(model: LoadedModel) -> list[Figure]:
    if _plain(model, N_UNCACHED) != _uncached(model, N_UNCACHED):
        raise RuntimeError("with and without a cache chose different tokens")
    ways: dict[str, Callable[[], list[int]]] = {
        "cached": lambda: _plain(model, N_UNCACHED),
        "uncached": lambda: _uncached(model, N_UNCACHED),
    }
    times = interleaved_s(ways, rounds=5, warm_ups=0)
    ratio = median_ratio(times["uncached"], times["cached"])
    return [Figure(f"cached / recomputed, {N_UNCACHED} tokens", ratio, "x", at_least=1.5)]


def _plain(model: LoadedModel, n_tokens: int) -> list[int]:
    ids = model.tokenizer.encode(DEFAULT_PROMPT)
    results = generate(model.transformer, ids, GREEDY, n_tokens, ignore_end=True)
    return [result.token_id for result in results]


def _with_rows(model: LoadedModel) -> list[int]:
    trace = Run(model, DEFAULT_PROMPT, ignore_end=True).extend(N_TOKENS - 1)
    return list(trace.generated_ids())


def _uncached(model: LoadedModel, n_tokens: int) -> list[int]:
    """Greedy decoding that recomputes the whole sequence for every token."""
    ids = model.tokenizer.encode(DEFAULT_PROMPT)
    n_prompt = len(ids)
    with torch.inference_mode():
        for _ in range(n_tokens):
            logits = model.transformer.full_pass(torch.tensor([ids])).logits
            ids.append(int(logits[0, -1].argmax()))
    return ids[n_prompt:]


def _theirs(model: LoadedModel) -> Callable[[], list[int]]:
    transformers.utils.logging.disable_progress_bar()
    judge = transformers.AutoModelForCausalLM.from_pretrained(MODEL_FOLDER, dtype=torch.float32)
    judge.eval()
    judge.generation_config.eos_token_id = None  # 100 tokens each, whatever they are
    judge.generation_config.pad_token_id = model.config.end_id
    ids = torch.tensor([model.tokenizer.encode(DEFAULT_PROMPT)])
    mask = torch.ones_like(ids)

    def run() -> list[int]:
        output = judge.generate(
            ids, attention_mask=mask, max_new_tokens=N_TOKENS, do_sample=False, use_cache=True
        )
        return list(output[0, ids.shape[1] :].tolist())

    return run
