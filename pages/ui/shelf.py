"""The models of this server: loaded once, shared by all sessions, warmed in the background.

Importing torch takes more than a second, so the first page must not wait for it: a daemon
thread starts it shortly after. Weights are read-only; no KV cache is ever kept here.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from core.model.errors import CheckpointError

if TYPE_CHECKING:
    from core.model.checkpoint import LoadedModel


class ModelShelf:
    """Loads each precision of the model at most once, whoever asks first."""

    def __init__(self) -> None:
        self._models: dict[str, LoadedModel] = {}
        self._lock = threading.Lock()
        self._warming: threading.Timer | None = None
        self._problem: CheckpointError | None = None

    def is_ready(self, dtype: str) -> bool:
        """Whether :meth:`get` would return at once."""
        return dtype in self._models

    @property
    def problem(self) -> CheckpointError | None:
        """Why the last attempt to load a model failed, or nothing."""
        return self._problem

    def get(self, dtype: str) -> LoadedModel:
        """Return the model in ``dtype``, loading it if nobody has yet.

        Raises: CheckpointError naming the file that is missing or altered;
            ValueError if ``dtype`` is not a precision that runs may compute in
        """
        if dtype not in self._models:
            with self._lock:
                if dtype not in self._models:
                    self._models[dtype] = self._load(dtype)
        return self._models[dtype]

    def warm_up(self, dtype: str, delay_s: float) -> None:
        """Load the model ``delay_s`` from now in a daemon thread; later calls do nothing."""
        with self._lock:
            if self._warming is not None:
                return
            self._warming = threading.Timer(delay_s, self._warm, args=(dtype,))
            self._warming.daemon = True
        self._warming.start()

    def _warm(self, dtype: str) -> None:
        try:
            self.get(dtype)
        except CheckpointError:
            return  # kept as `problem`; whoever needs the model is told then

    def _load(self, dtype: str) -> LoadedModel:
        import torch

        from core.model.checkpoint import DTYPES, load_model

        if dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
        torch.set_num_threads(1)  # two spinning threads on a shared host are 10x slower
        try:
            model = load_model(dtype=DTYPES[dtype])
        except CheckpointError as error:
            self._problem = error
            raise
        self._problem = None
        return model
