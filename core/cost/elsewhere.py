"""The same decode step on another device: its floor, and the least time of its prefill."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import ModelConfig
from core.cost import checks
from core.cost.accounting import OpCost, Pass, as_spec, forward_total
from core.cost.catalog import find_accelerator
from core.cost.roofline import floor_seconds
from core.cost.spec import AcceleratorSpec, ModelSpec
from core.cost.weights import weight_bytes_stored


@dataclass(frozen=True)
class Elsewhere:
    """Floors of one device; ``fits`` is None where its memory is not known.

    Units: seconds
    """

    device: AcceleratorSpec
    itl_s: float
    prefill_s: float
    fits: bool | None


PHONE = AcceleratorSpec(
    name="Phone",
    bandwidth_bytes_per_s=8 * 8533e6,
    flops_per_s=2e12,
    memory_bytes=8_000_000_000,
    kind="phone",
    memory_type="LPDDR5X",
    source="8 B x 8533 MT/s",
    verified="no",
    note="2 TFLOP/s is an assumption of the order of magnitude",
)
"""A phone of the upper range; no data sheet is quoted."""


def usual_devices() -> tuple[tuple[str, AcceleratorSpec], ...]:
    """Four devices people know, with the words for them.

    >>> [round(device.bandwidth_bytes_per_s / 1e9) for _, device in usual_devices()]
    [68, 90, 1008, 3350]
    """
    return (
        ("Phone (LPDDR5X-8533, 64 bit)", PHONE),
        ("Laptop or desktop (DDR5-5600)", find_accelerator("Desktop DDR5-5600 x2ch")),
        ("RTX 4090", find_accelerator("RTX 4090")),
        ("H100 SXM", find_accelerator("H100 SXM 80GB")),
    )


def elsewhere(
    model: ModelSpec | ModelConfig,
    device: AcceleratorSpec,
    *,
    n_prompt: int,
    context_len: int,
    batch_size: int = 1,
    dtype: str | None = None,
) -> Elsewhere:
    """Return the floors of a step and of a prompt of ``n_prompt`` tokens on a device.

    Raises: ValueError for sizes out of range or a model whose widths are unknown

    >>> from core.cost.catalog import find_model
    >>> found = elsewhere(find_model("Llama 3.1 8B"), find_accelerator("H100 SXM 80GB"),
    ...                   n_prompt=64, context_len=64)
    >>> round(found.itl_s * 1e3, 2), round(found.prefill_s * 1e3, 2), found.fits
    (4.48, 4.48, True)
    """
    spec = as_spec(model)
    step = _floor(spec, device, Pass(1, context_len, batch_size, dtype, dtype))
    prefill = _floor(
        spec, device, Pass(n_prompt, n_prompt, batch_size, dtype, dtype, all_logits=False)
    )
    fits = None
    if device.memory_bytes is not None:
        fits = weight_bytes_stored(spec, dtype) <= device.memory_bytes
    return Elsewhere(device, step, prefill, fits)


def least_seconds(
    model: ModelSpec | ModelConfig,
    bandwidth_bytes_per_s: float,
    *,
    context_len: int,
    batch_size: int = 1,
    dtype: str | None = None,
) -> float:
    """Return the least time of a step where only the bandwidth is known: bytes over it.

    Raises: ValueError for sizes out of range or a model whose widths are unknown
    """
    rate = checks.positive("bandwidth_bytes_per_s", bandwidth_bytes_per_s)
    cost = forward_total(as_spec(model), Pass(1, context_len, batch_size, dtype, dtype))
    return _bytes(cost) / rate


def _bytes(cost: OpCost) -> int:
    return cost.weight_bytes + cost.kv_read_bytes + cost.state_bytes


def _floor(spec: ModelSpec, device: AcceleratorSpec, run: Pass) -> float:
    cost = forward_total(spec, run)
    return floor_seconds(_bytes(cost), cost.flops, device.bandwidth_bytes_per_s, device.flops_per_s)
