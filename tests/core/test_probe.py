"""The read probe: its size, its choice of call, and a real short run on the CPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.machine.caches import stays_in_cache
from core.machine.device import DeviceInfo, cpu_device
from core.machine.probe import MIN_RUNS, ReadProbe, probe_bytes
from core.machine.timing import DeviceClock

SIXTEEN_MB = 16 * 2**20


def _device(free: int | None, cache: int | None, kind: str = "cpu") -> DeviceInfo:
    return replace(cpu_device(), kind=kind, memory_free_bytes=free, last_level_cache_bytes=cache)


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (_device(64 * 10**9, 32 * 2**20), 512_000_000),
        (_device(64 * 10**9, 300 * 2**20), 8 * 300 * 2**20),
        (_device(8 * 10**9, 300 * 2**20), 2 * 10**9),
        (_device(None, None), 512_000_000),
        (_device(80 * 10**9, 50 * 2**20, "cuda"), 2**30),
        (_device(80 * 10**9, 256 * 2**20, "cuda"), 2 * 2**30),
    ],
)
def test_buffer_is_past_the_caches_and_within_a_quarter_of_free(
    device: DeviceInfo, expected: int
) -> None:
    assert probe_bytes(device) == expected


def test_a_real_run_is_positive_labelled_and_consistent() -> None:
    probe = ReadProbe(cpu_device(), SIXTEEN_MB)
    assert list(probe.prepare())[-1] == 1.0
    runs = tuple(probe.read() for _ in range(MIN_RUNS))
    result = probe.result(runs)
    assert result.kernel in probe.kernels()
    assert result.buffer_bytes == SIXTEEN_MB
    assert min(runs) > 0
    assert min(runs) <= result.median_bytes_per_s <= result.best_bytes_per_s == max(runs)
    assert result.n_threads >= 1
    probe.release()


def test_a_buffer_that_fits_in_the_cache_says_so() -> None:
    probe = ReadProbe(_device(10**10, 32 * 2**20), SIXTEEN_MB)
    list(probe.prepare())
    result = probe.result((probe.read(),))
    assert result.cache_resident is True
    assert "last-level cache" in result.notes[0]
    assert stays_in_cache(SIXTEEN_MB, 2**20) is False
    assert stays_in_cache(SIXTEEN_MB, None) is None


def test_bandwidth_is_bytes_over_the_clocks_seconds() -> None:
    ticks = iter(range(0, 10**13, 500_000_000))
    clock = DeviceClock(lambda: next(ticks), lambda: None)
    probe = ReadProbe(cpu_device(), SIXTEEN_MB, clock)
    list(probe.prepare())
    assert probe.read() == pytest.approx(SIXTEEN_MB / 0.5)


def test_reading_before_preparing_is_an_error() -> None:
    with pytest.raises(ValueError, match="prepare"):
        ReadProbe(cpu_device(), SIXTEEN_MB).read()


def test_memory_is_bounded() -> None:
    with pytest.raises(ValueError, match="a quarter of what is free"):
        ReadProbe(_device(4 * SIXTEEN_MB - 4, None), SIXTEEN_MB)
