"""The one formatter for quantities: every number on a page is made readable here.

Decimal prefixes are powers of 1,000 (kB, MB, GB), binary ones powers of 1,024 (KiB, MiB, GiB),
and the unit always says which. Rates and FLOPs are decimal. Memory is usually shown in binary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_SI = ("", "k", "M", "G", "T", "P", "E")
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))


def number(value: float, digits: int = 4) -> str:
    """Return ``value`` with ``digits`` significant digits, thousands separated.

    >>> number(81.92), number(1234567.0), number(0.00012), number(16.0)
    ('81.92', '1,234,567', '0.00012', '16')
    """
    if not math.isfinite(value):
        raise ValueError(f"value must be finite, got {value}")
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, 15)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(value: int) -> str:
    """Return a whole number with its thousands separated.

    >>> count(171700)
    '171,700'
    """
    return f"{value:,d}"


def decimal_bytes(n_bytes: float, digits: int = 4) -> str:
    """Return bytes in powers of 1,000.

    >>> decimal_bytes(131072), decimal_bytes(25769803776), decimal_bytes(1500)
    ('131.1 kB', '25.77 GB', '1.5 kB')
    >>> decimal_bytes(999_999), decimal_bytes(999_900)
    ('1 MB', '999.9 kB')
    """
    return _scaled(n_bytes, 1000.0, _DECIMAL, digits)


def binary_bytes(n_bytes: float, digits: int = 4) -> str:
    """Return bytes in powers of 1,024.

    >>> binary_bytes(131072), binary_bytes(25769803776), binary_bytes(1536), binary_bytes(999)
    ('128 KiB', '24 GiB', '1.5 KiB', '999 B')
    """
    return _scaled(n_bytes, 1024.0, _BINARY, digits)


def exact_bytes(n_bytes: int) -> str:
    """Return bytes to the last one.

    >>> exact_bytes(6710886400)
    '6,710,886,400 B'
    """
    return f"{n_bytes:,d} B"


def seconds(duration_s: float, digits: int = 4) -> str:
    """Return a time from picoseconds to seconds.

    >>> seconds(65536 / 800e12), seconds(15 * 2**30 / 1e12), seconds(0.0175), seconds(2.5)
    ('81.92 ps', '16.11 ms', '17.5 ms', '2.5 s')
    """
    if duration_s == 0:
        return "0 s"
    for unit_s, name in _SECONDS:
        if abs(duration_s) >= unit_s * (1 - 0.5 * 10.0**-digits):
            return f"{number(duration_s / unit_s, digits)} {name}"
    return f"{duration_s:.{digits - 1}e} s"


def steady_seconds(duration_s: float) -> tuple[str, str]:
    """Return a time as (number, unit) with three digits always, for a counter that ticks.

    >>> steady_seconds(0.0241), steady_seconds(0.00998), steady_seconds(2.0)
    (('24.1', 'ms'), ('9.98', 'ms'), ('2.00', 's'))
    """
    unit = next(
        (name for unit_s, name in _SECONDS if duration_s >= unit_s * 0.9995), _SECONDS[-1][1]
    )
    return steady_in(duration_s, unit), unit


def steady_in(duration_s: float, unit: str) -> str:
    """Return a time in a given unit with three digits, trailing zeros kept.

    >>> steady_in(0.024, "ms"), steady_in(0.0005, "ms"), steady_in(0.1239, "ms")
    ('24.0', '0.50', '124')
    """
    value = duration_s / next(unit_s for unit_s, name in _SECONDS if name == unit)
    places = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{places}f}"


def byte_rate(bytes_per_s: float, digits: int = 4) -> str:
    """Return a bandwidth; rates are decimal.

    >>> byte_rate(3.35e12), byte_rate(9.4e9)
    ('3.35 TB/s', '9.4 GB/s')
    """
    return f"{decimal_bytes(bytes_per_s, digits)}/s"


def flops(n_flops: float, digits: int = 4) -> str:
    """Return an amount of arithmetic in floating point operations.

    >>> flops(14e9), flops(8192000)
    ('14 GFLOP', '8.192 MFLOP')
    """
    return _joined(n_flops, "FLOP", digits)


def flop_rate(flops_per_s: float, digits: int = 4) -> str:
    """Return an arithmetic speed.

    >>> flop_rate(989e12)
    '989 TFLOP/s'
    """
    return f"{_joined(flops_per_s, 'FLOP', digits)}/s"


def rate(per_s: float, unit: str = "tokens", digits: int = 3) -> str:
    """Return a rate such as tokens per second.

    >>> rate(57.14), rate(1000.0, "steps")
    ('57.1 tokens/s', '1,000 steps/s')
    """
    return f"{number(per_s, digits)} {unit}/s"


def percent(share: float, digits: int = 2) -> str:
    """Return a share of 1 as a percentage; what would round to 0 or 100 says so.

    >>> percent(0.42), percent(0.99996), percent(0.00001), percent(0.0), percent(1.0)
    ('42 %', '> 99.9 %', '< 0.1 %', '0 %', '100 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    if share >= 0.995 and share < 1:
        return f"{share * 100:.1f} %"
    return f"{number(share * 100, digits)} %"


def difference(value: float) -> str:
    """Return a numerical difference in scientific form; 0 stays 0.

    >>> difference(4.76e-7), difference(0.0), difference(0.25)
    ('4.8e-7', '0', '0.25')
    """
    if value == 0:
        return "0"
    if abs(value) >= 0.01:
        return number(value, 2)
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def shape(dims: Sequence[int]) -> str:
    """Return a tensor's shape.

    >>> shape((1, 32))
    '(1, 32)'
    """
    return "(" + ", ".join(str(d) for d in dims) + ")"


def _scaled(value: float, base: float, units: tuple[str, ...], digits: int) -> str:
    if value < 0:
        raise ValueError(f"value must be at least 0, got {value}")
    power = 0
    # A value that rounds up to the next unit is written in it: 999,999 B is 1 MB, not 1,000 kB.
    while power + 1 < len(units) and _rounded(value / base**power, digits) >= base:
        power += 1
    if power == 0:
        return f"{number(value, digits)} {units[0]}"
    amount = value / base**power
    return f"{number(amount, max(digits, len(str(int(amount)))))} {units[power]}"


def _rounded(value: float, digits: int) -> float:
    return round(value, max(0, digits - len(str(int(value)))))


def _joined(value: float, unit: str, digits: int) -> str:
    power = 0
    while power + 1 < len(_SI) and abs(value) >= 1000 ** (power + 1) * (1 - 0.5 * 10.0**-digits):
        power += 1
    return f"{number(value / 1000**power, digits)} {_SI[power]}{unit}"
