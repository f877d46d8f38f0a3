"""The pause before the first token: one prefill of a short prompt, timed on the same weights."""

from __future__ import annotations

import torch

from core.config import ModelConfig
from core.machine.records import PrefillTime
from core.machine.timing import DeviceClock
from core.model.transformer import ForwardOptions, Transformer
from core.model.weights import Weights

PROMPT_TOKENS = 64
RUNS = 2
"""The first pays for set-up; the faster one counts."""
MOST_CPU_FLOPS = 5e11
"""A prefill that would take a CPU many seconds is not timed."""


@torch.inference_mode()
def time_prefill(
    config: ModelConfig, weights: Weights, clock: DeviceClock, n_tokens: int = PROMPT_TOKENS
) -> PrefillTime | None:
    """Time the prefill of one sequence; None where it would take a processor too long.

    Prefill multiplies many rows at once, so it uses torch's usual product, not the one that
    was chosen for the single row of a decode step.
    """
    n_tokens = min(n_tokens, config.max_seq_len)
    model = Transformer(config, weights)
    if model.device.type == "cpu" and 2.0 * config.n_params * n_tokens > MOST_CPU_FLOPS:
        return None
    tokens = torch.zeros(1, n_tokens, dtype=torch.int64, device=model.device)
    cache = model.new_cache(1, n_tokens)

    def once() -> None:
        cache.truncate(0)
        logits = model.prefill(tokens, cache, options=ForwardOptions(fused=True)).logits
        int(logits[0, -1].argmax())

    return PrefillTime(n_tokens, min(clock.time_s(once) for _ in range(RUNS)))
