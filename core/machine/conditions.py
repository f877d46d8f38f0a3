"""The conditions of a measurement: without them its number means nothing to anyone else."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib import metadata

import torch

import core
from core.machine.counters import GpuCounters
from core.machine.device import cpu_name, total_memory_bytes
from core.machine.records import Conditions, DeviceInfo


def conditions(device: DeviceInfo, now: datetime | None = None) -> Conditions:
    """Read the conditions now."""
    moment = now or datetime.now(UTC)
    return Conditions(
        host=platform.node(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=cpu_name(),
        n_cpus=device.n_cpus,
        memory_total_bytes=total_memory_bytes(),
        device=device.torch_name,
        device_name=device.name,
        device_uuid=device.uuid,
        driver=_driver(device),
        n_threads=torch.get_num_threads(),
        python=platform.python_version(),
        torch=str(torch.__version__),
        numpy=metadata.version("numpy"),
        cuda=torch.version.cuda,
        app_version=core.__version__,
        date_utc=moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        load_average_1min=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    )


def _driver(device: DeviceInfo) -> str:
    if device.kind != "cuda":
        return "none needed"
    counters = GpuCounters(torch_uuid=device.uuid, pci_address=device.pci_address)
    version = counters.driver_version
    counters.close()
    return f"NVIDIA {version}" if version else f"not known: {counters.problem}"
