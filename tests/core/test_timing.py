"""The device clock with a fake device, and the statistics against numpy. Cases LA-01, LA-02."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.decode.latency import burst_latency, latency, percentile
from core.machine import timing
from core.machine.stats import split_warm_up, spread
from core.machine.timing import DeviceClock, clock_for


class FakeDevice:
    """A device whose calls return at once and whose results are ready later."""

    def __init__(self, launch_ns: int, ready_ns: int) -> None:
        self.launch_ns, self.ready_ns = launch_ns, ready_ns
        self.now_ns, self.done_ns = 0, 0

    def launch(self) -> None:
        self.done_ns = max(self.done_ns, self.now_ns) + self.ready_ns
        self.now_ns += self.launch_ns

    def wait(self) -> None:
        self.now_ns = max(self.now_ns, self.done_ns)

    @property
    def clock(self) -> DeviceClock:
        return DeviceClock(lambda: self.now_ns, self.wait)


def test_la_01_gaps_of_five_tokens() -> None:
    result = latency([0.120, 0.150, 0.179, 0.211, 0.240])
    assert result.ttft_s == 0.120
    assert result.itl_s == pytest.approx([0.030, 0.029, 0.032, 0.029])
    assert result.tpot_s == pytest.approx(0.030)


def test_la_01_bursts_are_several_tokens() -> None:
    tpot_s, step_s = burst_latency(0.120, [(0.160, 3), (0.200, 1), (0.240, 4)])
    assert tpot_s == pytest.approx(0.015)
    assert step_s == pytest.approx(0.040)


def test_la_01_a_single_token_has_no_gap() -> None:
    result = latency([0.120])
    assert (result.ttft_s, result.itl_s, result.tpot_s) == (0.120, (), None)


def test_la_02_every_step_waits_for_the_device() -> None:
    device = FakeDevice(launch_ns=200_000, ready_ns=10_000_000)
    steps = [device.clock.time_s(device.launch) for _ in range(5)]
    assert min(steps) >= 0.010
    assert 1 / min(steps) <= 100


def test_one_wait_for_many_calls_hides_the_launch() -> None:
    device = FakeDevice(launch_ns=200_000, ready_ns=1_000_000)
    assert device.clock.time_s(device.launch, n_calls=10) == pytest.approx(0.001)


def test_la_02_warm_up_is_shown_apart() -> None:
    warm_up, timed = split_warm_up([412, 31, 30, 32, 31, 30])
    assert warm_up == (412,)
    assert spread(timed).p50 == 31


@pytest.mark.parametrize("kind", ["cpu", "mps"])
def test_la_02_no_call_into_cuda_for_other_devices(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[str] = []
    monkeypatch.setattr(timing.torch.cuda, "synchronize", lambda *_: waits.append("cuda"))
    monkeypatch.setattr(timing.torch.mps, "synchronize", lambda: waits.append("mps"))
    clock_for(torch.device(kind)).wait()
    assert waits == ([] if kind == "cpu" else ["mps"])


def test_a_cuda_clock_waits_for_its_own_device(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[torch.device] = []
    monkeypatch.setattr(timing.torch.cuda, "synchronize", waits.append)
    clock_for(torch.device("cuda", 1)).stamp_ns()
    assert waits == [torch.device("cuda", 1)]


@pytest.mark.parametrize("n", [1, 2, 7, 200])
@pytest.mark.parametrize("percent", [0, 50, 90, 99, 100])
def test_percentiles_are_numpys(n: int, percent: int) -> None:
    values = np.random.default_rng(n).lognormal(size=n).tolist()
    assert percentile(values, percent) == pytest.approx(np.percentile(values, percent), rel=1e-12)


def test_percentiles_of_nothing_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1 number"):
        percentile([], 50)
    with pytest.raises(ValueError, match="0 to 100"):
        percentile([1.0], 101)


def test_p99_of_few_samples_says_so() -> None:
    assert "200 are needed" in spread([1.0] * 199).notes[0]
    assert spread([1.0] * 200).notes == ()


def test_warm_up_must_leave_something() -> None:
    with pytest.raises(ValueError, match="n_warm_up must be 0 to 0"):
        split_warm_up([1.0], 1)
