"""Costs in bytes, FLOPs and seconds, from formulas; never imports torch."""
