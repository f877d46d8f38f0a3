"""What a run sends to the browser: one record, every displayed string already formatted.

Arrays travel as base64 of little-endian float16: packed lower triangles of q.k and of the
attention weights for all layers and heads, and the cached keys and values. The browser draws
and computes nothing but positions.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.decode.records import RunTrace, StepRecord, TokenRecord
from core.model.token_text import StreamDecoder, readable_text
from pages.ui import units
from pages.ui.captions import step_caption, stop_sentence
from pages.ui.heads import named_heads
from pages.ui.tiles import step_tiles

FORMAT = 1
_FLOAT16_MAX = 65504.0


def run_key(trace: RunTrace) -> str:
    """Return a short name of the run that stays the same while the run is extended."""
    parts = (
        trace.model_sha256,
        trace.dtype,
        trace.sampling,
        trace.head_off,
        trace.ids[: trace.n_prompt],
    )
    return "run-" + hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def run_payload(trace: RunTrace, limit: int | None = None) -> dict[str, Any]:
    """Return the run in the form that the stages draw; ``limit`` is the most steps allowed."""
    config = trace.config
    return {
        "format": FORMAT,
        "id": run_key(trace),
        "recorded": trace.recorded,
        "dtype": trace.dtype,
        "model": {
            "n_layers": config.n_layers,
            "n_heads": config.n_heads,
            "n_kv_heads": config.n_kv_heads,
            "head_dim": config.head_dim,
            "d_model": config.d_model,
            "max_seq_len": config.max_seq_len,
        },
        "n_prompt": trace.n_prompt,
        "n_rows": trace.n_rows,
        "scale": trace.scale,
        "tokens": [_token(token) for token in trace.tokens],
        "dots": pack(trace.attn_dots),
        "weights": pack(trace.attn_weights),
        "keys": pack(trace.keys),
        "values": pack(trace.values),
        "heads": [vars(head) for head in named_heads()],
        "steps": _steps(trace),
        "stop": {
            "reason": trace.stop_reason,
            "sentence": stop_sentence(trace, limit),
            "more": trace.stop_reason == "steps" and (limit is None or trace.n_steps < limit),
        },
        "notes": list(trace.notes),
    }


def pack(array: NDArray[np.float32]) -> str:
    """Return an array as base64 of float16, little-endian; values beyond its range are cut."""
    half = np.clip(array, -_FLOAT16_MAX, _FLOAT16_MAX).astype("<f2")
    return base64.b64encode(half.tobytes()).decode("ascii")


def _token(token: TokenRecord) -> dict[str, Any]:
    text = readable_text(token.text)
    return {"label": token.label, "id": token.id, "text": text, "source": token.source}


def _steps(trace: RunTrace) -> list[dict[str, Any]]:
    texts = _running_text(trace)
    return [
        {
            "caption": step_caption(trace, record.index),
            "shapes": {name: units.shape(dims) for name, dims in vars(record.shapes).items()},
            "panel": step_tiles(trace, record.index),
            "top": _top(record, trace.tokens[trace.n_prompt + record.index]),
            "chosen": trace.tokens[trace.n_prompt + record.index].label,
            "text": texts[record.index],
        }
        for record in trace.steps
    ]


def _top(record: StepRecord, chosen: TokenRecord) -> list[dict[str, Any]]:
    """The likeliest next tokens, and the chosen one after them where it is not among them."""
    rows = [(top.id, top.label, top.prob) for top in record.logits_top]
    if record.chosen_id not in [row[0] for row in rows]:
        rows.append((chosen.id, chosen.label, record.chosen_prob))
    return [
        {
            "label": label,
            "prob": prob,
            "prob_text": units.percent(prob),
            "chosen": token_id == record.chosen_id,
        }
        for token_id, label, prob in rows
    ]


def _running_text(trace: RunTrace) -> list[list[list[str]]]:
    """The text after each step as parts: prompt, generated before, newly chosen.

    A character whose bytes are spread over several tokens appears with the last of them.
    """
    decoder = StreamDecoder()
    pieces = [decoder.push(token.piece) or _special(token) for token in trace.tokens]
    prompt = "".join(pieces[: trace.n_prompt])
    found = []
    for record in trace.steps:
        newest = trace.n_prompt + record.index
        before = "".join(pieces[trace.n_prompt : newest])
        parts = [(prompt, "prompt"), (before, "generated"), (pieces[newest], "new")]
        found.append([[readable_text(text), role] for text, role in parts if text])
    return found


def _special(token: TokenRecord) -> str:
    """A special token has no bytes: the end is shown by its label, the start not at all."""
    return token.label if not token.piece and token.source == "generated" else ""
