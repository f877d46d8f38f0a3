"""Counters with a fake driver library, for every way it fails. Cases HW-01 and HW-03."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.machine.counters import QUERIES, GpuCounters, Reading, counters_not_available
from core.machine.gpu_match import matching_uuid, visible_uuids
from core.machine.load import LoadMeter, OtherLoad

GPUS = ["GPU-aaaa", "GPU-bbbb"]


class NVMLError(Exception):
    """The library's own error type."""


class FakeNvml:
    """An NVML of two devices; ``broken`` maps a function's name to the error it raises."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(self, broken: dict[str, str] | None = None) -> None:
        self.broken = broken or {}
        self.shut_down = 0
        self.values: dict[str, Callable[..., Any]] = {
            "nvmlInit": lambda: None,
            "nvmlSystemGetDriverVersion": lambda: b"570.1",
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": lambda i: GPUS[i],
            "nvmlDeviceGetHandleByPciBusId": lambda pci: f"by {pci.decode()}",
            "nvmlDeviceGetUUID": lambda handle: handle.encode(),
            "nvmlDeviceGetUtilizationRates": lambda h: SimpleNamespace(
                gpu=90 if h == "GPU-bbbb" else 1, memory=40
            ),
            "nvmlDeviceGetMemoryInfo": lambda h: SimpleNamespace(total=10 * 2**30, used=2 * 2**30),
            "nvmlDeviceGetPowerUsage": lambda h: 250_500,
            "nvmlDeviceGetEnforcedPowerLimit": lambda h: 700_000,
            "nvmlDeviceGetClockInfo": lambda h, kind: {1: 1980, 2: 2619}[kind],
            "nvmlDeviceGetTemperature": lambda h, kind: 61,
            "nvmlShutdown": self._shut_down,
        }

    def _shut_down(self) -> None:
        self.shut_down += 1

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            if name in self.broken:
                raise NVMLError(self.broken[name])
            return self.values[name](*args)

        if name not in self.values:
            raise AttributeError(name)
        return call


def _counters(nvml: FakeNvml, uuid: str | None = "GPU-bbbb", **kwargs: Any) -> GpuCounters:
    return GpuCounters(torch_uuid=uuid, load=lambda: nvml, **kwargs)


def _by_name(counters: GpuCounters) -> dict[str, Reading]:
    return {reading.name: reading for reading in counters.sample()}


def test_every_counter_in_its_unit() -> None:
    readings = _by_name(_counters(FakeNvml()))
    assert {name: reading.value for name, reading in readings.items()} == {
        "utilisation": 90,
        "memory_busy": 40,
        "memory_used": 2 * 2**30,
        "memory_total": 10 * 2**30,
        "power": 250.5,
        "power_limit": 700,
        "processor_clock": 1980e6,
        "memory_clock": 2619e6,
        "temperature": 61,
    }
    assert all(reading.available for reading in readings.values())
    assert "not bytes per second" in readings["memory_busy"].label


def test_hw_01_missing_package() -> None:
    def missing() -> Any:
        raise ImportError("No module named 'pynvml'")

    counters = GpuCounters(torch_uuid="GPU-bbbb", load=missing)
    assert "nvidia-ml-py is not installed" in counters.problem
    assert {reading.value for reading in counters.sample()} == {None}
    assert all("not installed" in reading.why for reading in counters.sample())
    counters.close()


@pytest.mark.parametrize(
    "reason", ["NVML Shared Library Not Found", "Driver/library version mismatch"]
)
def test_hw_01_init_fails_with_its_reason(reason: str) -> None:
    counters = _counters(FakeNvml({"nvmlInit": reason}))
    assert reason in counters.problem
    assert all(reason in r.why and r.value is None for r in counters.sample())


def test_hw_01_not_supported_hides_nothing_else() -> None:
    broken = {
        "nvmlDeviceGetUtilizationRates": "Not Supported",
        "nvmlDeviceGetPowerUsage": "Not Supported",
    }
    readings = _by_name(_counters(FakeNvml(broken)))
    assert readings["memory_total"].value == 10737418240
    assert readings["memory_used"].value == 2147483648
    for name in ("utilisation", "memory_busy", "power"):
        assert readings[name].value is None
        assert readings[name].why == "Not Supported"
    assert readings["power_limit"].available


@pytest.mark.parametrize("query", [query.name for query in QUERIES])
def test_each_counter_fails_alone(query: str) -> None:
    function = {
        "utilisation": "nvmlDeviceGetUtilizationRates",
        "memory_busy": "nvmlDeviceGetUtilizationRates",
        "memory_used": "nvmlDeviceGetMemoryInfo",
        "memory_total": "nvmlDeviceGetMemoryInfo",
        "power": "nvmlDeviceGetPowerUsage",
        "power_limit": "nvmlDeviceGetEnforcedPowerLimit",
        "processor_clock": "nvmlDeviceGetClockInfo",
        "memory_clock": "nvmlDeviceGetClockInfo",
        "temperature": "nvmlDeviceGetTemperature",
    }[query]
    readings = _by_name(_counters(FakeNvml({function: "Unknown Error"})))
    assert readings[query].value is None
    assert sum(reading.available for reading in readings.values()) >= len(QUERIES) - 2


def test_hw_01_device_lost_keeps_last_values_and_goes_on() -> None:
    nvml = FakeNvml()
    counters = _counters(nvml)
    for _ in range(5):
        assert _by_name(counters)["power"].available
    nvml.broken = {"nvmlDeviceGetPowerUsage": "GPU is lost"}
    lost = _by_name(counters)["power"]
    assert (lost.value, lost.stale, lost.why) == (250.5, True, "GPU is lost")
    assert not lost.available
    nvml.broken = {}
    assert _by_name(counters)["power"].available


def test_a_function_that_an_old_package_lacks_is_not_available() -> None:
    nvml = FakeNvml()
    del nvml.values["nvmlDeviceGetEnforcedPowerLimit"]
    assert _by_name(_counters(nvml))["power_limit"].value is None


def test_closing_shuts_the_driver_down_once() -> None:
    nvml = FakeNvml()
    counters = _counters(nvml)
    counters.close()
    counters.close()
    assert nvml.shut_down == 1
    assert all("closed" in reading.why for reading in counters.sample())


def test_hw_03_readout_follows_torchs_uuid() -> None:
    assert _by_name(_counters(FakeNvml(), "bbbb"))["utilisation"].value == 90
    assert _by_name(_counters(FakeNvml(), "GPU-aaaa"))["utilisation"].value == 1


@pytest.mark.parametrize(
    ("visible", "torch_uuid", "expected"),
    [
        ("1", None, "GPU-bbbb"),
        ("GPU-bb", None, "GPU-bbbb"),
        (None, "GPU-bbbb", "GPU-bbbb"),
        (None, None, "GPU-aaaa"),
        ("", None, None),
        ("-1", None, None),
        ("MIG-0123", None, None),
        ("7", None, None),
    ],
)
def test_hw_03_which_device(
    visible: str | None, torch_uuid: str | None, expected: str | None
) -> None:
    found = matching_uuid(GPUS, torch_uuid=torch_uuid, cuda_visible_devices=visible)
    assert found == expected


def test_hw_03_reading_stops_at_the_first_invalid_entry() -> None:
    assert visible_uuids("1,-1,0", GPUS) == ("GPU-bbbb",)


def test_hw_03_a_mig_slice_is_found_by_its_pci_address_or_said_to_be_missing() -> None:
    by_pci = _counters(FakeNvml(), "MIG-0123", pci_address="00000000:1B:00.0")
    assert _by_name(by_pci)["memory_total"].available
    without = _counters(FakeNvml(), "MIG-0123")
    assert "not among the driver's whole devices" in without.problem
    assert _by_name(without)["memory_total"].value is None


def test_a_device_without_counters_says_why_for_each() -> None:
    readings = counters_not_available("a CPU has none")
    assert len(readings) == len(QUERIES)
    assert {reading.why for reading in readings} == {"a CPU has none"}


def _write_stat(proc: Path, busy_ticks: int, own_ticks: int) -> None:
    (proc / "7").mkdir(exist_ok=True)
    (proc / "stat").write_text(f"cpu {busy_ticks} 0 0 900 50 0 0 0 0 0\ncpu0 0\n")
    head = "7 (a (b) c) S " + " ".join(["0"] * 10)
    (proc / "7" / "stat").write_text(f"{head} {own_ticks} 0 0 0")


def test_other_load_is_all_busy_time_less_our_own(tmp_path: Path) -> None:
    clock = iter([0.0, 2.0])
    _write_stat(tmp_path, 1000, 100)
    meter = LoadMeter(7, tmp_path, lambda: next(clock))
    _write_stat(tmp_path, 1400, 300)
    load = meter.read()
    assert load.cores == pytest.approx(1.0)
    assert "1.0 processor cores" in load.warning


def test_no_warning_on_a_quiet_machine_or_an_unknown_load(tmp_path: Path) -> None:
    assert OtherLoad(0.1).warning == ""
    unknown = LoadMeter(7, tmp_path / "none").read()
    assert unknown.cores is None
    assert unknown.why
    assert unknown.warning == ""
