"""``trace``: one run with its attention rows, shapes, likeliest tokens and proof."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.commands.common import envelope, index_list, picked
from core.commands.model_flags import add_prompt_flags, load_for, sampling_from

if TYPE_CHECKING:
    from core.decode.proof_record import StepProof
    from core.decode.records import RunTrace, StepRecord


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of ``trace``."""
    add_prompt_flags(parser, min_steps=0)
    parser.add_argument("--layers", type=index_list, default=None, metavar="I,J|all")
    parser.add_argument("--heads", type=index_list, default=None, metavar="I,J|all")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Run the prompt, prove every decode step, and return the object of the trace.

    Raises: ValueError for a setting, a layer or a head out of range, or an empty prompt.
    """
    settings = sampling_from(args)
    model = load_for(args)
    layers = picked("layers", args.layers, model.config.n_layers)
    heads = picked("heads", args.heads, model.config.n_heads)

    from core.decode.proof import prove_run
    from core.decode.trace import Run

    run_ = Run(model, args.prompt, settings, room=args.steps, ignore_end=args.ignore_end)
    trace = run_.extend(args.steps)
    if trace.n_steps == args.steps and trace.stop_reason == "context":
        trace = replace(trace, stop_reason="steps")  # all that was asked for; the context is full
    proof = prove_run(model, trace)
    return envelope(
        trace_object(trace, proof.steps, layers, heads),
        notes=trace.notes,
        model_sha256=trace.model_sha256,
    )


def trace_object(
    trace: RunTrace,
    proofs: tuple[StepProof, ...],
    layers: tuple[int, ...],
    heads: tuple[int, ...],
) -> dict[str, Any]:
    """Return a run as plain lists and numbers, without the envelope."""
    prefill = trace.steps[0]
    prompt_rows = range(trace.n_prompt)
    return {
        "model": _model(trace),
        "tokens": [
            {"position": t.position, "id": t.id, "text": t.text, "source": t.source}
            for t in trace.tokens
        ],
        "prefill": {
            "n_tokens": trace.n_prompt,
            "attn_weights": {
                str(layer): {
                    str(head): [trace.weights_row(layer, head, r).tolist() for r in prompt_rows]
                    for head in heads
                }
                for layer in layers
            },
            "logits_top": _logits_top(prefill),
            "chosen_id": prefill.chosen_id,
            "elapsed_s": prefill.elapsed_s,
        },
        "steps": [
            _step(trace, step, proof, layers, heads)
            for step, proof in zip(trace.steps[1:], proofs[1:], strict=True)
        ],
        "stop_reason": trace.stop_reason,
    }


def summary(result: Mapping[str, Any]) -> str:
    """Return the text of the run and one line per step."""
    text = "".join(token["text"] for token in result["tokens"][1:])
    lines = [text, f"prefill: {result['prefill']['n_tokens']} rows at once"]
    for step in result["steps"]:
        difference = step["proof"]["max_abs_logit_diff"]
        lines.append(
            f"position {step['position']}: 1 row of {step['context_len']} weights, largest "
            f"difference of a logit to a full pass {difference:.1e} (measured)"
        )
    return "\n".join([*lines, f"stopped: {result['stop_reason']}", *result["notes"]])


def _model(trace: RunTrace) -> dict[str, int]:
    config = trace.config
    return {
        "n_layers": config.n_layers,
        "n_heads": config.n_heads,
        "n_kv_heads": config.n_kv_heads,
        "head_dim": config.head_dim,
        "d_model": config.d_model,
        "d_ff": config.d_ff,
        "vocab_size": config.vocab_size,
        "n_params": config.n_params,
        "weight_bytes": trace.weight_bytes,
    }


def _step(
    trace: RunTrace,
    step: StepRecord,
    proof: StepProof,
    layers: tuple[int, ...],
    heads: tuple[int, ...],
) -> dict[str, Any]:
    shapes = step.shapes
    return {
        "position": step.position,
        "input_id": step.input_id,
        "context_len": step.context_len,
        "shapes": {
            "q": list(shapes.q),
            "k_cache": list(shapes.k),
            "scores": list(shapes.scores),
            "v_cache": list(shapes.v),
            "output": list(shapes.output),
        },
        "attn_weights": {
            str(layer): {
                str(head): trace.weights_row(layer, head, step.position).tolist() for head in heads
            }
            for layer in layers
        },
        "logits_top": _logits_top(step),
        "chosen_id": step.chosen_id,
        "kv_bytes_in_use": step.kv_bytes_in_use,
        "proof": {
            "max_abs_logit_diff": proof.max_abs_logit_diff,
            "max_abs_row_diff": proof.max_abs_row_diff,
            "same_argmax": proof.same_argmax,
            "old_kv_unchanged": proof.old_kv_unchanged,
            "appended": proof.appended,
        },
        "elapsed_s": step.elapsed_s,
    }


def _logits_top(step: StepRecord) -> list[dict[str, Any]]:
    return [{"id": t.id, "text": t.text, "logit": t.logit, "prob": t.prob} for t in step.logits_top]
