"""The parent's side of a measuring process: start it, read its events, end it for certain."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from core.machine.jsonable import to_plain
from core.machine.spec import MeasureSpec

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "core.machine.worker_main")
STOP_S = 2.0
STDERR_TAIL = 2000
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""A server keeps its own threads few; the measurement chooses for itself."""

Event = dict[str, Any]


class Worker(Protocol):
    """What the queue needs of a measuring process."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def next_event(self, timeout_s: float) -> Event | None:
        """The next event, or None if none came in time."""

    def stop(self) -> None:
        """End it, if it has not ended, and give everything back."""


class WorkerProcess:
    """A spawned process that makes one measurement.

    Its last event is always "result" or "error": when the process dies without either, an
    error is made from how it ended.
    """

    def __init__(self, spec: MeasureSpec, command: Sequence[str] = COMMAND) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 it lives as long as the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=ROOT,
            env=worker_environment(),
        )
        self._events: queue.Queue[Event] = queue.Queue()
        self._reader = threading.Thread(target=self._read, name="measure-pipe", daemon=True)
        self._reader.start()
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(to_plain(spec)).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended at once; the reader makes the error that says how

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def _read(self) -> None:
        """Hand the process's lines over as events until it closes its end."""
        assert self._process.stdout is not None
        last: Event = {}
        for line in self._process.stdout:
            try:
                last = json.loads(line)
            except ValueError:
                last = {"event": "error", "message": f"a line is not an event: {line[:80]!r}"}
            self._events.put(last)
        if last.get("event") not in ("result", "error"):
            self._events.put({"event": "error", "message": self._how_it_ended()})

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        if code == -9:
            return "the system ended the measuring process, most likely for lack of memory"
        if code < 0:
            return f"the measuring process was ended by signal {-code}"
        self._errors.seek(max(0, os.fstat(self._errors.fileno()).st_size - STDERR_TAIL))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else "it said nothing"
        return f"the measuring process ended with code {code} and no result: {why}"

    def next_event(self, timeout_s: float) -> Event | None:
        """The next event, or None if none came in time."""
        try:
            return self._events.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def stop(self) -> None:
        """End the process, wait for it, and close every pipe; a second call does nothing."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:
                continue  # what was not flushed has no reader any more


def worker_environment() -> dict[str, str]:
    """The parent's environment with the repository importable, its thread counts left out."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    inherited = {k: v for k, v in os.environ.items() if k not in THREAD_VARIABLES}
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONUNBUFFERED": "1",
        "KINETO_LOG_LEVEL": "5",
    }
