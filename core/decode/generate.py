"""Generation, one token at a time: a prefill chooses the first new token, then cached steps.

Sequential by nature: the token that one pass chooses is what the next pass processes. The
last row of the prefill chooses the first new token, so n new tokens take n - 1 decode steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.decode.records import StopReason
from core.decode.sampling import choose, new_generator
from core.decode.settings import SamplingSettings
from core.model.kv_cache import KVCache
from core.model.transformer import (
    DEFAULT_OPTIONS,
    ForwardOptions,
    LayerRecord,
    Transformer,
    WorkCounts,
)

FUSED = ForwardOptions(fused=True)
"""Attention by torch's fused kernel: faster, and it keeps no rows."""


@dataclass(frozen=True)
class StepResult:
    """One pass and the token that it chose.

    ``token_id`` goes to ``position``; the pass attended to ``context_len`` tokens. Layer
    records are there where they were asked for. ``stop_reason`` is set on the last result.

    Shapes: logits (V,), those of the pass's last token
    Units:  ``elapsed_s`` in seconds: the pass and the choice, nothing else
    """

    token_id: int
    position: int
    n_new: int
    context_len: int
    logits: Tensor
    layers: tuple[LayerRecord, ...]
    elapsed_s: float
    stop_reason: StopReason | None = None


class Decoder:
    """One sequence being decoded: its tokens, its own KV cache, its random numbers.

    The model is shared and stays untouched. ``advance`` runs the prefill first, then one
    cached step per call, until ``stop_reason`` says why it cannot go on.

    Raises: ValueError if there is no token, or no room in the context for a new one.
    """

    def __init__(
        self,
        model: Transformer,
        ids: Sequence[int],
        settings: SamplingSettings,
        *,
        options: ForwardOptions = DEFAULT_OPTIONS,
        ignore_end: bool = False,
    ) -> None:
        limit = model.config.max_seq_len
        if not 1 <= len(ids) < limit:
            raise ValueError(f"a prompt must have 1 to {limit - 1} tokens, got {len(ids)}")
        self.model = model
        self.settings = settings
        self.tokens = list(ids)
        self.n_prompt = len(ids)
        self.kv_cache: KVCache = model.new_cache()
        self._options = options
        self._ignore_end = ignore_end
        self._generator = new_generator(settings)

    @property
    def stop_reason(self) -> StopReason | None:
        """Why no further token can follow: the end token, or a full context."""
        chosen = len(self.tokens) > self.n_prompt
        if chosen and self.tokens[-1] == self.model.config.end_id and not self._ignore_end:
            return "end"
        return "context" if len(self.tokens) >= self.model.config.max_seq_len else None

    def advance(self, *, record: bool = False, counts: WorkCounts | None = None) -> StepResult:
        """Process what is not in the cache yet and choose the next token.

        Raises: ValueError if the run has stopped.
        """
        if self.stop_reason is not None:
            raise ValueError(f"the run has stopped, reason: {self.stop_reason}")
        started = time.perf_counter()
        cached = self.kv_cache.length
        new = torch.tensor([self.tokens[cached:]]).to(self.model.device)
        run = self.model.decode_step if cached else self.model.prefill
        result = run(new, self.kv_cache, options=self._options, record=record, counts=counts)
        logits = result.logits[0, -1]
        chosen = choose(logits, self.settings, self._generator)
        elapsed_s = time.perf_counter() - started
        self.tokens.append(chosen)
        return StepResult(
            token_id=chosen,
            position=len(self.tokens) - 1,
            n_new=new.shape[1],
            context_len=self.kv_cache.length,
            logits=logits,
            layers=result.layers,
            elapsed_s=elapsed_s,
            stop_reason=self.stop_reason,
        )


def generate(
    model: Transformer,
    ids: Sequence[int],
    settings: SamplingSettings,
    n_new: int,
    *,
    options: ForwardOptions = FUSED,
    ignore_end: bool = False,
) -> Iterator[StepResult]:
    """Yield up to ``n_new`` tokens; the last result says why it is the last.

    No rows are kept, so attention is fused unless ``options`` says otherwise.

    Raises: ValueError if ``n_new`` is below 1, or the prompt does not fit the context.
    """
    if n_new < 1:
        raise ValueError(f"n_new must be at least 1, got {n_new}")
    decoder = Decoder(model, ids, settings, options=options, ignore_end=ignore_end)
    return _results(decoder, n_new)


def _results(decoder: Decoder, n_new: int) -> Iterator[StepResult]:
    for index in range(n_new):
        result = decoder.advance()
        if index == n_new - 1 and result.stop_reason != "end":
            result = replace(result, stop_reason="steps")  # even where the context is full now
        yield result
        if result.stop_reason is not None:
            return
