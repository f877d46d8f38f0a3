"""Finding the device and its data sheet, with fake properties. Cases RO-01 and HW-03."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from core.machine import device as device_module
from core.machine.conditions import conditions
from core.machine.device import (
    DATA_SHEETS,
    DeviceInfo,
    cpu_device,
    find_device,
    gpu_uuid,
    last_level_cache_bytes,
    list_devices,
    pci_address,
    usable_cpus,
    with_nominal_bandwidth,
)


@pytest.mark.parametrize(
    ("clock_mhz", "bus_bits", "gb_per_s"), [(2619, 5120, 3352.32), (7001, 192, 336.048)]
)
def test_ro_01_double_data_rate_counts_once(
    clock_mhz: float, bus_bits: int, gb_per_s: float
) -> None:
    blank = DeviceInfo("cuda", "cuda:0", "A GPU", "", None, None)
    sheet = SimpleNamespace(memory_clock_rate=clock_mhz * 1e3, memory_bus_width=bus_bits)
    bandwidth = with_nominal_bandwidth(blank, sheet).nominal_bandwidth_bytes_per_s
    assert bandwidth == pytest.approx(gb_per_s * 1e9)


def test_ro_01_unknown_device_gets_no_guess() -> None:
    blank = DeviceInfo("cuda", "cuda:0", "Strange GPU", "", 8 * 2**30, 7 * 2**30)
    info = with_nominal_bandwidth(blank, SimpleNamespace(name="Strange GPU"))
    assert info.nominal_bandwidth_bytes_per_s is None
    assert info.nominal_source == "not known"


def test_the_nominal_figure_says_where_it_comes_from() -> None:
    blank = DeviceInfo("cuda", "cuda:0", "A GPU", "", None, None)
    sheet = SimpleNamespace(memory_clock_rate=2_619_000, memory_bus_width=5120)
    info = with_nominal_bandwidth(blank, sheet)
    assert info.nominal_bandwidth_bytes_per_s == pytest.approx(3352.32e9)
    assert "2619 MHz" in info.nominal_source
    assert "5120 bit" in info.nominal_source


def test_the_data_sheet_comes_before_a_clock_that_may_be_misreported() -> None:
    blank = DeviceInfo("cuda", "cuda:0", "NVIDIA H100 80GB HBM3", "", None, None)
    sheet = SimpleNamespace(memory_clock_rate=1_000_000, memory_bus_width=5120)
    info = with_nominal_bandwidth(blank, sheet)
    assert info.nominal_bandwidth_bytes_per_s == 3350e9
    assert "data sheet" in info.nominal_source


@pytest.mark.parametrize("name", DATA_SHEETS)
def test_every_known_name_has_a_data_sheet(name: str) -> None:
    info = with_nominal_bandwidth(DeviceInfo("cuda", "cuda:0", name, "", None, None), None)
    assert info.nominal_bandwidth_bytes_per_s


def test_hw_03_identity_of_a_cuda_device() -> None:
    properties = SimpleNamespace(uuid="bbbb-01", pci_domain_id=0, pci_bus_id=27, pci_device_id=0)
    assert gpu_uuid(properties) == "GPU-bbbb-01"
    assert pci_address(properties) == "00000000:1B:00.0"
    assert gpu_uuid(SimpleNamespace()) is None
    assert pci_address(SimpleNamespace()) is None


def _fake_gpus(monkeypatch: pytest.MonkeyPatch, free_bytes: list[int]) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(free_bytes))
    monkeypatch.setattr(
        torch.cuda,
        "get_device_properties",
        lambda i: SimpleNamespace(name=f"GPU {i}", L2_cache_size=50 * 2**20, uuid=f"{i:04d}"),
    )
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda i: (free_bytes[i], 80 * 2**30))


def test_auto_takes_the_gpu_with_the_most_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_gpus(monkeypatch, [2**30, 60 * 2**30, 3 * 2**30])
    assert find_device("auto").torch_name == "cuda:1"
    assert find_device("cuda").torch_name == "cuda:0"
    assert find_device("cuda:2").name == "GPU 2"
    assert list_devices()[-1].kind == "cpu"


def test_a_missing_device_is_an_error_that_names_those_there() -> None:
    with pytest.raises(ValueError, match=r"device must be auto or one of .*cpu, got 'cuda:9'"):
        find_device("cuda:9")


def test_without_a_gpu_the_cpu_is_taken_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    found = find_device("auto")
    assert found.kind == "cpu"
    assert "no GPU" in found.why


def test_mps_is_preferred_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(device_module.torch.mps, "recommended_max_memory", lambda: 12 * 2**30)
    monkeypatch.setattr(device_module.torch.mps, "driver_allocated_memory", lambda: 2**30)
    found = find_device("auto")
    assert found.torch_name == "mps"
    assert found.memory_free_bytes is not None
    assert found.memory_free_bytes <= 11 * 2**30


def test_last_level_cache_is_the_largest(tmp_path: Path) -> None:
    for index, size in enumerate(("48K", "2048K", "32M", "")):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(f"{size}\n")
    assert last_level_cache_bytes(tmp_path) == 32 * 2**20


def test_the_cpu_of_this_machine_is_described() -> None:
    info = cpu_device()
    assert info.name
    assert 1 <= info.n_cpus == usable_cpus()
    assert info.nominal_bandwidth_bytes_per_s is None
    assert "cannot be read" in info.nominal_source


def test_conditions_name_everything_a_reader_needs() -> None:
    found = conditions(cpu_device())
    assert found.torch == torch.__version__
    assert found.n_threads == torch.get_num_threads()
    assert found.date_utc.endswith("Z")
    assert found.device == "cpu"
    assert found.host
