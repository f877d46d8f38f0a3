"""The roofline: ridges, bounds, units, and the traps of data sheets."""

from __future__ import annotations

from typing import Any

import pytest

from core.cost.accounting import matmul_cost
from core.cost.catalog import find_accelerator
from core.cost.roofline import (
    attainable_flops_per_s,
    bandwidth_from_clock,
    bound_by,
    critical_rows,
    floor_seconds,
    ridge,
    roofline_point,
)


def test_ro01_ridge_uses_the_dense_peak() -> None:
    assert round(ridge(989e12, 3350e9), 2) == 295.22
    assert round(find_accelerator("H100 SXM 80GB").ridge_flops_per_byte, 2) == 295.22


@pytest.mark.parametrize(
    ("clock_mhz", "bus_bits", "gb_per_s"), [(2619, 5120, 3352.32), (7001, 192, 336.048)]
)
def test_ro01_the_double_data_rate_counts_once(
    clock_mhz: float, bus_bits: int, gb_per_s: float
) -> None:
    assert bandwidth_from_clock(clock_mhz * 1e6, bus_bits) / 1e9 == pytest.approx(gb_per_s)


def test_ro01_an_unknown_device_has_no_peak() -> None:
    with pytest.raises(ValueError, match="no accelerator named"):
        find_accelerator("Mystery GPU 24GB")


def test_ro02_gib_over_decimal_bandwidth() -> None:
    assert floor_seconds(15 * 2**30, 1, 1e12, 1e15) * 1e3 == pytest.approx(16.106, abs=5e-4)
    assert floor_seconds(1, 65536, 1e15, 800e12) == pytest.approx(8.192e-11)


def test_ro05_weights_once_and_a_cache_per_sequence() -> None:
    def step_s(batch: int) -> float:
        return floor_seconds(8e9 + batch * 5e8, 1, 1e12, 1e15)

    assert step_s(1) == pytest.approx(8.5e-3)
    assert step_s(16) == pytest.approx(16.0e-3)
    assert 16 / step_s(16) == pytest.approx(1000.0)


def test_both_sides_of_the_ridge() -> None:
    h100 = find_accelerator("H100 SXM 80GB")
    low = roofline_point(matmul_cost(4096, 4096, 1, "bfloat16"), h100, "decode")
    high = roofline_point(matmul_cost(4096, 4096, 4096, "bfloat16"), h100, "prefill")
    assert (low.bound, high.bound) == ("memory", "compute")
    assert low.seconds == low.memory_s > low.compute_s
    assert high.attainable_flops_per_s == 989e12
    assert low.attainable_flops_per_s == pytest.approx(low.intensity * 3350e9)
    assert low.name == "decode"


def test_at_the_ridge_both_limits_are_equal_and_memory_is_named() -> None:
    assert bound_by(10.0, 100.0, 1.0, 10.0) == "memory"
    assert attainable_flops_per_s(10.0, 10.0, 1.0) == 10.0
    assert attainable_flops_per_s(1000.0, 10.0, 1.0) == 10.0


def test_more_peak_does_not_help_one_row_and_more_bandwidth_does() -> None:
    cost = matmul_cost(4096, 4096, 1, "bfloat16")
    base = floor_seconds(cost.total_bytes, cost.flops, 1e12, 1e14)
    assert floor_seconds(cost.total_bytes, cost.flops, 1e12, 2e14) == base
    assert floor_seconds(cost.total_bytes, cost.flops, 2e12, 1e14) == base / 2


def test_critical_rows_are_the_ridge_at_two_bytes() -> None:
    a100 = find_accelerator("A100 80GB SXM")
    assert round(critical_rows(a100, 2)) == 153
    assert critical_rows(a100, 1) == critical_rows(a100, 2) / 2


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), 1e40, "fast", None, True])
def test_bad_rates_are_named(bad: Any) -> None:
    with pytest.raises(ValueError, match="flops_per_s must be a number above 0"):
        ridge(bad, 1e12)
    with pytest.raises(ValueError, match="bandwidth_bytes_per_s must be a number above 0"):
        ridge(1e12, bad)
