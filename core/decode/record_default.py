"""Record the default run from the shipped weights: ``python -m core.decode.record_default``."""

from __future__ import annotations

from pathlib import Path

import torch

from core.decode.records import RunTrace
from core.decode.trace import Run
from core.decode.trace_file import DEFAULT_PROMPT, DEFAULT_STEPS, DEFAULT_TRACE_FILE, save_trace
from core.model.checkpoint import LoadedModel, load_model
from core.model.manifest import MODEL_FOLDER


def default_run(model: LoadedModel) -> RunTrace:
    """Run the default prompt: greedy, 16 cached decode steps."""
    return Run(model, DEFAULT_PROMPT, room=DEFAULT_STEPS).extend(DEFAULT_STEPS)


def record_default(folder: Path = MODEL_FOLDER, file: Path = DEFAULT_TRACE_FILE) -> RunTrace:
    """Run the default prompt on the model in ``folder``, write it to ``file`` and return it."""
    torch.set_num_threads(1)
    trace = default_run(load_model(folder))
    save_trace(trace, file)
    return trace


if __name__ == "__main__":
    record_default()
