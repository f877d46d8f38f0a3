"""What a plan may be made of, by the names that an address uses."""

from __future__ import annotations

OWN_MODEL = "own config"
"""The name of the reader's own model, which no address can carry."""

DEFAULT_MODEL = "Llama 3.1 8B"
DEFAULT_ACCELERATOR = "H100 SXM 80GB"
DEVICES = (1, 2, 4, 8, 16, 32, 64)
BLOCK_SIZES = (1, 8, 16, 32, 64, 128, 256)
MAX_RESERVE_GB = 1000.0
MAX_PRICE = 1e6
MAX_POWER_W = 1e5

CACHE_DTYPES: dict[str, str] = {
    "16bit": "16 bit",
    "q8_0": "8 bit, scales (q8_0)",
    "fp8": "8 bit, fp8",
    "q4_0": "4 bit, scales (q4_0)",
}
"""Precisions of the cache; 16bit is the model's own."""

WEIGHT_DTYPES: dict[str, str] = {
    "published": "as published",
    "bfloat16": "bfloat16",
    "fp8": "fp8",
    "int8": "int8",
    "int4": "int4, groups of 32",
    "mxfp4": "mxfp4",
    "q8_0": "q8_0",
    "q4_0": "q4_0",
}


def kv_dtype(name: str) -> str | None:
    """Return the format of a cache precision, None for the model's own.

    >>> kv_dtype("16bit"), kv_dtype("q8_0")
    (None, 'q8_0')
    """
    return None if name == "16bit" else name


def weight_dtype(name: str) -> str | None:
    """Return the format of a weight precision, None for the published one."""
    return None if name == "published" else name
