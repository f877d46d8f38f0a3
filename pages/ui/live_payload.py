"""What the live stage draws at one moment: light data, every word and number made here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from core.decode.latency import percentile
from core.machine.floor_parts import floor_parts
from core.machine.records import DeviceInfo, MeasureResult, Part
from core.machine.tickets import TicketView
from pages.ui import live_numbers, live_series, units
from pages.ui.live_numbers import Figures

KEY = "live"
FORMAT = 1
PART_COLOURS = {
    "weight reads": "weights",
    "K/V reads": "k",
    "attention arithmetic": "cached",
    "the rest": "line",
}
_THIN_S = 1e-9


@dataclass(frozen=True)
class Overlay:
    """Latencies from elsewhere, drawn over the measurement in their own colour."""

    label: str
    samples_s: tuple[float, ...]
    colour: str = "v-text"


@dataclass(frozen=True)
class Picture:
    """One moment in numbers: samples with where they began, floors, parts, figures.

    floors: (first token, one behind the last, seconds). planned: tokens the strip has room for.
    """

    samples_s: tuple[float, ...] = ()
    first: int = 0
    planned: int = 1
    floors: tuple[tuple[int, int, float], ...] = ()
    parts: tuple[Part, ...] = ()
    figures: Figures | None = None
    device: DeviceInfo | None = None
    running: bool = False


@dataclass(frozen=True)
class Words:
    """What is said beside the picture. progress: (share done, sentence) while something runs."""

    state: str
    caption: str
    queue: str = ""
    warning: str = ""
    spoken: str = ""
    empty: str = ""
    progress: tuple[float, str] | None = None
    meters: tuple[dict[str, str], ...] = ()
    overlays: tuple[Overlay, ...] = field(default=())


def payload(picture: Picture, words: Words) -> dict[str, Any]:
    """Return everything that the stage needs, a few kilobytes."""
    figures = picture.figures
    return {
        "format": FORMAT,
        "state": words.state,
        "title": "Inter-token latency",
        "caption": words.caption,
        "queue": words.queue,
        "warning": words.warning,
        "spoken": words.spoken,
        "empty": words.empty,
        "progress": None
        if words.progress is None
        else {"share": words.progress[0], "text": words.progress[1]},
        "big": live_numbers.big(figures, now=picture.running),
        "tiles": live_numbers.tiles(figures, picture.device),
        "running": picture.running,
        "meters": list(words.meters),
        "n_samples": picture.first + len(picture.samples_s),
        **_drawn(picture, words.overlays),
    }


@lru_cache(maxsize=8)
def _drawn(picture: Picture, overlays: tuple[Overlay, ...]) -> dict[str, Any]:
    """The part of the payload that is drawn, made once for all who watch.

    Without samples there is nothing to draw.
    """
    samples = picture.samples_s
    if not samples or picture.figures is None:
        return {
            "axis": live_series.axis(1.0, n_beyond=0, last=""),
            "series": live_series.series(()),
            "histogram": {"edges": [0.0], "counts": []},
            "floors": [], "floor_label": "", "planned": 1,
            "parts": [], "parts_title": "", "overlays": [],
        }  # fmt: skip
    floors_s = [seconds for _, _, seconds in picture.floors]
    planned = picture.planned
    overlays = tuple(replace(other, samples_s=other.samples_s[:planned]) for other in overlays)
    others = [percentile(other.samples_s, 90) for other in overlays]
    top = live_series.axis_top(samples, [*floors_s[:1], *others])
    n_beyond = sum(s * 1e3 > top for s in samples)
    return {
        "axis": live_series.axis(top, n_beyond=n_beyond, last=f"{units.count(planned)} tokens"),
        "series": live_series.series(samples, picture.first, words=not picture.running),
        "histogram": {
            "edges": live_series.bin_edges(top),
            "counts": live_series.bin_counts(samples, top),
        },
        "floors": [{"from": a, "to": b, "ms": s * 1e3} for a, b, s in picture.floors],
        "floor_label": _floor_label(picture),
        "planned": planned,
        "parts": [_part(part) for part in picture.parts],
        "parts_title": f"Where the {units.seconds(picture.figures.spread_s.p50, 3)} go",
        "overlays": [_overlay(other, top) for other in overlays],
    }


def _floor_label(picture: Picture) -> str:
    figures = picture.figures
    assert figures is not None
    if figures.floor_s * 1e3 <= 0:
        return ""
    many = f" at batch {figures.batch_size}" if len(picture.floors) > 1 else ""
    return f"floor {units.seconds(figures.floor_s, 3)}{many} (modelled)"


def _part(part: Part) -> dict[str, Any]:
    shown = units.seconds(part.seconds, 3) if part.seconds > _THIN_S else ""
    return {
        "label": part.name,
        "ms": part.seconds * 1e3,
        "value": shown,
        "kind": part.kind,
        "how": part.how,
        "color": PART_COLOURS.get(part.name, "cached"),
    }


def _overlay(other: Overlay, top: float) -> dict[str, Any]:
    return {
        **live_series.series(other.samples_s),
        "label": other.label,
        "color": other.colour,
        "counts": live_series.bin_counts(other.samples_s, top),
    }


def running_picture(view: TicketView) -> Picture:
    """The picture of a measurement that runs; without figures yet, an empty one."""
    if view.figures is None or view.spec is None:
        return Picture(device=view.device, running=True)
    figures = live_numbers.of_running(view.figures, view.device)
    samples = tuple(seconds for _, seconds in view.steps)
    n_points = len(view.spec.points())
    planned = max(view.spec.n_steps * n_points, view.n_steps)
    parts = floor_parts(
        figures.spread_s.p50,
        figures.weight_bytes,
        figures.kv_bytes,
        figures.bandwidth_bytes_per_s,
    )
    return Picture(
        samples_s=samples,
        first=view.n_steps - len(samples),
        planned=planned,
        floors=((0, planned, figures.floor_s),),
        parts=parts,
        figures=figures,
        device=view.device,
        running=True,
    )


def result_picture(result: MeasureResult) -> Picture:
    """The picture of a finished measurement: all samples, one floor per point."""
    if not result.points:
        return Picture(device=result.device)
    samples: list[float] = []
    floors = []
    for point in result.points:
        floors.append((len(samples), len(samples) + len(point.itl_samples_s), point.floor_s))
        samples += point.itl_samples_s
    figures = live_numbers.of_point(result.points[0], result)
    parts = result.parts or floor_parts(
        figures.spread_s.p50,
        figures.weight_bytes,
        figures.kv_bytes,
        figures.bandwidth_bytes_per_s,
    )
    return Picture(
        samples_s=tuple(samples),
        planned=len(samples),
        floors=tuple(floors),
        parts=parts,
        figures=figures,
        device=result.device,
    )
