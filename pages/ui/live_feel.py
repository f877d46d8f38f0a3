"""What a latency feels like: the same text at this host's pace and at that of other devices."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

from core.config import ModelConfig
from core.cost.catalog import find_model, model_names
from core.cost.elsewhere import elsewhere, least_seconds, usual_devices
from core.cost.spec import AcceleratorSpec, ModelSpec
from core.machine.feel import WORDS_PER_MINUTE, Stream, reading_s_per_token, stream
from core.machine.records import MeasureResult
from pages.ui import components, state, units

MEASURED = "the model measured here"
PROMPT_TOKENS = 64
"""As many as the prefill that a measurement times."""
LONGEST_S = 120.0
TEXT = (
    "Every word you see here cost one pass over all the weights. The first word had to wait for "
    "the prompt: that was the prefill, and it read the weights only once for all its tokens. "
    "Since then the machine has read every weight again for every single token, and the memory "
    "decides how fast it can. A faster processor would not help; a wider road to the memory would."
)
"""The streamed text; it names no number, so it is true on every device."""


def section(result: MeasureResult | None) -> None:
    """Draw the choice of the model and the lanes."""
    if result is None or not result.points:
        st.caption("Measure once: this host's own pace is shown beside the others.")
        return
    chosen = st.selectbox(
        "Stream the text at the pace of",
        (MEASURED, *model_names()),
        key="live_feel_model",
        persist_state="session",
        width=330,
    )
    model = None if chosen == MEASURED else find_model(chosen)
    data = {**feel_data(result, model), "lecture": state.lecture()}
    components.mount_stage("livefeel", "mountFeel", data, key="live_feel")


def pieces(text: str = TEXT) -> list[str]:
    """Cut a text into pieces about as long as the tokens of a large vocabulary.

    >>> pieces("Every word cost passes.")
    ['Every', ' word', ' cost', ' passes', '.']
    """
    return re.findall(r"\s?\w{1,7}|\s?[^\w\s]", text)


def feel_data(result: MeasureResult, model: ModelSpec | None) -> dict[str, Any]:
    """Return the lanes: this host, the other devices, and a reader; all times in milliseconds."""
    parts = pieces()
    lanes = [_own_lane(result, model, len(parts)), *_other_lanes(result, model, len(parts))]
    lanes.append(_reader(len(parts)))
    end = max(lane["times"][-1] for lane in lanes)
    return {
        "pieces": parts,
        "lanes": lanes,
        "end_ms": round(min(end, LONGEST_S * 1e3)) + 300,
    }


def _own_lane(result: MeasureResult, model: ModelSpec | None, n: int) -> dict[str, Any]:
    point = result.points[0]
    if model is not None:
        return _own_modelled(result, model, n)
    itl = units.seconds(point.itl_s.p50, 3)
    if result.prefill is not None:
        prefill_s = result.prefill.seconds
        pause = (
            f"prompt of {result.prefill.n_tokens} tokens {units.seconds(prefill_s, 3)} (measured)"
        )
    else:
        prefill_s = point.floor_s
        pause = (
            f"prompt at least {units.seconds(prefill_s, 3)}: one sweep of the weights (modelled)"
        )
    found = stream("This host", "measured", prefill_s, point.itl_samples_s, n)
    words = f"{itl} a token, in the measured order; {pause}"
    return _lane(found, words, "own")


def _own_modelled(result: MeasureResult, model: ModelSpec, n: int) -> dict[str, Any]:
    """Another model at this host's measured bandwidth; its arithmetic is not known."""
    rate = result.probe.median_bytes_per_s
    step_s = least_seconds(model, rate, context_len=PROMPT_TOKENS)
    found = stream("This host", "modelled", step_s, [step_s], n)
    words = (
        f"at least {units.seconds(step_s, 3)} a token at the {units.byte_rate(rate, 3)} measured "
        "here; prompt: one sweep of the weights, the arithmetic comes on top"
    )
    return _lane(found, words, "own")


def _other_lanes(result: MeasureResult, model: ModelSpec | None, n: int) -> list[dict[str, Any]]:
    subject: ModelSpec | ModelConfig | None = model or result.config
    assert subject is not None
    point = result.points[0]
    lanes = []
    for label, device in usual_devices():
        found = elsewhere(
            subject,
            device,
            n_prompt=PROMPT_TOKENS,
            context_len=point.context_len if model is None else PROMPT_TOKENS,
            batch_size=point.batch_size if model is None else 1,
            dtype=result.dtype if model is None else None,
        )
        words = (
            f"at least {units.seconds(found.itl_s, 3)} a token at "
            f"{units.byte_rate(device.bandwidth_bytes_per_s, 3)} ({_source(device)}); prompt of "
            f"{PROMPT_TOKENS} tokens {units.seconds(found.prefill_s, 3)}"
        )
        if found.fits is False:
            words += "; its memory is too small for these weights"
        lanes.append(_lane(stream(label, "modelled", found.prefill_s, [found.itl_s], n), words, ""))
    return lanes


def _source(device: AcceleratorSpec) -> str:
    """Where a bandwidth comes from: a data sheet, or the memory's rate times its width."""
    return "quoted" if device.kind not in ("phone", "cpu") else "modelled: rate times width"


def _reader(n: int) -> dict[str, Any]:
    per_token = reading_s_per_token()
    found = stream("A reader", "quoted", per_token, [per_token], n)
    words = (
        f"{WORDS_PER_MINUTE} words a minute, silent reading (Brysbaert 2019), at 4 tokens for 3 "
        f"words: {units.seconds(per_token, 3)} a token"
    )
    return _lane(found, words, "reader")


def _lane(found: Stream, words: str, role: str) -> dict[str, Any]:
    end = found.times_s[-1]
    pace = (end - found.ttft_s) / max(1, len(found.times_s) - 1)
    ratio = reading_s_per_token() / pace if pace else float("inf")
    done = f"done after {units.seconds(end, 3)}"
    if role != "reader":
        faster = ratio >= 1
        times = units.number(ratio if faster else 1 / ratio, 2)
        done += f", {times} times {'faster' if faster else 'slower'} than reading"
    return {
        "label": found.label,
        "kind": found.kind,
        "words": words,
        "role": role,
        "times": [round(seconds * 1e3, 3) for seconds in found.times_s],
        "waiting": "reading the prompt …" if role != "reader" else "",
        "done": done,
    }
