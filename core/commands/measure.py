"""``measure``: this machine's bandwidth and the inter-token latency of decode steps on it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.commands.common import envelope, whole_number
from core.config import ModelConfig
from core.machine.spec import DTYPES, MAX_BATCH, MAX_STEPS, MeasureSpec

if TYPE_CHECKING:
    from core.machine.records import MeasureResult

MAX_CONTEXT = 2**20
DEFAULT_CONTEXT = 128
DEFAULT_STEPS = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags: device, weights, batch, context, steps and precision."""
    parser.add_argument("--device", default="auto", metavar="auto|cpu|cuda[:i]|mps")
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument(
        "--weight-bytes",
        type=whole_number(1),
        metavar="N",
        help="random weights of about this size; without it a size past the caches",
    )
    weights.add_argument(
        "--config", type=Path, metavar="FILE", help="random weights of a config.json's shape"
    )
    parser.add_argument("--batch", type=whole_number(1, MAX_BATCH), default=1, metavar="B")
    parser.add_argument(
        "--context",
        type=whole_number(1, MAX_CONTEXT),
        default=DEFAULT_CONTEXT,
        metavar="N",
        help="tokens attended to in every step, the new one included",
    )
    parser.add_argument(
        "--steps", type=whole_number(1, MAX_STEPS), default=DEFAULT_STEPS, metavar="N"
    )
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure and return the figures.

    Raises: ValueError if the device is not there, or the model does not fit or cannot be read.
    """
    spec = MeasureSpec(
        device=args.device,
        weight_bytes=args.weight_bytes,
        config=None if args.config is None else _shape(args.config),
        batch_size=args.batch,
        context_len=args.context,
        n_steps=args.steps,
        dtype=args.dtype,
    )
    from core.machine.runs import measure

    result = measure(spec, parts=False)
    return envelope(figures(result), notes=result.notes)


def figures(result: MeasureResult) -> dict[str, Any]:
    """The figures of a single bench as plain numbers, units in the keys."""
    from core.machine.jsonable import to_plain

    point, probe = result.points[0], result.probe
    return {
        "device": result.device.torch_name,
        "conditions": to_plain(result.conditions),
        "bandwidth_bytes_per_s": {
            "median": probe.median_bytes_per_s,
            "best": probe.best_bytes_per_s,
            "runs": list(probe.runs_bytes_per_s),
        },
        "itl_s": point.itl_s.percentiles(),
        "bytes_read_per_step": point.bytes_read,
        "achieved_bytes_per_s": point.achieved_bytes_per_s,
        "fraction_of_measured_bandwidth": point.fraction_of_measured_bandwidth,
        "fraction_of_bare_products": point.fraction_of_bare_products,
        "cache_resident": result.cache_resident,
    }


def summary(result: Mapping[str, Any]) -> str:
    """Say the figures in a few lines."""
    itl, bandwidth = result["itl_s"], result["bandwidth_bytes_per_s"]
    lines = [
        f"device: {result['conditions']['device_name']} ({result['device']}), "
        f"{result['conditions']['n_threads']} thread(s)",
        f"read bandwidth: {bandwidth['median'] / 1e9:.1f} GB/s median, "
        f"{bandwidth['best'] / 1e9:.1f} best (measured)",
        f"inter-token latency: {itl['p50'] * 1e3:.2f} ms p50, {itl['p90'] * 1e3:.2f} p90, "
        f"{itl['p99'] * 1e3:.2f} p99, {itl['n']} steps (measured)",
        f"bytes read per step: {result['bytes_read_per_step'] / 1e9:.3f} GB (counted), "
        f"{result['achieved_bytes_per_s'] / 1e9:.1f} GB/s achieved",
        f"share of the measured bandwidth: {result['fraction_of_measured_bandwidth']:.2f}, "
        f"of the bare products: {result['fraction_of_bare_products']:.2f}",
    ]
    return "\n".join([*lines, *(f"note: {note}" for note in result["notes"])])


def _shape(path: Path) -> ModelConfig:
    from core.cost.config_text import MAX_CONFIG_BYTES, ConfigError
    from core.cost.hf_config import parse_config_text
    from core.machine.shape import shape_of

    with path.open("rb") as file:
        text = file.read(MAX_CONFIG_BYTES + 1)
    try:
        return shape_of(parse_config_text(text, path.name))
    except ConfigError as error:
        raise ValueError(f"{path}: {error}") from error
