"""Where the time of one decode step goes, and its operations one after the other."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

from core.machine.records import Bar, Part

PRODUCT_NAMES = ("mv", "addmv", "addmm", "mm", "linear", "matmul", "bmm", "gemm", "gemv", "cutlass")
ATTENTION_NAMES = ("attention", "softmax", "flash", "fmha")
COPY_NAMES = ("copy", "cat", "index", "embedding")


def decompose(
    itl_s: float,
    products_s: float,
    attention_s: float,
    kv_bytes: int,
    bandwidth_bytes_per_s: float,
) -> tuple[Part, ...]:
    """Split an inter-token latency into four parts that add up to it.

    Products and attention are timed alone. What reading the K/V bytes takes at the measured
    bandwidth is modelled; the remainder of attention is arithmetic and overhead within it.

    Raises: ValueError if a time is negative.

    >>> parts = decompose(0.010, 0.007, 0.002, 1_000_000, 1e9)
    >>> [round(part.seconds * 1e3, 3) for part in parts]
    [7.0, 1.0, 1.0, 1.0]
    """
    if min(itl_s, products_s, attention_s) < 0:
        raise ValueError(f"times must be at least 0, got {itl_s}, {products_s} and {attention_s}")
    products_s = min(products_s, itl_s)
    attention_s = min(attention_s, itl_s - products_s)
    kv_s = min(kv_bytes / bandwidth_bytes_per_s, attention_s)
    rest_s = itl_s - products_s - attention_s
    return (
        Part("weight reads", products_s, "measured", "the same products timed alone"),
        Part("K/V reads", kv_s, "modelled", "K/V bytes at the measured bandwidth"),
        Part(
            "attention arithmetic",
            attention_s - kv_s,
            "measured",
            "attention timed alone, less its K/V reads",
        ),
        Part("the rest", rest_s, "measured", "norms, rotations, copies, launches and waiting"),
    )


def group_of(name: str) -> str:
    """The group an operation or kernel belongs to, by its name.

    >>> group_of("aten::mv"), group_of("aten::_scaled_dot_product_flash_attention_for_cpu")
    ('products', 'attention')
    """
    text = name.lower()
    if any(word in text for word in ATTENTION_NAMES):
        return "attention"
    if any(word in text for word in PRODUCT_NAMES):
        return "products"
    if any(word in text for word in COPY_NAMES):
        return "copies"
    return "other"


def waterfall(step: Callable[[], object], device: torch.device) -> tuple[Bar, ...]:
    """Profile one step: on a GPU its kernels, else its outermost operations, in order of start.

    The profiler adds time of its own to each, so the bars say what runs, not how fast.
    """
    activities = [ProfilerActivity.CPU]
    on_cuda = device.type == "cuda"
    if on_cuda:
        activities.append(ProfilerActivity.CUDA)
    step()
    with profile(activities=activities, acc_events=True) as recorded:
        step()
    wanted = "CUDA" if on_cuda else "CPU"
    events = [
        event
        for event in recorded.events() or ()
        if event.device_type.name == wanted and event.cpu_parent is None
    ]
    bars = [
        (event.name, event.time_range.start / 1e6, event.time_range.elapsed_us() / 1e6)
        for event in events
        if event.time_range.elapsed_us() > 0
    ]
    begin = min((start for _, start, _ in bars), default=0.0)
    ordered = sorted(bars, key=lambda bar: bar[1])
    return tuple(Bar(n.removeprefix("aten::"), s - begin, d, group_of(n)) for n, s, d in ordered)
