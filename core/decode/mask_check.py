"""Why a decode step needs no mask: its row computed with one and without, and compared.

The causal mask hides keys that come later than the query. In a decode step the newest token
asks, and the cache ends with that token, so there is nothing to hide.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from core.decode.records import RunTrace
from core.model.attention import attend, causal_mask
from core.model.checkpoint import LoadedModel


@dataclass(frozen=True)
class MaskCheck:
    """One pass's attention with the causal mask against the same without, all layers and heads.

    ``n_masked`` is how many of the ``n_scores`` of one head the mask hides. Differences are
    the largest over all weights and over all outputs.
    """

    n_scores: int
    n_masked: int
    max_abs_weight_diff: float
    max_abs_output_diff: float

    @property
    def identical(self) -> bool:
        """Whether the mask changed nothing, bit for bit."""
        return self.max_abs_weight_diff == 0.0 and self.max_abs_output_diff == 0.0


def check_mask(model: LoadedModel, trace: RunTrace, step: int) -> MaskCheck:
    """Compute step ``step`` of a run again and compare its attention with and without a mask.

    Raises: ValueError if the run has no such step, or the model's precision is not the run's
    """
    if not 0 <= step <= trace.n_steps:
        raise ValueError(f"step must be from 0 to {trace.n_steps}, got {step}")
    if model.dtype_name != trace.dtype:
        raise ValueError(f"the model must compute in {trace.dtype}, got {model.dtype_name}")
    transformer, n_rows = model.transformer, trace.rows_after(step)
    tokens = torch.tensor([trace.ids[:n_rows]], device=transformer.device)
    cache = transformer.new_cache()
    if step == 0:
        result = transformer.prefill(tokens, cache, record=True)
    else:
        transformer.prefill(tokens[:, :-1], cache)
        result = transformer.decode_step(tokens[:, -1:], cache, record=True)
    weight_diff = output_diff = 0.0
    n_new, context_len = result.layers[0].q.shape[2], cache.length
    mask = causal_mask(n_new, context_len, transformer.device)
    for layer in result.layers:
        masked, bare = attend(layer.q, layer.k, layer.v, mask), attend(layer.q, layer.k, layer.v)
        weight_diff = max(weight_diff, float((masked.weights - bare.weights).abs().max()))
        output_diff = max(output_diff, float((masked.output - bare.output).abs().max()))
    return MaskCheck(mask.numel(), int((~mask).sum()), weight_diff, output_diff)
