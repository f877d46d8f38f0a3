"""The sentences of the live page: device, queue, what a token cost, what spoils a figure."""

from __future__ import annotations

from core.machine.load import OtherLoad
from core.machine.records import DeviceInfo, MeasureResult
from core.machine.spec import MeasureSpec
from core.machine.tickets import TicketView
from pages.ui import units
from pages.ui.live_numbers import Figures

NOTHING_YET = "Nothing has been measured on this host yet. Choose the weights and press Measure."
HOW_IT_GOES = "A measurement makes the weights, compares products, then times steps between reads."


def device_chip(device: DeviceInfo | None) -> str:
    """The device in a few words, with why it is this one.

    >>> device_chip(DeviceInfo("cpu", "cpu", "EPYC", "no GPU was found", None, None, n_cpus=2))
    'CPU, 2 processors (no GPU was found)'
    >>> device_chip(None)
    'looking for devices …'
    """
    if device is None:
        return "looking for devices …"
    if device.kind == "cpu":
        noun = "processor" if device.n_cpus == 1 else "processors"
        return f"CPU, {device.n_cpus} {noun} ({device.why})"
    return f"{device.name} ({device.why})"


def token_caption(figures: Figures, token: int) -> str:
    """One sentence for the newest token: what it took, what it must take, what is left."""
    took = units.seconds(figures.itl_s, 3)
    said = _floor_words(figures, figures.itl_s)
    return f"Token {units.count(token)} took {took}: {said}"


def result_caption(result: MeasureResult, figures: Figures) -> str:
    """One sentence for a finished measurement."""
    took = units.seconds(figures.spread_s.p50, 3)
    what = f"The median of {units.count(figures.spread_s.n)} tokens is {took}"
    if len(result.points) > 1:
        context = units.count(figures.context_len)
        what = f"At batch {figures.batch_size} and context {context} it is {took}"
    return f"{what}: {_floor_words(figures, figures.spread_s.p50)}"


def _floor_words(figures: Figures, itl_s: float) -> str:
    floor = units.seconds(figures.floor_s, 3)
    size = units.decimal_bytes(figures.bytes_per_step, 3)
    reading = f"{size} at {units.byte_rate(figures.bandwidth_bytes_per_s, 3)} take {floor}"
    if itl_s >= figures.floor_s:
        return f"{reading}, the rest is overhead."
    if figures.cached:
        return f"{reading}, but the weights stay in the processor's cache."
    return f"{reading}, but those reads were disturbed by other load."


def cache_words(result: MeasureResult) -> str:
    """Why weights that fit a cache say nothing about the memory; empty where they do not fit."""
    cache = result.device.last_level_cache_bytes
    if not result.cache_resident or cache is None or not result.points:
        return ""
    size = units.decimal_bytes(result.points[0].weight_bytes_read, 3)
    return (
        f"The {size} of weights can stay, in part or whole, in the {units.decimal_bytes(cache, 3)} "
        "cache of the processor: this is not a figure of the memory."
    )


def queue_words(own: TicketView | None, watched: TicketView | None) -> str:
    """Your place in the queue, or who else watches."""
    if own is not None and own.state == "queued":
        ahead = f"{own.ahead} measurement{'s' if own.ahead != 1 else ''} before yours"
        return f"You are waiting: {ahead}." + (" You watch the one that runs." if watched else "")
    if own is not None and own.state == "running":
        return f"You are measuring.{_others(own.n_watchers - 1)}"
    if watched is not None and watched.state == "running":
        return f"Somebody else is measuring; you are watching.{_others(watched.n_watchers - 1)}"
    return ""


def _others(n_others: int) -> str:
    if n_others < 1:
        return ""
    return " 1 other is watching." if n_others == 1 else f" {n_others} others are watching."


def age(age_s: float) -> str:
    """How long ago something was measured.

    >>> age(3), age(150), age(7300)
    ('just now', '2 min ago', '2 h ago')
    """
    if age_s < 60:
        return "just now" if age_s < 10 else f"{age_s:.0f} s ago"
    return f"{age_s // 60:.0f} min ago" if age_s < 3600 else f"{age_s // 3600:.0f} h ago"


def spoilt(load: OtherLoad) -> str:
    """A short warning where other load spoils the figures, else empty.

    >>> spoilt(OtherLoad(1.7)), spoilt(OtherLoad(0.1))
    ('Other work keeps 1.7 processor cores busy: the figures are spoilt.', '')
    """
    if load.cores is None or not load.warning:
        return ""
    return f"Other work keeps {load.cores:.1f} processor cores busy: the figures are spoilt."


def result_load(result: MeasureResult) -> OtherLoad:
    """The other load during a finished measurement."""
    return OtherLoad(result.other_load_cores, "this system does not tell it")


def spec_title(spec: MeasureSpec, weight_bytes: int | None) -> str:
    """A measurement in a few words, for lists.

    >>> spec_title(MeasureSpec(weight_bytes=10**9), 10**9)
    '1 GB bfloat16, batch 1, context 128'
    """
    if spec.kind == "probe":
        return "read bandwidth alone"
    size = "shipped model" if spec.model == "shipped" else units.decimal_bytes(weight_bytes or 0, 3)
    fixed = {
        "decode": f"batch {spec.batch_size}, context {units.count(spec.context_len)}",
        "batch sweep": f"sweep of batch, context {units.count(spec.context_len)}",
        "context sweep": f"sweep of context, batch {spec.batch_size}",
    }
    return f"{size} {spec.dtype}, {fixed[spec.kind]}"
