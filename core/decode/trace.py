"""A run whose rows are kept: prefill and cached decode steps, packed for the pages.

A :class:`Run` belongs to one session. It can be extended with the same cache; every
:meth:`Run.extend` returns a new :class:`RunTrace`, and earlier rows come out of it unchanged.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from core.decode.generate import Decoder, StepResult
from core.decode.records import (
    Floats,
    RunTrace,
    Source,
    StepCounts,
    StepRecord,
    StepShapes,
    TokenRecord,
    TopToken,
    row_start,
)
from core.decode.settings import SamplingSettings
from core.model.checkpoint import LoadedModel
from core.model.tokenizer import EncodedPrompt, Tokenizer
from core.model.transformer import ForwardOptions, LayerRecord, WorkCounts

N_TOP = 10
"""How many of the likeliest next tokens a step lists."""


class Run:
    """One prompt being decoded with its rows kept; owns its KV cache and random numbers.

    ``head_off`` is a (layer, head) whose output is removed in every pass.

    Raises: ValueError if ``head_off`` names no head, or the prompt is empty.
    """

    def __init__(
        self,
        model: LoadedModel,
        prompt: str,
        settings: SamplingSettings | None = None,
        *,
        room: int = 0,
        head_off: tuple[int, int] | None = None,
        ignore_end: bool = False,
    ) -> None:
        _check_head(model, head_off)
        self._model = model
        self._prompt = prompt
        self._head_off = head_off
        self._encoded = encode_for_run(model, prompt, room)
        self._decoder = Decoder(
            model.transformer,
            self._encoded.ids,
            settings or SamplingSettings(),
            options=ForwardOptions(head_off=head_off),
            ignore_end=ignore_end,
        )
        self._dots = _PackedRows(model.config.n_layers, model.config.n_heads)
        self._weights = _PackedRows(model.config.n_layers, model.config.n_heads)
        self._steps: list[StepRecord] = []

    @property
    def can_go_on(self) -> bool:
        """Whether another step is possible: no end token, and room in the context."""
        return self._decoder.stop_reason is None

    def extend(self, n_steps: int) -> RunTrace:
        """Run the prefill if it has not run yet, then up to ``n_steps`` cached decode steps.

        Raises: ValueError if ``n_steps`` is negative.
        """
        if n_steps < 0:
            raise ValueError(f"n_steps must be at least 0, got {n_steps}")
        wanted = max(len(self._steps), 1) + n_steps
        while len(self._steps) < wanted and self.can_go_on:
            self._advance()
        return self.trace()

    def trace(self) -> RunTrace:
        """Return what has run so far, in arrays of its own.

        Raises: ValueError before the first :meth:`extend`.
        """
        if not self._steps:
            raise ValueError("nothing has run yet: call extend first")
        decoder, cache = self._decoder, self._decoder.kv_cache
        layers = range(cache.n_layers)
        return RunTrace(
            config=self._model.config,
            model_sha256=self._model.model_sha256,
            dtype=self._model.dtype_name,
            weight_bytes=self._model.transformer.weights.total_bytes,
            sampling=decoder.settings,
            prompt=self._prompt,
            tokens=_token_records(self._model.tokenizer, decoder.tokens, decoder.n_prompt),
            n_prompt=decoder.n_prompt,
            steps=tuple(self._steps),
            attn_dots=self._dots.packed(),
            attn_weights=self._weights.packed(),
            keys=np.stack([_to_numpy(cache.keys(layer)[0]) for layer in layers]),
            values=np.stack([_to_numpy(cache.values(layer)[0]) for layer in layers]),
            stop_reason=decoder.stop_reason or "steps",
            notes=self._encoded.notes,
            head_off=self._head_off,
        )

    def _advance(self) -> None:
        counts = WorkCounts()
        result = self._decoder.advance(record=True, counts=counts)
        self._dots.append([layer.attn_dots[0] for layer in result.layers])
        self._weights.append([layer.attn_weights[0] for layer in result.layers])
        self._steps.append(self._step_record(result, counts))

    def _step_record(self, result: StepResult, counts: WorkCounts) -> StepRecord:
        config, cache = self._model.config, self._decoder.kv_cache
        top, chosen_prob = _likeliest(self._model.tokenizer, result.logits, result.token_id)
        per_head = config.n_layers * config.n_heads
        return StepRecord(
            index=len(self._steps),
            position=result.position - 1,
            input_id=self._decoder.tokens[result.position - 1],
            n_new=result.n_new,
            context_len=result.context_len,
            shapes=_shapes(result.layers[0]),
            counts=StepCounts(
                counts.scores_kept // per_head,
                counts.scores_executed // per_head,
                counts.kv_projections // config.n_layers,
            ),
            logits_top=top,
            chosen_id=result.token_id,
            chosen_prob=chosen_prob,
            kv_bytes_in_use=cache.bytes_in_use,
            kv_bytes_allocated=cache.bytes_allocated,
            elapsed_s=result.elapsed_s,
        )


def encode_for_run(model: LoadedModel, prompt: str, room: int) -> EncodedPrompt:
    """Return the prompt's ids; one place of the context stays free for a new token.

    A prompt that does not fit leaves ``room`` decode steps as well.
    """
    return model.tokenizer.encode_prompt(prompt, model.config.max_seq_len - 1, room)


class _PackedRows:
    """Rows of all layers and heads behind one another, in arrays that double when full."""

    def __init__(self, n_layers: int, n_heads: int) -> None:
        self._store: Floats = np.empty((n_layers, n_heads, row_start(32)), np.float32)
        self._n_rows = 0

    def append(self, layers: list[Tensor]) -> None:
        """Add the lower-triangle rows of one pass, per layer (H, T, S)."""
        n_new, context_len = layers[0].shape[1], layers[0].shape[2]
        begin, end = row_start(self._n_rows), row_start(context_len)
        if end > self._store.shape[2]:
            larger = np.empty((*self._store.shape[:2], 2 * end), np.float32)
            larger[..., :begin] = self._store[..., :begin]
            self._store = larger
        if n_new == 1:
            for index, layer in enumerate(layers):
                self._store[index, :, begin:end] = _to_numpy(layer)[:, 0]
        else:
            rows, columns = np.tril_indices(n_new, context_len - n_new, context_len)
            for index, layer in enumerate(layers):
                self._store[index, :, begin:end] = _to_numpy(layer)[:, rows, columns]
        self._n_rows = context_len

    def packed(self) -> Floats:
        """A copy of all rows, (L, H, n (n + 1) / 2)."""
        return self._store[..., : row_start(self._n_rows)].copy()


def _to_numpy(tensor: Tensor) -> Floats:
    array: Floats = tensor.float().cpu().numpy()
    return array


def _shapes(layer: LayerRecord) -> StepShapes:
    """Shapes of one head, read off the tensors of the first layer."""

    def of_head(tensor: Tensor) -> tuple[int, ...]:
        return tuple(tensor.shape[2:])

    return StepShapes(
        q=of_head(layer.q),
        k=of_head(layer.k),
        scores=of_head(layer.attn_dots),
        weights=of_head(layer.attn_weights),
        v=of_head(layer.v),
        output=of_head(layer.attn_output),
    )


def _likeliest(
    tokenizer: Tokenizer, logits: Tensor, chosen_id: int
) -> tuple[tuple[TopToken, ...], float]:
    """The likeliest tokens with the model's own probability, and that of the chosen one."""
    wide = logits.cpu().double().numpy()
    probs = np.exp(wide - wide.max())
    probs /= probs.sum()
    least = np.partition(wide, -N_TOP)[-N_TOP]
    likely = np.flatnonzero(wide >= least)
    order = likely[np.argsort(-wide[likely], kind="stable")][:N_TOP]  # ties: the lowest id first
    top = tuple(
        TopToken(int(i), tokenizer.label(i), tokenizer.text(i), float(wide[i]), float(probs[i]))
        for i in order
    )
    return top, float(probs[chosen_id])


def _token_records(
    tokenizer: Tokenizer, tokens: list[int], n_prompt: int
) -> tuple[TokenRecord, ...]:
    def record(position: int, token_id: int) -> TokenRecord:
        source: Source = "prompt" if position < n_prompt else "generated"
        return TokenRecord(
            position,
            token_id,
            tokenizer.piece(token_id),
            tokenizer.text(token_id),
            tokenizer.label(token_id),
            source,
        )

    return tuple(record(position, token_id) for position, token_id in enumerate(tokens))


def _check_head(model: LoadedModel, head_off: tuple[int, int] | None) -> None:
    if head_off is None:
        return
    limits = (("layer", model.config.n_layers), ("head", model.config.n_heads))
    for (name, limit), value in zip(limits, head_off, strict=True):
        if not 0 <= value < limit:
            raise ValueError(f"head_off: {name} must be 0 to {limit - 1}, got {value}")
