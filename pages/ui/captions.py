"""The caption of each frame: one plain sentence, also the screen reader's live region."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.decode.records import RunTrace
from pages.ui import units

if TYPE_CHECKING:
    from core.decode.mask_check import MaskCheck

_QUOTES = "“{}”"


def step_caption(trace: RunTrace, index: int) -> str:
    """Return what happens in step ``index``, in a sentence or two."""
    record = trace.steps[index]
    chosen = _QUOTES.format(trace.tokens[trace.n_prompt + index].label)
    if index == 0:
        return (
            f"Prefill: all {trace.n_prompt} prompt tokens at once, so all {trace.n_prompt} rows "
            f"appear together. Its last row chooses {chosen}."
        )
    asking = _QUOTES.format(trace.tokens[record.position].label)
    return (
        f"Token {record.position} {asking} asks {record.context_len} keys, its own included; "
        f"its row is the only one computed. It chooses {chosen}."
    )


def stop_sentence(trace: RunTrace, limit: int | None = None) -> str:
    """Return why the run has no further step, in one sentence."""
    n_steps = trace.n_steps
    if trace.stop_reason == "end":
        return f"The model chose the end token after {_times(n_steps)}: the story is over."
    if trace.stop_reason == "context":
        size = trace.config.max_seq_len
        return (
            f"The context is full: the model was trained on {size} tokens, and token {size - 1} "
            "is the last one it can choose."
        )
    if limit is not None and n_steps >= limit:
        return f"This run may take {_times(limit)}; raise Decode steps under Sampling to go on."
    return f"{_times(n_steps).capitalize()} computed so far."


def mask_sentence(prefill: MaskCheck, decode: MaskCheck | None) -> str:
    """Return what the check of the causal mask found, with its numbers."""
    hidden = (
        f"Checked now: in prefill the mask hides {units.count(prefill.n_masked)} of "
        f"{units.count(prefill.n_scores)} scores a head, and without it weights change by up to "
        f"{units.difference(prefill.max_abs_weight_diff)}."
    )
    if decode is None:
        return hidden
    verdict = (
        "identical"
        if decode.identical
        else f"different by up to {units.difference(decode.max_abs_weight_diff)}"
    )
    return (
        f"{hidden} The newest decode row, with a mask and without one, is {verdict}: "
        f"{decode.n_masked} of its {units.count(decode.n_scores)} scores are masked."
    )


def _times(n_steps: int) -> str:
    return "1 decode step" if n_steps == 1 else f"{n_steps} decode steps"
