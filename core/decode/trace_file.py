"""Recorded runs on disk: a compressed npz that is read without torch.

The recording of the default run lets the first page paint before torch has loaded. It is
made from the shipped weights by ``python -m core.decode.record_default``.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from core.config import ModelConfig
from core.decode.records import (
    RunTrace,
    StepCounts,
    StepRecord,
    StepShapes,
    TokenRecord,
    TopToken,
)
from core.decode.settings import SamplingSettings
from core.model.errors import CheckpointError

DEFAULT_TRACE_FILE = Path(__file__).parents[2] / "assets" / "traces" / "default.npz"
DEFAULT_PROMPT = (
    "Once upon a time, there was a little girl named Zolimo. "
    "One night, Zolimo heard a noise. Bang, bang!"
)
DEFAULT_STEPS = 16

_FORMAT = 1
_ARRAYS = ("attn_dots", "attn_weights", "keys", "values")


def save_trace(trace: RunTrace, file: Path) -> None:
    """Write a run: its four arrays, and all the rest as one JSON text."""
    meta = {
        field.name: getattr(trace, field.name)
        for field in fields(trace)
        if field.name not in (*_ARRAYS, "recorded")
    }
    meta["config"] = trace.config.to_hf()
    meta["sampling"] = asdict(trace.sampling)
    meta["tokens"] = [{**asdict(t), "piece": t.piece.hex()} for t in trace.tokens]
    meta["steps"] = [asdict(step) for step in trace.steps]
    text = json.dumps({"format": _FORMAT, **meta}, ensure_ascii=False)
    arrays = {name: getattr(trace, name) for name in _ARRAYS}
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as stream:
        np.savez_compressed(stream, meta=np.frombuffer(text.encode(), np.uint8), **arrays)


def load_trace(file: Path = DEFAULT_TRACE_FILE) -> RunTrace:
    """Read a run written by :func:`save_trace`, marked as recorded.

    Raises: CheckpointError naming the file if it is missing, damaged or of another format.
    """
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            meta = json.loads(stored["meta"].tobytes())
            arrays = {name: stored[name] for name in _ARRAYS}
        if meta.pop("format") != _FORMAT:
            raise CheckpointError(file, "has another format")
        return _trace_from(meta, arrays)
    except FileNotFoundError as error:
        raise CheckpointError(file, "is missing") from error
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(file, "is damaged") from error


def _trace_from(meta: dict[str, Any], arrays: dict[str, Any]) -> RunTrace:
    meta["config"] = ModelConfig.from_hf(meta["config"])
    meta["sampling"] = SamplingSettings(**meta["sampling"])
    meta["tokens"] = tuple(
        TokenRecord(**{**token, "piece": bytes.fromhex(token["piece"])}) for token in meta["tokens"]
    )
    meta["steps"] = tuple(_step_from(step) for step in meta["steps"])
    meta["notes"] = tuple(meta["notes"])
    meta["head_off"] = tuple(meta["head_off"]) if meta["head_off"] is not None else None
    return RunTrace(**meta, **arrays, recorded=True)


def _step_from(step: dict[str, Any]) -> StepRecord:
    shapes = {name: tuple(shape) for name, shape in step["shapes"].items()}
    parts = {
        "shapes": StepShapes(**shapes),
        "counts": StepCounts(**step["counts"]),
        "logits_top": tuple(TopToken(**top) for top in step["logits_top"]),
    }
    return StepRecord(**{**step, **parts})
