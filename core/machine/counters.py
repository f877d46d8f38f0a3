"""The GPU's own counters, from its driver: each query can fail alone, and says why.

A missing number is "not available" with its reason, never 0. A counter that worked and then
fails keeps its last value, marked stale, and is asked again the next time.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from core.machine.gpu_match import matching_uuid

MEMORY_BUSY = "share of time in which any read or write happened, not bytes per second"


@dataclass(frozen=True)
class Reading:
    """One counter: its value in ``unit``, or None and the reason in ``why``.

    ``stale`` marks the last good value of a counter that fails now.
    """

    name: str
    label: str
    unit: str
    value: float | None = None
    why: str = ""
    stale: bool = False

    @property
    def available(self) -> bool:
        """Whether there is a value of this moment."""
        return self.value is not None and not self.stale


@dataclass(frozen=True)
class _Query:
    name: str
    label: str
    unit: str
    ask: Callable[[Any, Any], float]


def _clock(kind: str) -> Callable[[Any, Any], float]:
    return lambda nvml, h: nvml.nvmlDeviceGetClockInfo(h, getattr(nvml, kind)) * 1e6


QUERIES = (
    _Query(
        "utilisation", "GPU busy", "%", lambda n, h: float(n.nvmlDeviceGetUtilizationRates(h).gpu)
    ),
    _Query(
        "memory_busy",
        f"memory busy ({MEMORY_BUSY})",
        "%",
        lambda n, h: float(n.nvmlDeviceGetUtilizationRates(h).memory),
    ),
    _Query(
        "memory_used",
        "memory in use",
        "byte",
        lambda n, h: float(n.nvmlDeviceGetMemoryInfo(h).used),
    ),
    _Query(
        "memory_total",
        "memory in all",
        "byte",
        lambda n, h: float(n.nvmlDeviceGetMemoryInfo(h).total),
    ),
    _Query("power", "power", "W", lambda n, h: n.nvmlDeviceGetPowerUsage(h) / 1e3),
    _Query(
        "power_limit", "power limit", "W", lambda n, h: n.nvmlDeviceGetEnforcedPowerLimit(h) / 1e3
    ),
    _Query("processor_clock", "processor clock", "Hz", _clock("NVML_CLOCK_SM")),
    _Query("memory_clock", "memory clock", "Hz", _clock("NVML_CLOCK_MEM")),
    _Query(
        "temperature",
        "temperature",
        "°C",
        lambda n, h: float(n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU)),
    ),
)
"""Everything asked of the driver; names are stable, labels are shown."""


def _load_nvml() -> Any:
    return importlib.import_module("pynvml")


class GpuCounters:
    """Readings of the GPU torch computes on, as long as the driver can be asked.

    ``problem`` is empty, or the sentence that explains why there is no counter at all.
    """

    def __init__(
        self,
        *,
        torch_uuid: str | None = None,
        pci_address: str | None = None,
        torch_index: int = 0,
        cuda_visible_devices: str | None = None,
        load: Callable[[], Any] = _load_nvml,
    ) -> None:
        self.problem = ""
        self.driver_version: str | None = None
        self._handle: Any = None
        self._started = False
        self._last: dict[str, float] = {}
        try:
            self._nvml = load()
        except ImportError as error:
            self.problem = f"the package nvidia-ml-py is not installed ({error})"
            return
        try:
            self._nvml.nvmlInit()
            self._started = True
            self.driver_version = _text(self._nvml.nvmlSystemGetDriverVersion())
            self._handle = self._find(torch_uuid, pci_address, torch_index, cuda_visible_devices)
        except self._nvml.NVMLError as error:
            self.problem = f"the NVIDIA driver cannot be asked ({error})"

    def _find(
        self, torch_uuid: str | None, pci: str | None, index: int, visible: str | None
    ) -> Any:
        nvml = self._nvml
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
        by_uuid = {_text(nvml.nvmlDeviceGetUUID(handle)): handle for handle in handles}
        uuid = matching_uuid(
            list(by_uuid), torch_uuid=torch_uuid, torch_index=index, cuda_visible_devices=visible
        )
        if uuid is not None:
            return by_uuid[uuid]
        if pci is not None:
            return nvml.nvmlDeviceGetHandleByPciBusId(pci.encode())
        self.problem = "the device that torch uses is not among the driver's whole devices"
        return None

    def sample(self) -> tuple[Reading, ...]:
        """Ask for every counter once."""
        return tuple(self._ask(query) for query in QUERIES)

    def _ask(self, query: _Query) -> Reading:
        blank = Reading(query.name, query.label, query.unit)
        if self._handle is None:
            return replace(blank, why=self.problem)
        try:
            value = query.ask(self._nvml, self._handle)
        except (self._nvml.NVMLError, AttributeError) as error:
            # AttributeError: an older driver package lacks the function
            last = self._last.get(query.name)
            return replace(blank, value=last, why=str(error), stale=last is not None)
        self._last[query.name] = value
        return replace(blank, value=value)

    def close(self) -> None:
        """Let the driver go; sampling afterwards gives "closed"."""
        if self._started:
            self._started = False
            self._handle, self.problem = None, "the counters are closed"
            try:
                self._nvml.nvmlShutdown()
            except self._nvml.NVMLError as error:
                self.problem = f"the counters are closed ({error})"


def counters_not_available(why: str) -> tuple[Reading, ...]:
    """Every counter as not available for one reason, such as a device that has none."""
    return tuple(Reading(query.name, query.label, query.unit, why=why) for query in QUERIES)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
