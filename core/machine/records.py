"""What a measurement hands over: plain frozen records, which need no torch to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.config import ModelConfig
from core.machine.fit import LineFit
from core.machine.spec import MeasureSpec
from core.machine.stats import Spread

if TYPE_CHECKING:
    import torch

Kind = Literal["measured", "modelled"]


@dataclass(frozen=True)
class DeviceInfo:
    """One device torch can compute on.

    ``torch_name`` is what torch calls it, "cpu", "cuda:1" or "mps". ``identity`` is the UUID
    (or the PCI address) by which the driver's counters find the same device.
    ``last_level_cache_bytes`` and ``nominal_bandwidth_bytes_per_s`` are None where unknown;
    ``nominal_source`` says where the nominal figure comes from.
    """

    kind: str
    torch_name: str
    name: str
    why: str
    memory_total_bytes: int | None
    memory_free_bytes: int | None
    last_level_cache_bytes: int | None = None
    nominal_bandwidth_bytes_per_s: float | None = None
    nominal_source: str = "not known"
    uuid: str | None = None
    pci_address: str | None = None
    n_cpus: int = 1

    @property
    def torch_device(self) -> torch.device:
        """The device as torch's own type."""
        import torch

        return torch.device(self.torch_name)


@dataclass(frozen=True)
class Conditions:
    """Host, device, driver, versions, threads, date and load of one measurement."""

    host: str
    system: str
    cpu: str
    n_cpus: int
    memory_total_bytes: int | None
    device: str
    device_name: str
    device_uuid: str | None
    driver: str
    n_threads: int
    python: str
    torch: str
    numpy: str
    cuda: str | None
    app_version: str
    date_utc: str
    load_average_1min: float | None


@dataclass(frozen=True)
class ProbeResult:
    """Bandwidth of repeated reads; the median is what lasts, the best what can be reached.

    cache_resident: True if the buffer could partly stay in a cache, None if its size is unknown.
    """

    kernel: str
    buffer_bytes: int
    n_threads: int
    runs_bytes_per_s: tuple[float, ...]
    median_bytes_per_s: float
    best_bytes_per_s: float
    iqr_over_median: float
    cache_resident: bool | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """One part of the inter-token latency, and how it was had."""

    name: str
    seconds: float
    kind: Kind
    how: str


@dataclass(frozen=True)
class Bar:
    """One operation of a profiled step, placed from the step's begin."""

    name: str
    start_s: float
    duration_s: float
    group: str


@dataclass(frozen=True)
class PrefillTime:
    """One measured prefill: the wait for the first token of a prompt of ``n_tokens``."""

    n_tokens: int
    seconds: float


@dataclass(frozen=True)
class ProductRecord:
    """What one way of calling a product reached at start-up, in words and numbers."""

    label: str
    n_rows: int
    bytes_per_s: float
    max_relative_error: float
    correct: bool


@dataclass(frozen=True)
class DecodePoint:
    """Timed decode steps of one batch at one held context.

    itl_samples_s: every timed step, one after the other; warm_up_s came before them.
    block_itl_s: per step, when only the begin and the end of a block wait for the device.
    bare_products_s: the same matrix products alone. floor_s: bytes over the bandwidth measured
    beside the steps. The paired fractions are medians of ratios to the neighbouring runs.

    Units: seconds, bytes
    """

    batch_size: int
    context_len: int
    product: str
    fused_attention: bool
    graphed: bool
    weight_bytes_read: int
    kv_bytes_read: int
    flops: int
    warm_up_s: tuple[float, ...]
    itl_samples_s: tuple[float, ...]
    itl_s: Spread
    block_itl_s: float
    bare_products_s: float
    floor_s: float
    achieved_bytes_per_s: float
    fraction_of_measured_bandwidth: float
    fraction_of_nominal_bandwidth: float | None
    fraction_of_bare_products: float
    paired_fraction_of_bandwidth: float

    @property
    def bytes_read(self) -> int:
        """Bytes one step reads, weights and K/V of all sequences."""
        return self.weight_bytes_read + self.kv_bytes_read

    @property
    def tokens_per_s_per_request(self) -> float:
        """One request's rate: a step gives each sequence one token."""
        return 1 / self.itl_s.p50

    @property
    def tokens_per_s_total(self) -> float:
        """The whole batch's rate."""
        return self.batch_size / self.itl_s.p50


@dataclass(frozen=True)
class MeasureResult:
    """Everything one measurement found, with its conditions.

    ``points`` is empty for a probe alone and has one entry for a single bench. ``fit`` is
    t = t0 + bytes / bandwidth through the points of a sweep. ``prefill`` is None where it was
    not timed. ``other_load_cores`` is the load
    of others meanwhile, None where the system does not tell.
    """

    spec: MeasureSpec
    device: DeviceInfo
    conditions: Conditions
    config: ModelConfig | None
    dtype: str
    n_threads: int
    thread_sweep: tuple[tuple[int, float], ...]
    products: tuple[ProductRecord, ...]
    probe: ProbeResult
    points: tuple[DecodePoint, ...]
    fit: LineFit | None
    parts: tuple[Part, ...]
    bars: tuple[Bar, ...]
    prefill: PrefillTime | None
    other_load_cores: float | None
    cache_resident: bool | None
    elapsed_s: float
    notes: tuple[str, ...]
