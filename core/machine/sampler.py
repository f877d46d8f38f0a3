"""Counters and other load while a measurement runs, taken by the process that does not measure."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from core.machine.counters import GpuCounters, Reading, counters_not_available
from core.machine.load import LoadMeter, OtherLoad
from core.machine.records import DeviceInfo

EVERY_S = 0.5
NO_COUNTERS = {
    "cpu": "a processor has no such counter here; see threads and other load",
    "mps": "Apple gives its counters to administrators only",
}


def counters_for(device: DeviceInfo) -> GpuCounters | None:
    """The driver's counters of a CUDA device; None for devices that have none."""
    if device.kind != "cuda":
        return None
    return GpuCounters(
        torch_uuid=device.uuid,
        pci_address=device.pci_address,
        torch_index=int(device.torch_name.partition(":")[2] or 0),
        cuda_visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
    )


class Sampler:
    """Readings of one device and the load beside one process, at most twice a second."""

    def __init__(
        self,
        device: DeviceInfo,
        pid: int,
        *,
        open_counters: Callable[[DeviceInfo], GpuCounters | None] = counters_for,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._counters = open_counters(device)
        self._meter, self._now_s = LoadMeter(pid), now_s
        self._next_s = 0.0
        self.load = OtherLoad(None, "not read yet")
        self.readings: tuple[Reading, ...] = counters_not_available(
            NO_COUNTERS.get(device.kind, "not read yet")
        )

    def tick(self) -> None:
        """Read everything, if it is time to."""
        if self._now_s() < self._next_s:
            return
        self._next_s = self._now_s() + EVERY_S
        self.load = self._meter.read()
        if self._counters is not None:
            self.readings = self._counters.sample()

    def close(self) -> None:
        """Let the driver go."""
        if self._counters is not None:
            self._counters.close()
