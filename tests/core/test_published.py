"""Our floor beside the world's measurements: none beats it, and docs/published.md is the data."""

from __future__ import annotations

import pytest

from core.cost.catalog import find_model, read_table
from core.cost.overhead import (
    comparisons,
    fit_for,
    overhead_fits,
    ratios_by_device_and_dtype,
)
from core.cost.published_table import DOCS_FILE, published_markdown
from core.cost.speculation import forecast, implied_draft_cost

ROWS = {row["id"]: row for row in read_table("published.csv")}


@pytest.mark.parametrize("row", comparisons(), ids=lambda row: row.id)
def test_no_measurement_beats_the_floor(row: object) -> None:
    from core.cost.overhead import Comparison

    assert isinstance(row, Comparison)
    assert 0.2 < row.ratio <= 1.0
    stated = float(ROWS[row.id]["floor_ms_at_nominal"])
    assert row.floor_s * 1e3 == pytest.approx(stated, rel=0.01)
    assert row.source


def test_every_row_with_a_floor_is_compared() -> None:
    with_floor = [
        key for key, row in ROWS.items() if row["floor_over_measured"] and row["ms_per_step"]
    ]
    assert [row.id for row in comparisons()] == with_floor
    assert sum(row.ours for row in comparisons()) >= 45
    assert max(row.ratio for row in comparisons()) == pytest.approx(0.89, abs=0.005)
    assert min(row.ratio for row in comparisons()) == pytest.approx(0.226, abs=0.005)


def test_published_cache_sizes_equal_ours() -> None:
    from core.cost import kv

    rows = [row for row in ROWS.values() if row["metric"] == "KV bytes per token"]
    assert len(rows) == 5
    for row in rows:
        assert kv.kv_bytes_per_token(find_model(row["model"]), "bfloat16") == int(row["value"])


def test_the_floor_loosens_as_weights_shrink() -> None:
    by = ratios_by_device_and_dtype()
    a100 = "A100-80GB SXM @330W"
    mean = {dtype: sum(by[a100, dtype]) / len(by[a100, dtype]) for dtype in ("int8", "int4 g32")}
    assert by[a100, "bf16"][0] > mean["int8"] > mean["int4 g32"]


@pytest.mark.parametrize("fit", overhead_fits(), ids=lambda fit: fit.hardware)
def test_fits_are_physical_and_say_their_error(fit: object) -> None:
    from core.cost.overhead import OverheadFit

    assert isinstance(fit, OverheadFit)
    nominal = next(
        row.bandwidth_bytes_per_s
        for row in comparisons()
        if row.hardware.removeprefix("Apple ") == fit.hardware and row.n_devices == 1
    )
    assert fit.t0_s >= 0
    assert fit.bandwidth_bytes_per_s <= nominal * 1.0000001
    assert fit.leave_one_out is not None
    assert 0 <= fit.leave_one_out < 0.5
    assert fit.seconds(10e9) > 10e9 / nominal


def test_a_realistic_estimate_exists_only_where_something_was_measured() -> None:
    assert fit_for("A100 80GB SXM") is not None
    assert fit_for("RTX 4090") is not None
    assert fit_for("TPU v5e") is None


def test_the_document_is_the_data() -> None:
    """After a change of the data: python -m core.cost.published_table"""
    assert DOCS_FILE.read_text(encoding="utf-8") == published_markdown()


@pytest.mark.parametrize(
    "row", [row for row in ROWS.values() if row["id"].startswith("lev_")], ids=lambda row: row["id"]
)
def test_published_speedups_stay_under_expected_tokens(row: dict[str, str]) -> None:
    """Alpha is rounded and acceptance is not independent, so 5 per cent are allowed."""
    words = dict(part.split("=") for part in row["metric"].split() if "=" in part)
    gamma, alpha = int(words["gamma"]), float(words["alpha"])
    expected = forecast(alpha, gamma).tokens_per_step
    assert f"E[tokens]={expected:.3f}" in row["note"]
    cost = implied_draft_cost(alpha, gamma, float(row["value"]))
    assert f"={cost:.3f} " in row["note"]


@pytest.mark.parametrize(
    ("acceptance", "length", "cost", "tokens", "accepted", "share", "speedup"),
    [
        (0.8, 4, 0.1, 3.3616, 2.3616, 0.5904, 2.4011),
        (0.0, 4, 0.1, 1.0, 0.0, 0.0, 0.7143),
        (1.0, 4, 0.0, 5.0, 4.0, 1.0, 5.0),
    ],
)
def test_sp02_three_numbers_called_acceptance(
    acceptance: float, length: int, cost: float, tokens: float, accepted: float, share: float,
    speedup: float,
) -> None:  # fmt: skip
    result = forecast(acceptance, length, cost)
    assert round(result.tokens_per_step, 4) == tokens
    assert round(result.accepted_drafts_per_step, 4) == accepted
    assert round(result.share_of_drafts_accepted, 4) == share
    assert round(result.speedup, 4) == speedup


@pytest.mark.parametrize(
    "arguments",
    [(1.2, 4, 0.1), (-0.1, 4, 0.1), (0.5, 0, 0.1), (0.5, 4, -1.0), (float("nan"), 4, 0)],
)
def test_sp02_bad_input(arguments: tuple[float, int, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        forecast(*arguments)
