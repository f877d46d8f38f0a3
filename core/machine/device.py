"""Which device computes, said plainly: its name, its memory, its caches and its data sheet."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from core.cost.catalog import find_accelerator
from core.cost.roofline import bandwidth_from_clock
from core.machine.records import DeviceInfo

MIN_PROBE_BYTES = {"cpu": 512_000_000, "cuda": 2**30, "mps": 2**30}

DATA_SHEETS = {
    "Tesla V100-SXM2-32GB": "V100 SXM2 32GB",
    "Tesla T4": "T4",
    "NVIDIA A10G": "A10G",
    "NVIDIA L4": "L4",
    "NVIDIA L40S": "L40S",
    "NVIDIA GeForce RTX 3090": "RTX 3090",
    "NVIDIA GeForce RTX 4090": "RTX 4090",
    "NVIDIA GeForce RTX 5090": "RTX 5090",
    "NVIDIA A100-SXM4-40GB": "A100 40GB SXM",
    "NVIDIA A100-SXM4-80GB": "A100 80GB SXM",
    "NVIDIA H100 80GB HBM3": "H100 SXM 80GB",
    "NVIDIA H100 PCIe": "H100 PCIe 80GB",
    "NVIDIA H200": "H200 SXM",
    "NVIDIA B200": "B200 SXM (HGX)",
    "Apple M2 Ultra GPU": "Apple M2 Ultra (76c)",
}
"""Names as the driver gives them, and the catalogue's entry for exactly that device."""

APPLE_CACHE_BYTES = 96_000_000
"""No system call tells Apple's system-level cache; this is the largest that is known."""


def usable_cpus() -> int:
    """Processors this process may use: its affinity, cut by the container's quota."""
    if hasattr(os, "sched_getaffinity"):
        n_cpus = len(os.sched_getaffinity(0))
    else:
        n_cpus = os.cpu_count() or 1
    quota = Path("/sys/fs/cgroup/cpu.max")
    if quota.is_file():
        allowed, period = quota.read_text().split()
        if allowed != "max":
            n_cpus = min(n_cpus, max(1, math.floor(int(allowed) / int(period))))
    return max(1, n_cpus)


def available_memory_bytes() -> int | None:
    """Memory that can be had without swapping, or None where the system does not say."""
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        if "MemAvailable" in fields:
            return min(int(fields["MemAvailable"].split()[0]) * 1024, _container_room())
    return None


def _container_room() -> int:
    """What a container's memory limit leaves, or a very large number without one."""
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.is_file() and used.is_file():
        text = limit.read_text().strip()
        if text != "max":
            return max(0, int(text) - int(used.read_text()))
    return 2**62


def total_memory_bytes() -> int | None:
    """Installed memory, or None where the system does not say."""
    names: Mapping[str, int] = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def last_level_cache_bytes(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int | None:
    """Size of the CPU's last-level cache, or None where the system does not say."""
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    sizes = []
    for entry in root.glob("index*/size"):
        text = entry.read_text().strip()
        if text and text[:-1].isdigit() and text[-1] in units:
            sizes.append(int(text[:-1]) * units[text[-1]])
    if sizes:
        return max(sizes)
    names: Mapping[str, int] = getattr(os, "sysconf_names", {})
    if "SC_LEVEL3_CACHE_SIZE" in names:
        return os.sysconf("SC_LEVEL3_CACHE_SIZE") or None
    return None


def cpu_name() -> str:
    """The processor's name as the system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cpu_device(why: str = "the CPU was asked for") -> DeviceInfo:
    """This machine's CPU; its nominal bandwidth cannot be read from software."""
    return DeviceInfo(
        kind="cpu",
        torch_name="cpu",
        name=cpu_name(),
        why=why,
        memory_total_bytes=total_memory_bytes(),
        memory_free_bytes=available_memory_bytes(),
        last_level_cache_bytes=last_level_cache_bytes(),
        nominal_source="not known: the memory's speed cannot be read without administrator rights",
        n_cpus=usable_cpus(),
    )


def cuda_device(index: int, why: str) -> DeviceInfo:
    """One CUDA device, as torch numbers it."""
    properties = torch.cuda.get_device_properties(index)
    free, total = torch.cuda.mem_get_info(index)
    info = DeviceInfo(
        kind="cuda",
        torch_name=f"cuda:{index}",
        name=properties.name,
        why=why,
        memory_total_bytes=total,
        memory_free_bytes=free,
        last_level_cache_bytes=getattr(properties, "L2_cache_size", 0) or None,
        uuid=gpu_uuid(properties),
        pci_address=pci_address(properties),
        n_cpus=usable_cpus(),
    )
    return with_nominal_bandwidth(info, properties)


def gpu_uuid(properties: Any) -> str | None:
    """The device's UUID with the driver's prefix, or None where torch does not give one."""
    raw = getattr(properties, "uuid", None)
    if raw is None:
        return None
    text = str(raw)
    return text if text.startswith(("GPU-", "MIG-")) else f"GPU-{text}"


def pci_address(properties: Any) -> str | None:
    """The PCI address in the driver's form, such as 00000000:1B:00.0."""
    parts = [getattr(properties, f"pci_{part}_id", None) for part in ("domain", "bus", "device")]
    if any(part is None for part in parts):
        return None
    domain, bus, slot = parts
    return f"{domain:08X}:{bus:02X}:{slot:02X}.0"


def with_nominal_bandwidth(info: DeviceInfo, properties: Any) -> DeviceInfo:
    """Add the nominal bandwidth: the data sheet's, else from the driver's clock and bus width.

    The data sheet comes first because drivers misreport the memory clock of some devices. A
    device that is in no table and gives no clock keeps "not known": nothing is guessed.
    """
    if info.name in DATA_SHEETS:
        sheet = find_accelerator(DATA_SHEETS[info.name])
        source = f"quoted from the data sheet of {sheet.name}"
        return replace(
            info,
            nominal_bandwidth_bytes_per_s=sheet.bandwidth_bytes_per_s,
            nominal_source=source,
            last_level_cache_bytes=info.last_level_cache_bytes or sheet.l2_bytes,
        )
    clock_khz = getattr(properties, "memory_clock_rate", 0)
    bus_bits = getattr(properties, "memory_bus_width", 0)
    if not clock_khz or not bus_bits:
        return info
    source = f"2 x memory clock {clock_khz / 1e3:.0f} MHz x bus {bus_bits} bit / 8"
    bandwidth = bandwidth_from_clock(clock_khz * 1e3, bus_bits)
    return replace(info, nominal_bandwidth_bytes_per_s=bandwidth, nominal_source=source)


def mps_device(why: str) -> DeviceInfo:
    """Apple's GPU, which shares its memory with the CPU."""
    free = available_memory_bytes()
    recommended = torch.mps.recommended_max_memory()
    allowed = recommended - torch.mps.driver_allocated_memory()
    info = DeviceInfo(
        kind="mps",
        torch_name="mps",
        name=f"{cpu_name()} GPU",
        why=why,
        memory_total_bytes=recommended,
        memory_free_bytes=allowed if free is None else min(free, allowed),
        last_level_cache_bytes=APPLE_CACHE_BYTES,
        n_cpus=usable_cpus(),
    )
    return with_nominal_bandwidth(info, None)


def list_devices() -> tuple[DeviceInfo, ...]:
    """Every device here, GPUs first, the CPU always last."""
    found = []
    if torch.cuda.is_available():
        n_gpus = torch.cuda.device_count()
        found = [cuda_device(i, f"GPU {i} of {n_gpus}, counted from 0") for i in range(n_gpus)]
    if torch.backends.mps.is_available():
        found.append(mps_device("Apple's GPU"))
    missing = "no GPU that torch can use was found" if not found else "always there"
    return (*found, cpu_device(missing))


def find_device(request: str = "auto") -> DeviceInfo:
    """The device asked for; "auto" takes the GPU with the most free memory, else the CPU.

    Raises: ValueError if the device is not there, naming those that are.

    >>> find_device("cpu").torch_name
    'cpu'
    """
    if request == "cpu":
        return cpu_device()
    devices = list_devices()
    gpus = [device for device in devices if device.kind != "cpu"]
    if request == "auto":
        return max(gpus, key=lambda d: d.memory_free_bytes or 0) if gpus else devices[-1]
    wanted = "cuda:0" if request == "cuda" else request
    for device in devices:
        if device.torch_name == wanted:
            return device
    names = ", ".join(device.torch_name for device in devices)
    raise ValueError(f"device must be auto or one of {names}, got {request!r}")
