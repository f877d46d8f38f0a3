"""The process that measures: reads one spec, writes events, ends when its parent does.

Started as ``python -m core.machine.worker_main``. One JSON line on standard input is the spec;
every event is one JSON line on standard output. Threads, the oneDNN switch and all memory are
this process's own, so ending it gives everything back.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import IO, Any

from core.machine.jsonable import from_plain, to_plain
from core.machine.spec import MeasureSpec
from core.model.errors import CheckpointError


def main() -> int:
    """Measure what standard input asks for."""
    # What a library prints must not get between the events, so it goes to standard error.
    events = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    spec = from_plain(MeasureSpec, json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_parent, args=(sys.stdin,), daemon=True).start()
    return run(spec, events)


def run(spec: MeasureSpec, events: IO[str]) -> int:
    """Make the measurement and write its events, the result or the error last."""

    def emit(event: dict[str, Any]) -> None:
        events.write(json.dumps(event, allow_nan=False) + "\n")

    from core.machine.runs import measure  # torch, a second or two: after the pipe is set up

    try:
        result = measure(spec, emit)
    except (ValueError, RuntimeError, OSError, MemoryError, CheckpointError) as error:
        emit({"event": "error", "message": " ".join(str(error).split()) or repr(error)})
        return 1
    emit({"event": "result", "result": to_plain(result)})
    return 0


def _end_with_parent(pipe: IO[str]) -> None:
    """Standard input closes when the parent closes it or dies; then there is nobody to tell."""
    pipe.read()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
