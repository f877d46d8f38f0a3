"""The device's counters one by one: a value, the last value, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from core.machine.counters import Reading
from core.machine.load import OtherLoad
from pages.ui import units

Meter = dict[str, str]


def meters(
    readings: Sequence[Reading], load: OtherLoad | None, n_threads: int | None
) -> tuple[Meter, ...]:
    """Return what runs beside the measurement and every counter of the device."""
    found = [] if n_threads is None else [_meter("threads", units.count(n_threads))]
    if load is not None:
        found.append(load_meter(load))
    return (*found, *gpu_meters(readings))


def load_meter(load: OtherLoad) -> Meter:
    """The other load of the machine; where it spoils the figures, that is said.

    >>> load_meter(OtherLoad(0.1))["value"]
    '0.1 cores (measured)'
    """
    if load.cores is None:
        return _meter("other load", f"not available: {load.why}", "missing", load.why)
    text = f"{load.cores:.1f} cores (measured)"
    if load.warning:
        return _meter("other load", f"{text}: it spoils the figures", "warning", load.warning)
    return _meter("other load", text)


def gpu_meters(readings: Sequence[Reading]) -> list[Meter]:
    """Every counter; where all of them are missing for one reason, it is said once.

    >>> [m["value"] for m in gpu_meters([Reading("power", "power", "W", why="Not Supported")])]
    ['not available: Not Supported']
    """
    reasons = {reading.why for reading in readings if reading.value is None}
    if len(readings) > 1 and len(reasons) == 1 and all(r.value is None for r in readings):
        why = reasons.pop()
        names = ", ".join(reading.label.split(" (")[0] for reading in readings)
        return [_meter(names, f"not available: {why}", "missing", why)]
    return [meter(reading) for reading in readings]


def meter(reading: Reading) -> Meter:
    """One counter in words.

    >>> meter(Reading("power", "power", "W", 412.3))["value"]
    '412 W'
    >>> meter(Reading("power", "power", "W", 412.3, "GPU is lost", stale=True))["value"]
    '412 W, the last one: GPU is lost'
    """
    if reading.value is None:
        return _meter(reading.label, f"not available: {reading.why}", "missing", reading.why)
    text = _value(reading.value, reading.unit)
    if reading.stale:
        return _meter(reading.label, f"{text}, the last one: {reading.why}", "stale", reading.why)
    return _meter(reading.label, text)


def _value(value: float, unit: str) -> str:
    if unit == "byte":
        return units.binary_bytes(value, 3)
    if unit == "Hz":
        return f"{units.count(round(value / 1e6))} MHz"
    return f"{units.number(value, 3)} {unit}"


def _meter(label: str, value: str, state: str = "ok", why: str = "") -> Meter:
    return {"label": label, "value": value, "state": state, "why": why}
