"""One formatter: the unit always says which, and no slip by 1000."""

from __future__ import annotations

import pytest

from pages.ui import units


def test_ro_02_binary_size_over_decimal_rate() -> None:
    assert units.seconds(15.0 * 2**30 / 1.0e12, digits=5) == "16.106 ms"


def test_ro_02_bytes_per_token_in_both_units() -> None:
    assert units.binary_bytes(131072) == "128 KiB"
    assert units.decimal_bytes(131072) == "131.1 kB"


def test_ro_02_card() -> None:
    assert units.exact_bytes(24 * 2**30) == "25,769,803,776 B"
    assert units.decimal_bytes(24 * 2**30) == "25.77 GB"
    assert units.binary_bytes(24 * 2**30) == "24 GiB"


def test_ro_02_picoseconds() -> None:
    assert units.seconds(65536 / 800e12) == "81.92 ps"


@pytest.mark.parametrize(
    ("n_bytes", "binary", "decimal"),
    [
        (0, "0 B", "0 B"),
        (1, "1 B", "1 B"),
        (1000, "1,000 B", "1 kB"),
        (1024, "1 KiB", "1.024 kB"),
        (999_999, "976.6 KiB", "1 MB"),
        (1024**2 - 1, "1 MiB", "1.049 MB"),
        (65_536_000, "62.5 MiB", "65.54 MB"),
        (16 * 2**30, "16 GiB", "17.18 GB"),
    ],
)
def test_bytes(n_bytes: int, binary: str, decimal: str) -> None:
    assert (units.binary_bytes(n_bytes), units.decimal_bytes(n_bytes)) == (binary, decimal)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.0004, "< 0.1 %"), (0.0123, "1.2 %"), (0.5, "50 %"), (0.9996, "> 99.9 %")],
)
def test_a_share_never_rounds_to_none_or_all(share: float, text: str) -> None:
    assert units.percent(share) == text


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="value must be at least 0, got -1"):
        units.binary_bytes(-1)
