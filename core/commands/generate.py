"""``generate``: new tokens for a prompt, with the time to the first and between them."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.commands.common import envelope
from core.commands.model_flags import add_prompt_flags, load_for, sampling_from


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of ``generate``."""
    add_prompt_flags(parser, min_steps=1)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Generate, and return the new text, its ids and the latencies.

    Raises: ValueError for a setting out of range or an empty prompt.
    """
    settings = sampling_from(args)
    model = load_for(args)

    from core.decode.generate import generate
    from core.decode.latency import latency, percentiles
    from core.decode.trace import encode_for_run

    prompt = encode_for_run(model, args.prompt, room=args.steps - 1)
    results = list(
        generate(model.transformer, prompt.ids, settings, args.steps, ignore_end=args.ignore_end)
    )
    ids = [result.token_id for result in results]
    times_s = list(itertools.accumulate(result.elapsed_s for result in results))
    measured = latency(times_s)
    return envelope(
        {
            "text": model.tokenizer.decode(ids),
            "ids": ids,
            "ttft_s": measured.ttft_s,
            "itl_s": asdict(percentiles(measured.itl_s)),
            "stop_reason": results[-1].stop_reason,
        },
        notes=prompt.notes,
        model_sha256=model.model_sha256,
    )


def summary(result: Mapping[str, Any]) -> str:
    """Return the new text, the latencies in milliseconds and why it stopped."""
    lines = [result["text"], f"first token after {result['ttft_s'] * 1e3:.2f} ms (measured)"]
    gaps = result["itl_s"]
    if gaps["n"]:
        lines.append(f"median of {gaps['n']} gaps {gaps['p50'] * 1e3:.2f} ms (measured)")
    return "\n".join([*lines, f"stopped: {result['stop_reason']}", *result["notes"]])
