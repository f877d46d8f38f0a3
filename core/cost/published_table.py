"""The table of published measurements beside our floor, as docs/published.md.

``python -m core.cost.published_table`` rewrites the file; a test keeps it equal to the data.
"""

from __future__ import annotations

from pathlib import Path

from core.cost.overhead import Comparison, OverheadFit, comparisons, overhead_fits

DOCS_FILE = Path(__file__).resolve().parents[2] / "docs" / "published.md"

_HEAD = """# Published measurements beside our floor

Quoted: the measured times, each from its source. Modelled: the floor, bytes read per step over
nominal bandwidth (GB = 1e9 bytes). A ratio is floor over measured, the share of nominal
bandwidth that was reached. None is above 1: the floor counts no byte too many.

"Our bytes" says that the bytes come from our formulas for that model, precision and mean
context; the other rows use the bytes quoted with them. Several devices are counted at the sum
of their bandwidths, so their ratio also holds the time between devices.

| Measurement | Device | Devices | Precision | Measured, ms | Floor, ms | Ratio | Our bytes |
|---|---|---:|---|---:|---:|---:|---|
"""

_FITS = """
## Overhead per device

Time over the floor, fitted as t = t0 + bytes / bandwidth by least squares on relative errors.
A device with fewer than three rows, or with rows of nearly equal bytes, or that would come out
faster than nominal keeps its nominal bandwidth, and only t0 is fitted. The error is the mean
absolute error of predicting each row from the others (leave one out); it is what a realistic
estimate must be read with.

| Device | Rows | t0, ms | Bandwidth, GB/s | Bandwidth is | Leave-one-out error |
|---|---:|---:|---:|---|---:|
"""

_TAIL = """
Limits: the rows are of different software from different years; a fit says how that software
ran on that device, not how the next one will. Rows from third-party copies of a table are
marked in `assets/data/published.csv`.
"""


def published_markdown() -> str:
    """Return the whole text of docs/published.md."""
    rows = "\n".join(_row(row) for row in comparisons())
    fits = "\n".join(_fit(fit) for fit in overhead_fits())
    return f"{_HEAD}{rows}\n{_FITS}{fits}\n{_TAIL}"


def _row(row: Comparison) -> str:
    cells = (
        f"{row.model} (`{row.id}`)",
        row.hardware,
        str(row.n_devices),
        row.dtype,
        f"{row.measured_s * 1e3:.2f}",
        f"{row.floor_s * 1e3:.2f}",
        f"{row.ratio:.2f}",
        "yes" if row.ours else "quoted",
    )
    return f"| {' | '.join(cells)} |"


def _fit(fit: OverheadFit) -> str:
    error = "" if fit.leave_one_out is None else f"{fit.leave_one_out:.0%}"
    cells = (
        fit.hardware,
        str(fit.n_rows),
        f"{fit.t0_s * 1e3:.2f}",
        f"{fit.bandwidth_bytes_per_s / 1e9:.0f}",
        "fitted" if fit.fitted_bandwidth else "nominal",
        error,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    DOCS_FILE.write_text(published_markdown(), encoding="utf-8")
