"""Our floor beside published measurements, and the overhead that they show.

No published measurement may beat the floor at nominal bandwidth: one that did would mean that
the formula counts too many bytes. What is left over the floor is fitted per device as
t = t0 + bytes / bandwidth, which gives a second, realistic estimate with its error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from core.cost import kv
from core.cost.catalog import Row, find_model, read_table
from core.cost.dtypes import NumberFormat
from core.cost.weights import weight_bytes_read

_SCALE_AND_ZERO = NumberFormat("int4, groups of 32 with scale and zero", 4, block=32, scale_bits=32)
MIN_ROWS_FOR_LINE = 3


@dataclass(frozen=True)
class Comparison:
    """One published measurement and the floor beneath it at nominal bandwidth.

    ours: the bytes come from our formulas; else they are the bytes quoted with the row.
    """

    id: str
    model: str
    hardware: str
    accelerator: str
    n_devices: int
    dtype: str
    measured_s: float
    floor_s: float
    n_bytes: float
    bandwidth_bytes_per_s: float
    ours: bool
    source: str

    @property
    def ratio(self) -> float:
        """Floor over measured, the share of nominal bandwidth reached; at most 1."""
        return self.floor_s / self.measured_s


@dataclass(frozen=True)
class OverheadFit:
    """t = t0 + bytes / bandwidth for one device, and how well it predicts a row left out.

    With fewer than three rows the bandwidth is the nominal one and only t0 is fitted.
    leave_one_out: mean absolute relative error, None for a single row.
    """

    hardware: str
    accelerator: str
    n_rows: int
    t0_s: float
    bandwidth_bytes_per_s: float
    fitted_bandwidth: bool
    leave_one_out: float | None

    def seconds(self, n_bytes: float) -> float:
        """Return the realistic step time for that many bytes read."""
        return self.t0_s + n_bytes / self.bandwidth_bytes_per_s


@lru_cache(maxsize=1)
def comparisons() -> tuple[Comparison, ...]:
    """Return every published measurement that has a floor, in the table's order."""
    rows = read_table("published.csv")
    return tuple(_compare(row) for row in rows if row["floor_over_measured"] and _has_bytes(row))


@lru_cache(maxsize=1)
def overhead_fits() -> tuple[OverheadFit, ...]:
    """Return one fit per device measured alone, in the table's order."""
    groups: dict[str, list[Comparison]] = {}
    for row in comparisons():
        if row.n_devices == 1 and row.ours:
            groups.setdefault(_device(row.hardware), []).append(row)
    return tuple(_fit(device, rows) for device, rows in groups.items() if len(rows) > 1)


def fit_for(accelerator: str) -> OverheadFit | None:
    """Return the best supported fit for an accelerator of the catalogue, or None."""
    found = [fit for fit in overhead_fits() if fit.accelerator == accelerator]
    return max(found, key=lambda fit: fit.n_rows, default=None)


def ratios_by_device_and_dtype() -> dict[tuple[str, str], list[float]]:
    """Return (device, dtype) -> floor over measured, for a panel."""
    grouped: dict[tuple[str, str], list[float]] = {}
    for row in comparisons():
        grouped.setdefault((_device(row.hardware), row.dtype), []).append(row.ratio)
    return grouped


def _has_bytes(row: Row) -> bool:
    return all(row[key] for key in ("ms_per_step", "weight_bytes_read", "bandwidth_gb_per_s_total"))


def _compare(row: Row) -> Comparison:
    ours = bool(row["catalogue_model"])
    if ours:
        n_bytes = float(our_bytes(row))
    else:
        n_bytes = float(row["weight_bytes_read"]) + float(row["kv_bytes_read"] or 0)
    bandwidth = float(row["bandwidth_gb_per_s_total"]) * 1e9
    return Comparison(
        id=row["id"],
        model=row["model"],
        hardware=row["hardware"],
        accelerator=row["accelerator"],
        n_devices=int(row["n_devices"]),
        dtype=row["dtype"],
        measured_s=float(row["ms_per_step"]) / 1e3,
        floor_s=n_bytes / bandwidth,
        n_bytes=n_bytes,
        bandwidth_bytes_per_s=bandwidth,
        ours=ours,
        source=row["source"],
    )


def our_bytes(row: Row) -> int:
    """Return the bytes per step by our formulas for a row whose model is in the catalogue."""
    model = find_model(row["catalogue_model"])
    dtype: str | NumberFormat = row["weight_dtype"]
    if dtype == "int4 g32 scale+zero":
        dtype = _SCALE_AND_ZERO
    context = int(row["mean_context_tokens"])
    weights = weight_bytes_read(model, int(row["batch"]), dtype)
    return weights + kv.kv_bytes_read(model, context, int(row["batch"]), "float16")


def _device(hardware: str) -> str:
    """Return a device name under which both spellings of a table meet."""
    return hardware.removeprefix("Apple ")


def _fit(device: str, rows: list[Comparison]) -> OverheadFit:
    t0, bandwidth, by_line = _line(rows)
    errors = []
    for left_out in rows:
        kept = [row for row in rows if row is not left_out]
        offset, rate, _ = _line(kept)
        predicted = offset + left_out.n_bytes / rate
        errors.append(abs(predicted - left_out.measured_s) / left_out.measured_s)
    return OverheadFit(
        hardware=device,
        accelerator=rows[0].accelerator,
        n_rows=len(rows),
        t0_s=t0,
        bandwidth_bytes_per_s=bandwidth,
        fitted_bandwidth=by_line,
        leave_one_out=sum(errors) / len(errors),
    )


def _line(rows: list[Comparison]) -> tuple[float, float, bool]:
    """Return t0 and bandwidth by least squares on relative errors, t0 never below 0."""
    nominal = rows[0].bandwidth_bytes_per_s
    spread = max(r.n_bytes for r in rows) / min(r.n_bytes for r in rows)
    if len(rows) < MIN_ROWS_FOR_LINE or spread < 1.5:
        return _offset(rows, nominal), nominal, False
    weights = [1 / row.measured_s**2 for row in rows]
    x, y = [row.n_bytes for row in rows], [row.measured_s for row in rows]
    mean_x, mean_y = _mean(weights, x), _mean(weights, y)
    over = _mean(weights, [(a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)])
    slope = over / _mean(weights, [(a - mean_x) ** 2 for a in x])
    t0 = mean_y - slope * mean_x
    if slope * nominal < 1:  # faster than nominal is not physical: keep the nominal bandwidth
        return _offset(rows, nominal), nominal, False
    if t0 < 0:
        slope = _mean(weights, [a * b for a, b in zip(x, y, strict=True)]) / _mean(
            weights, [a * a for a in x]
        )
        t0 = 0.0
    return t0, 1 / slope, True


def _offset(rows: Iterable[Comparison], bandwidth: float) -> float:
    """Return the mean time over the floor."""
    over = [row.measured_s - row.n_bytes / bandwidth for row in rows]
    return sum(over) / len(over)


def _mean(weights: list[float], values: list[float]) -> float:
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
