"""The numbers beside the live picture: each with its kind and unit, in words that do not jump."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.machine.caches import stays_in_cache
from core.machine.live import LiveFigures
from core.machine.records import DecodePoint, DeviceInfo, MeasureResult, ProbeResult
from core.machine.stats import Spread
from pages.ui import units

NOTHING = "–"


@dataclass(frozen=True)
class Figures:
    """One point of a measurement, running or done, as the readout needs it.

    Units: seconds, bytes
    """

    batch_size: int
    context_len: int
    weight_bytes: int
    kv_bytes: int
    itl_s: float
    spread_s: Spread
    bandwidth_bytes_per_s: float
    floor_s: float
    achieved_bytes_per_s: float
    tokens_per_s_per_request: float
    tokens_per_s_total: float
    share_of_measured: float
    share_of_quoted: float | None
    cached: bool | None

    @property
    def bytes_per_step(self) -> int:
        """Weights and K/V that a step reads."""
        return self.weight_bytes + self.kv_bytes

    @property
    def beats_floor(self) -> bool:
        """Whether the median step was faster than the floor: a cache, or disturbed reads."""
        return self.spread_s.p50 < self.floor_s


def of_running(live: LiveFigures, device: DeviceInfo | None) -> Figures:
    """The figures of a measurement that runs."""
    cache = None if device is None else device.last_level_cache_bytes
    return Figures(
        batch_size=live.batch_size,
        context_len=live.context_len,
        weight_bytes=live.weight_bytes,
        kv_bytes=live.kv_bytes,
        itl_s=live.itl_s,
        spread_s=live.spread_s,
        bandwidth_bytes_per_s=live.bandwidth_bytes_per_s,
        floor_s=live.floor_s,
        achieved_bytes_per_s=live.achieved_bytes_per_s,
        tokens_per_s_per_request=live.tokens_per_s_per_request,
        tokens_per_s_total=live.tokens_per_s_total,
        share_of_measured=live.fraction_of_measured_bandwidth,
        share_of_quoted=live.fraction_of_nominal_bandwidth,
        cached=stays_in_cache(live.weight_bytes, cache),
    )


def of_point(point: DecodePoint, result: MeasureResult) -> Figures:
    """The figures of a point that has been measured."""
    return Figures(
        batch_size=point.batch_size,
        context_len=point.context_len,
        weight_bytes=point.weight_bytes_read,
        kv_bytes=point.kv_bytes_read,
        itl_s=point.itl_s.p50,
        spread_s=point.itl_s,
        bandwidth_bytes_per_s=result.probe.median_bytes_per_s,
        floor_s=point.floor_s,
        achieved_bytes_per_s=point.achieved_bytes_per_s,
        tokens_per_s_per_request=point.tokens_per_s_per_request,
        tokens_per_s_total=point.tokens_per_s_total,
        share_of_measured=point.fraction_of_measured_bandwidth,
        share_of_quoted=point.fraction_of_nominal_bandwidth,
        cached=result.cache_resident,
    )


def big(figures: Figures | None, *, now: bool) -> dict[str, Any]:
    """The inter-token latency in large type: the newest steps while it runs, else the median."""
    names = ("p50", "p90", "p99", "min", "n")
    if figures is None:
        marks = [[name, NOTHING] for name in names]
        return _big("Inter-token latency", "", NOTHING, "ms", marks)
    spread = figures.spread_s
    value, unit = units.steady_seconds(figures.itl_s)
    marks = [[name, units.steady_in(getattr(spread, name), unit)] for name in names[:-1]]
    marks.append(["n", units.count(spread.n)])
    label = "Inter-token latency now" if now else "Inter-token latency"
    return _big(label, "measured", value, unit, marks)


def _big(label: str, kind: str, value: str, unit: str, marks: list[list[str]]) -> dict[str, Any]:
    return {"label": label, "kind": kind, "value": value, "unit": unit, "marks": marks}


def tiles(figures: Figures | None, device: DeviceInfo | None) -> list[dict[str, Any]]:
    """Rate, achieved bandwidth with its two shares, and the floor with its bytes."""
    if figures is None:
        return [
            tile("rate", "Tokens per second", NOTHING, "measured"),
            tile("achieved", "Achieved bandwidth", NOTHING, "measured", share=0.0),
            tile("floor", "Floor of the memory", NOTHING, "modelled"),
        ]
    f = figures
    many = ""
    if f.batch_size > 1:
        total = units.rate(f.tokens_per_s_total)
        many = f"for each of {f.batch_size} requests; {total} in all"
    rate = units.number(f.tokens_per_s_per_request, 3)
    achieved = units.byte_rate(f.achieved_bytes_per_s, 3)
    floor = units.seconds(f.floor_s, 3)
    weights, kv = (units.decimal_bytes(n, 3) for n in (f.weight_bytes, f.kv_bytes))
    traffic = f"{weights} weights + {kv} K/V"
    at = f"at {units.byte_rate(f.bandwidth_bytes_per_s, 3)}"
    meter = f.share_of_measured
    return [
        tile("rate", "Tokens per second", rate, "measured", many),
        tile("achieved", "Achieved bandwidth", achieved, "measured", shares(f, device), meter),
        tile("floor", "Floor of the memory", floor, "modelled", f"{traffic} {at}"),
    ]


def tile(
    name: str, label: str, value: str, kind: str, beside: str = "", share: float | None = None
) -> dict[str, Any]:
    """One number; ``share`` draws a meter under it."""
    found = {"id": name, "label": label, "value": value, "kind": kind, "beside": beside}
    return {**found, "share": share}


def bandwidth_words(probe: ProbeResult) -> str:
    """The read bandwidth in a sentence: median, best and spread."""
    middle, best = (
        units.byte_rate(rate, 3) for rate in (probe.median_bytes_per_s, probe.best_bytes_per_s)
    )
    return (
        f"This device reads {middle} (median of {len(probe.runs_bytes_per_s)} reads of "
        f"{units.decimal_bytes(probe.buffer_bytes, 3)}; best {best}, middle half within "
        f"{units.percent(probe.iqr_over_median)}; {probe.kernel}; measured)."
    )


def shares(f: Figures, device: DeviceInfo | None) -> str:
    """What share of the measured and of the quoted bandwidth the steps achieved."""
    own = (
        f"{units.percent(f.share_of_measured)} of the "
        f"{units.byte_rate(f.bandwidth_bytes_per_s, 3)} measured beside it"
    )
    if f.beats_floor and f.cached:
        own += " (from a cache)"
    if f.share_of_quoted is None or device is None or not device.nominal_bandwidth_bytes_per_s:
        return f"{own}; data sheet: not known"
    quoted = units.byte_rate(device.nominal_bandwidth_bytes_per_s, 3)
    return f"{own}; {units.percent(f.share_of_quoted)} of the {quoted} quoted"
