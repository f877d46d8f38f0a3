"""Flags and shared work of the commands that run the shipped model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from core.commands.common import finite_number, whole_number
from core.decode.settings import MAX_SEED, SamplingSettings

if TYPE_CHECKING:
    from core.model.checkpoint import LoadedModel


def add_prompt_flags(parser: argparse.ArgumentParser, *, min_steps: int) -> None:
    """Add the prompt, the number of steps and the sampling flags."""
    parser.add_argument("--prompt", required=True, metavar="TEXT")
    parser.add_argument("--steps", required=True, type=whole_number(min_steps), metavar="N")
    parser.add_argument("--seed", type=whole_number(0, MAX_SEED), default=0, metavar="S")
    parser.add_argument("--temperature", type=finite_number, default=0.0, metavar="T")
    parser.add_argument("--top-k", type=whole_number(0), default=0, metavar="K")
    parser.add_argument("--top-p", type=finite_number, default=1.0, metavar="P")
    parser.add_argument("--min-p", type=finite_number, default=0.0, metavar="M")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--ignore-end", action="store_true", help="go on after the end token")


def sampling_from(args: argparse.Namespace) -> SamplingSettings:
    """Return the settings that the flags ask for.

    Raises: ValueError with the range of the setting that is out of it.
    """
    return SamplingSettings(
        temperature=args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        min_p=args.min_p,
        seed=args.seed,
    )


def load_for(args: argparse.Namespace) -> LoadedModel:
    """Load the shipped model in the precision asked for, on one thread, and warm it up.

    The first pass of a process also sets up torch, which no time reported should contain.
    """
    import torch

    from core.model.checkpoint import DTYPES, load_model

    torch.set_num_threads(1)
    model = load_model(dtype=DTYPES[args.dtype])
    warm_up = torch.tensor([[model.config.bos_id] * 16])
    model.transformer.prefill(warm_up, model.transformer.new_cache())
    return model
