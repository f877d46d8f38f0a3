"""Whether data may stay in a cache, which would make a figure one of the cache; no torch."""

from __future__ import annotations


def stays_in_cache(n_bytes: int, last_level_cache_bytes: int | None) -> bool | None:
    """Whether data read over and over may stay in the cache: fewer bytes than two caches.

    >>> stays_in_cache(10**6, 2**25), stays_in_cache(10**9, 2**25), stays_in_cache(1, None)
    (True, False, None)
    """
    if last_level_cache_bytes is None:
        return None
    return n_bytes < 2 * last_level_cache_bytes
