"""This machine: its devices, its measured bandwidth and its inter-token latency."""
