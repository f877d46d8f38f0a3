"""The proof of a run: every cached pass against a full pass without a cache.

The run is decoded again, token by token, on a fresh cache; before and after each step the
bytes of the older keys and values are hashed. Beside it the full pass recomputes everything.
Costs about one full pass per step, so pages ask for it after the picture is there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from core.decode.proof_record import RunProof, StepProof
from core.decode.records import RunTrace
from core.model.checkpoint import LoadedModel
from core.model.kv_cache import KVCache
from core.model.transformer import ForwardOptions, ForwardResult, Transformer


def prove_run(model: LoadedModel, trace: RunTrace, *, same_order: bool = False) -> RunProof:
    """Prove every pass of the run and collect the verdicts.

    Raises: ValueError if the model's precision is not the run's.
    """
    steps = tuple(prove_steps(model, trace, same_order=same_order))
    return RunProof(trace.dtype, same_order, steps)


def prove_steps(
    model: LoadedModel, trace: RunTrace, *, same_order: bool = False
) -> Iterator[StepProof]:
    """Yield the proof of the prefill, then of each cached decode step.

    ``same_order`` lets both ways add up in the same order: enough rows in every product and
    norm, and a softmax over a fixed length.

    Raises: ValueError if the model's precision is not the run's.
    """
    if model.dtype_name != trace.dtype:
        raise ValueError(f"the model must compute in {trace.dtype}, got {model.dtype_name}")
    options = ForwardOptions(same_order=same_order, head_off=trace.head_off)
    return _prove(model.transformer, trace, options)


def _prove(model: Transformer, trace: RunTrace, options: ForwardOptions) -> Iterator[StepProof]:
    tokens = torch.tensor([trace.ids], device=model.device)
    cache = model.new_cache()
    for step in trace.steps:
        start, end = cache.length, trace.rows_after(step.index)
        before = cache.digest(start)
        cached = _cached_pass(model, tokens[:, start:end], cache, options)
        unchanged = cache.digest(start) == before
        with torch.inference_mode():
            full = model.full_pass(tokens[:, :end], options=options, record=True)
        full_logits, full_rows = _last_logits(full), _last_rows(full)
        logits, rows = _last_logits(cached), _last_rows(cached)
        top = full_logits.topk(2)
        yield StepProof(
            index=step.index,
            dtype=trace.dtype,
            max_abs_logit_diff=_max_abs_diff(logits, full_logits),
            max_abs_row_diff=_max_abs_diff(rows, full_rows),
            same_argmax=int(logits.argmax()) == int(full_logits.argmax()),
            old_kv_unchanged=unchanged,
            appended=cache.length - start,
            n_new=step.n_new,
            trace_diff=_max_abs_diff(rows, _shown_rows(trace, end - 1)),
            top_gap=float(top.values[0] - top.values[1]),
            logit_span=float(full_logits.max() - full_logits.min()),
        )


def _cached_pass(
    model: Transformer, new: Tensor, cache: KVCache, options: ForwardOptions
) -> ForwardResult:
    run = model.decode_step if cache.length else model.prefill
    return run(new, cache, options=options, record=True)


def _last_logits(result: ForwardResult) -> Tensor:
    """The last token's logits, (V,), exactly widened to float64."""
    return result.logits[0, -1].cpu().double()


def _last_rows(result: ForwardResult) -> Tensor:
    """The last token's attention weights in all layers and heads, (L, H, S)."""
    rows = torch.stack([layer.attn_weights[0, :, -1] for layer in result.layers])
    return rows.cpu().double()


def _shown_rows(trace: RunTrace, row: int) -> Tensor:
    config = trace.config
    rows = [
        [trace.weights_row(layer, head, row) for head in range(config.n_heads)]
        for layer in range(config.n_layers)
    ]
    return torch.from_numpy(np.array(rows)).double()


def _max_abs_diff(one: Tensor, other: Tensor) -> float:
    """The largest difference; rows of another length have nothing in common."""
    return float((one - other).abs().max()) if one.shape == other.shape else math.inf
