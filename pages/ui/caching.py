"""Everything that outlives a script run: the only ``st.cache_*`` of the app, and session runs.

Shared by all sessions: models and recorded runs, both read-only. Owned by one session: its
run, with its own KV cache and random numbers.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.decode.records import RunTrace
from core.decode.trace_file import DEFAULT_STEPS, DEFAULT_TRACE_FILE, load_trace
from core.model.errors import CheckpointError
from core.model.manifest import MODEL_FOLDER, read_manifest
from pages.ui.captions import mask_sentence
from pages.ui.defaults import default_settings
from pages.ui.payload import run_key, run_payload
from pages.ui.proofs import proof_payload
from pages.ui.settings import RunSettings
from pages.ui.shelf import ModelShelf

if TYPE_CHECKING:
    from core.decode.trace import Run
    from core.machine.device_list import DeviceList
    from core.machine.queue import MeasureService

WARM_UP_S = float(os.environ.get("ONE_NEW_ROW_WARM_UP_S", "1.5"))
"""Seconds after the first page until torch is loaded in the background."""

_RUN = "_run"
_OTHER = "_other_run"


@st.cache_resource(show_spinner=False)
def models() -> ModelShelf:
    """The models of this server."""
    return ModelShelf()


@st.cache_resource(show_spinner=False)
def recorded_default() -> RunTrace:
    """The default run as it was recorded: the first page needs no torch.

    Raises: CheckpointError if the recording is missing, damaged or of other weights
    """
    trace = load_trace()
    if trace.model_sha256 != read_manifest(MODEL_FOLDER).model_sha256:
        raise CheckpointError(DEFAULT_TRACE_FILE, "was recorded with other weights")
    return trace


@st.cache_resource(show_spinner=False)
def measurements() -> MeasureService:
    """The queue of measurements of this host: one at a time, whoever asks.

    Raises: ValueError if a limit in the environment cannot be read
    """
    from core.machine.queue import MeasureService

    return MeasureService()


@st.cache_resource(show_spinner=False)
def devices() -> DeviceList:
    """The devices of this host, being asked for in the background."""
    from core.machine.device_list import DeviceList

    found = DeviceList()
    found.start()
    return found


@dataclass
class SessionRun:
    """A session's run: the live decoder if there is one, what it did, what it sends.

    A rerun may start while the script that it replaces is still on its way to its end, so two
    threads can meet here: whatever computes holds the lock.
    """

    identity: tuple[object, ...]
    limit: int
    trace: RunTrace
    run: Run | None = None
    _payload: dict[str, Any] | None = field(default=None, repr=False)
    _proofs: dict[bool, dict[str, Any]] = field(default_factory=dict, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def key(self) -> str:
        """Name of the run's payload in the browser; extending a run does not change it."""
        return run_key(self.trace)

    @property
    def can_go_on(self) -> bool:
        """Whether more steps may follow: within the limit, no end token, room in the context."""
        if self.trace.n_steps >= self.limit:
            return False
        return self.trace.stop_reason == "steps"

    def payload(self) -> dict[str, Any]:
        """What the browser draws, made once per extension."""
        with self._lock:
            if self._payload is None:
                self._payload = run_payload(self.trace, self.limit)
                if self.run is not None:
                    self._payload["mask_check"] = {"sentence": self._mask_sentence()}
            return self._payload

    def _mask_sentence(self) -> str:
        """Check the causal mask on this run now: the prefill, and the newest decode row."""
        from core.decode.mask_check import check_mask

        model = models().get(self.trace.dtype)
        prefill = check_mask(model, self.trace, 0)
        if self.trace.n_steps == 0:
            return mask_sentence(prefill, None)
        return mask_sentence(prefill, check_mask(model, self.trace, self.trace.n_steps))

    def extend(self, n_steps: int) -> None:
        """Compute steps up to ``n_steps``, as far as the limit and the run allow."""
        with self._lock:
            missing = min(n_steps, self.limit) - self.trace.n_steps
            if self.run is not None and missing > 0 and self.can_go_on:
                self.trace = self.run.extend(missing)
                self._payload, self._proofs = None, {}

    def proof(self, *, same_order: bool) -> dict[str, Any]:
        """The proof of every step, computed once per extension and order of summation.

        Raises: CheckpointError if the model cannot be loaded
        """
        from core.decode.proof import prove_run

        with self._lock:
            if same_order not in self._proofs:
                model = models().get(self.trace.dtype)
                proof = prove_run(model, self.trace, same_order=same_order)
                self._proofs[same_order] = proof_payload(proof)
            return self._proofs[same_order]

    def set_limit(self, limit: int) -> None:
        """Change how many steps the run may take; it says so when it stops."""
        with self._lock:
            if limit != self.limit:
                self.limit, self._payload = limit, None


def prepare() -> None:
    """Let torch load in the background soon after the first page."""
    models().warm_up("float32", WARM_UP_S)


def session_run(settings: RunSettings, n_steps: int = 0) -> SessionRun:
    """Return the session's run for these settings, with at least ``n_steps`` steps if it can.

    The default run is the recorded one until the model is there. A run that is already there
    is extended, never started again, so its rows keep their values.

    Raises: CheckpointError if the model is needed and its files cannot be used
    """
    identity = (settings.prompt, settings.sampling, settings.dtype)
    wanted = max(n_steps, DEFAULT_STEPS)
    found: SessionRun | None = st.session_state.get(_RUN)
    fits = found is not None and found.identity == identity
    if fits and found is not None and found.trace.n_steps <= settings.steps:
        found.set_limit(settings.steps)
        if found.run is None and (found.trace.n_steps < wanted or models().is_ready("float32")):
            found = _start(settings, identity, max(wanted, found.trace.n_steps))
        found.extend(wanted)
    else:
        recorded = _recorded(settings, wanted)
        if recorded is not None:
            found = SessionRun(identity, settings.steps, recorded)
        else:
            found = _start(settings, identity, wanted)
    st.session_state[_RUN] = found
    return found


def last_run() -> SessionRun | None:
    """The run that the session saw last, if any."""
    found: SessionRun | None = st.session_state.get(_RUN)
    return found


def run_with_head_off(base: SessionRun, layer: int, head: int) -> SessionRun:
    """Return the same run with one head's output removed, as long as the original.

    Raises: CheckpointError if the model's files cannot be used
    """
    identity = (*base.identity, layer, head)
    found: SessionRun | None = st.session_state.get(_OTHER)
    if found is None or found.identity != identity or found.trace.n_steps > base.limit:
        found = _new_run(base, identity, layer, head)
    found.set_limit(base.limit)
    found.extend(base.trace.n_steps)
    st.session_state[_OTHER] = found
    return found


def _recorded(settings: RunSettings, n_steps: int) -> RunTrace | None:
    """The recorded run, where it is the one asked for and the live model is not there yet."""
    default = default_settings()
    asked = (settings.prompt, settings.sampling, settings.dtype)
    if asked != (default.prompt, default.sampling, default.dtype):
        return None
    if models().is_ready(settings.dtype) or not n_steps <= DEFAULT_STEPS <= settings.steps:
        return None
    try:
        return recorded_default()
    except CheckpointError:
        return None  # the live model says what is wrong, if it is wrong there too


def _start(settings: RunSettings, identity: tuple[object, ...], n_steps: int) -> SessionRun:
    model = models().get(settings.dtype)
    from core.decode.trace import Run

    run = Run(model, settings.prompt, settings.sampling, room=DEFAULT_STEPS)
    trace = run.extend(min(n_steps, settings.steps))
    return SessionRun(identity, settings.steps, trace, run)


def _new_run(base: SessionRun, identity: tuple[object, ...], layer: int, head: int) -> SessionRun:
    model = models().get(base.trace.dtype)
    from core.decode.trace import Run

    run = Run(
        model, base.trace.prompt, base.trace.sampling, room=DEFAULT_STEPS, head_off=(layer, head)
    )
    return SessionRun(identity, base.limit, run.extend(base.trace.n_steps), run)
