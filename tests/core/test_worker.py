"""The measuring process itself: real short runs, ended in the middle, dying in every way."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from core.machine.caps import Caps
from core.machine.jsonable import from_plain, to_plain
from core.machine.queue import MeasureService
from core.machine.records import MeasureResult
from core.machine.spec import MeasureSpec
from core.machine.worker import COMMAND, ROOT, WorkerProcess
from core.machine.worker_main import run

PATIENCE_S = 60.0
SPEC = MeasureSpec(
    kind="probe", device="cpu", probe_bytes=64 * 2**20, n_threads=1, n_steps=20, context_len=16
)
LONG = MeasureSpec(kind="probe", device="cpu", probe_bytes=64 * 2**20, n_threads=1, n_steps=20_000)


def _gone(pid: int) -> bool:
    """Whether the process is gone, not even a zombie."""
    return not Path(f"/proc/{pid}").exists()


def _events(worker: WorkerProcess) -> list[dict[str, Any]]:
    """All events until the last."""
    events: list[dict[str, Any]] = []
    while not events or events[-1]["event"] not in ("result", "error"):
        event = worker.next_event(PATIENCE_S)
        assert event is not None, f"no event in time after {events[-1:]}"
        events.append(event)
    return events


def test_a_real_run_comes_back_over_the_pipe() -> None:
    worker = WorkerProcess(SPEC)
    events = _events(worker)
    worker.stop()
    result = from_plain(MeasureResult, events[-1]["result"])
    assert result.spec == SPEC
    assert result.probe.buffer_bytes == 64 * 2**20
    assert min(result.probe.runs_bytes_per_s) > 0
    assert tuple(e["bytes_per_s"] for e in events if e["event"] == "read") == (
        result.probe.runs_bytes_per_s
    )
    assert _gone(worker.pid)


def test_stopping_ends_the_process_and_leaves_no_thread_or_zombie() -> None:
    before = threading.active_count()
    worker = WorkerProcess(LONG)
    event = worker.next_event(PATIENCE_S)
    while event is not None and event["event"] != "read":
        event = worker.next_event(PATIENCE_S)
    worker.stop()
    worker.stop()
    assert _gone(worker.pid)
    assert threading.active_count() == before


def test_the_service_with_a_real_process_stops_when_left() -> None:
    service = MeasureService(caps=Caps())
    ticket = service.join(LONG, "me")
    pause = threading.Event()
    while not service.poll(ticket, "me").reads:
        pause.wait(0.02)
    service.leave(ticket, "me")
    service.close()
    view = service.poll(ticket, "me")
    assert view.state == "stopped"
    assert view.device is not None
    assert not [t for t in threading.enumerate() if t.name in ("measure", "measure-pipe")]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "lack of memory"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "signal 15"),
        ("raise SystemExit('a library is missing')", "code 1 and no result: a library is missing"),
        ("import os; os._exit(3)", "code 3 and no result: it said nothing"),
        ("print('hello')", "not an event"),
    ],
)
def test_a_dying_process_becomes_an_error_event(script: str, message: str) -> None:
    worker = WorkerProcess(SPEC, [sys.executable, "-c", script])
    last = _events(worker)[-1]
    worker.stop()
    assert last["event"] == "error"
    assert message in last["message"]
    assert _gone(worker.pid)


def test_a_process_that_ignores_the_request_to_end_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.machine.worker.STOP_S", 0.1)
    script = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        'print(\'{"event": "ready"}\', flush=True); time.sleep(600)'
    )
    worker = WorkerProcess(SPEC, [sys.executable, "-c", script])
    assert worker.next_event(PATIENCE_S) == {"event": "ready"}
    worker.stop()
    assert _gone(worker.pid)


def test_the_process_ends_with_its_parent() -> None:
    line = json.dumps(to_plain(LONG)).encode() + b"\n"
    child = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(line)
    child.stdin.flush()
    assert json.loads(child.stdout.readline())["event"] == "device"
    child.stdin.close()  # what the system does for a parent that dies
    assert child.wait(PATIENCE_S) == 0
    child.stdout.close()


def test_a_known_failure_is_one_error_event() -> None:
    text = io.StringIO()
    assert run(MeasureSpec(device="cuda:63"), text) == 1
    event = json.loads(text.getvalue())
    assert event["event"] == "error"
    assert "got 'cuda:63'" in event["message"]


def test_thread_counts_of_the_server_do_not_bind_the_measurement() -> None:
    script = (
        "import json, os;"
        "print(json.dumps({'event': 'error', 'message': os.environ.get('OMP_NUM_THREADS', '-')}))"
    )
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    worker = WorkerProcess(SPEC, [sys.executable, "-c", script])
    assert _events(worker)[-1]["message"] == "-"
    worker.stop()
