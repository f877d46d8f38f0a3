"""Does watching slow what is watched? The same bench alone, and with thirty watchers at 4 Hz.

Both run in a process of their own, turn by turn. Alone means that nobody reads along; watched
means that thirty sessions poll the queue four times a second, as an open page does.
"""

from __future__ import annotations

import statistics
import threading

from benchmarks.figures import Figure
from core.config import ModelConfig
from core.machine.caps import Caps
from core.machine.jsonable import from_plain
from core.machine.queue import MeasureService
from core.machine.records import MeasureResult
from core.machine.spec import MeasureSpec
from core.machine.worker import WorkerProcess

TITLE = "Inter-token latency alone and watched"
ROUNDS = 3
WATCHERS = 30
BEAT_S = 0.25
SHAPE = ModelConfig(
    n_layers=4,
    d_model=2048,
    n_heads=16,
    n_kv_heads=4,
    head_dim=128,
    d_ff=6144,
    vocab_size=8192,
    max_seq_len=4096,
)
SPEC = MeasureSpec(
    device="cpu", config=SHAPE, n_threads=1, n_steps=64, context_len=128, probe_bytes=512_000_000
)


def measure() -> list[Figure]:
    """Measure both ways in turns; equal within their spread is the aim."""
    alone, watched = [], []
    for _ in range(ROUNDS):
        alone.append(_alone())
        watched.append(_watched())
    ratio = statistics.median(watched) / statistics.median(alone)
    spread = max((max(runs) - min(runs)) / statistics.median(runs) for runs in (alone, watched))
    return [
        Figure("ITL p50, alone", statistics.median(alone) * 1e3, "ms", note=_all(alone)),
        Figure("ITL p50, watched", statistics.median(watched) * 1e3, "ms", note=_all(watched)),
        Figure(
            "watched over alone, less 1, over the spread",
            max(0.0, ratio - 1) / spread,
            "",
            at_most=1.0,
            note=f"ratio {ratio:.3f}, spread {spread:.0%}",
        ),
    ]


def _all(runs: list[float]) -> str:
    return ", ".join(f"{value * 1e3:.2f}" for value in runs)


def _alone() -> float:
    worker = WorkerProcess(SPEC)
    try:
        while True:
            event = worker.next_event(600.0)
            if event is None or event["event"] == "error":
                raise RuntimeError(f"the measurement failed: {event}")
            if event["event"] == "result":
                return from_plain(MeasureResult, event["result"]).points[0].itl_s.p50
    finally:
        worker.stop()


def _watched() -> float:
    service = MeasureService(caps=Caps())
    ticket = service.join(SPEC, "watcher 0", again=True)
    pause = threading.Event()
    try:
        while True:
            for watcher in range(WATCHERS):
                view = service.poll(ticket, f"watcher {watcher}")
                if view.result is not None:
                    return view.result.points[0].itl_s.p50
                if view.ended:
                    raise RuntimeError(f"the measurement ended: {view.state}, {view.why}")
                pause.wait(BEAT_S / WATCHERS)
    finally:
        service.close()
