"""The CUDA paths with fakes: graph capture and event timing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch

from core.machine import graph as graph_module
from core.machine.device import cpu_device
from core.machine.graph import as_graph
from core.machine.probe import MIN_SPAN_S, WARM_UP_S, ReadProbe

SIXTEEN_MB = 16 * 2**20


class FakeStream:
    """A stream that only notes who waited for whom."""

    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name

    def wait_stream(self, other: FakeStream) -> None:
        self.log.append(f"{self.name} waits for {other.name}")


class FakeGraph:
    """Records what runs while it is captured, and runs nothing new on replay."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def replay(self) -> None:
        self.log.append("replay")


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """torch.cuda replaced by notes of what was called."""
    log: list[str] = []

    @contextlib.contextmanager
    def noted(what: str) -> Iterator[None]:
        log.append(f"{what} begins")
        yield
        log.append(f"{what} ends")

    cuda = graph_module.torch.cuda
    monkeypatch.setattr(cuda, "device", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(cuda, "Stream", lambda device: FakeStream(log, "side"))
    monkeypatch.setattr(cuda, "current_stream", lambda device: FakeStream(log, "main"))
    monkeypatch.setattr(cuda, "stream", lambda stream: noted("side stream"))
    monkeypatch.setattr(cuda, "CUDAGraph", lambda: FakeGraph(log))
    monkeypatch.setattr(cuda, "graph", lambda graph: noted("capture"))
    return log


def test_a_graph_is_warmed_up_apart_captured_once_and_replayed(log: list[str]) -> None:
    replay = as_graph(lambda: log.append("step"), torch.device("cuda", 0), n_warm_up=3)
    assert log == [
        "side waits for main",
        "side stream begins",
        *["step"] * 3,
        "side stream ends",
        "main waits for side",
        "capture begins",
        "step",
        "capture ends",
    ]
    replay()
    assert log[-1] == "replay"


def test_a_cuda_probe_reads_the_devices_own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty milliseconds and at least ten passes between one pair of events."""

    class FakeEvent:
        def __init__(self, device: str, *, enable_timing: bool) -> None:
            assert (device, enable_timing) == ("cuda", True)

        def record(self) -> None:
            """Noted by the device."""

        def synchronize(self) -> None:
            """Nothing to wait for."""

        def elapsed_time(self, end: FakeEvent) -> float:
            return 50.0

    monkeypatch.setattr(torch, "Event", FakeEvent)
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    monkeypatch.setitem(WARM_UP_S, "cuda", 0.0)
    monkeypatch.setitem(MIN_SPAN_S, "cuda", 0.0)
    device = replace(cpu_device(), kind="cuda")
    probe = ReadProbe(device, SIXTEEN_MB)
    calls: list[int] = []
    kernels: dict[str, Callable[[], object]] = {"counted": lambda: calls.append(1)}
    monkeypatch.setattr(probe, "kernels", lambda: kernels)
    list(probe.prepare())
    calls.clear()
    assert probe.read() == pytest.approx(SIXTEEN_MB / (0.050 / 10))
    assert len(calls) == 10
