"""Decoding: sampling, generation, traces of a run and the proof that the cache is exact."""
