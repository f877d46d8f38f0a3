"""The whole decode step as one bar of bytes: every matrix, and the K/V cache beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core.config import STORYTELLER
from core.cost.accounting import forward_ops, total_cost
from core.decode.records import RunTrace
from pages.ui import assets, units
from pages.ui.palette import Theme
from pages.ui.sweep_payload import MATRIX_LABELS
from pages.ui.sweep_roofline import theme, weight_format
from pages.ui.sweep_stage import Sweep
from pages.ui.text import literal_html

CONTEXT = "sweep_context"


@dataclass(frozen=True)
class Share:
    """One stretch of the bar: bytes read in one decode step, all layers together."""

    name: str
    label: str
    n_bytes: int
    is_cache: bool = False


def step_shares(context_len: int, weight_dtype: object, kv_dtype: str) -> list[Share]:
    """Return what one decode step of the shipped model reads, largest matrix first.

    Norms are the few bytes left over; the K/V cache comes last.

    >>> shares = step_shares(10, "float16", "float16")
    >>> [(share.name, share.n_bytes) for share in shares[:2]]
    [('gate', 360448), ('up', 360448)]
    """
    ops = forward_ops(STORYTELLER, 1, context_len, 1, weight_dtype, kv_dtype)  # type: ignore[arg-type]
    matrices = [
        Share(name, MATRIX_LABELS[name], sum(op.weight_bytes for op in ops if op.name == name))
        for name in STORYTELLER.matrices()
    ]
    known = sum(share.n_bytes for share in matrices)
    whole = total_cost(ops)
    matrices.sort(key=lambda share: -share.n_bytes)
    return [
        *matrices,
        Share("norms", "Norms", whole.weight_bytes - known),
        Share("kv", "K/V cache", whole.kv_read_bytes, is_cache=True),
    ]


def bar_html(shares: Sequence[Share], swept: str, full_bytes: int, theme: Theme) -> str:
    """Return the bar and its legend; ``full_bytes`` is the length of the whole width."""
    total = sum(share.n_bytes for share in shares)
    pieces = "".join(_piece(share, share.name == swept, full_bytes) for share in shares)
    items = "".join(_item(share, share.name == swept, total) for share in shares)
    return (
        f"<style>{assets.read('css/step_bytes.css')}</style>"
        f'<div class="onr-step onr-{theme}">'
        f'<div class="onr-step-bar" aria-hidden="true">{pieces}</div>'
        f'<ul class="onr-step-list">{items}</ul></div>'
    )


@st.fragment
def section(sweep: Sweep, trace: RunTrace) -> None:
    """Draw the bar, the slider of its context, and what dominates in words."""
    limit = STORYTELLER.max_seq_len
    st.session_state.setdefault(CONTEXT, min(limit, sweep.key.position + 1))
    st.subheader("One whole decode step, by the bytes it reads", anchor=False)
    context = st.slider(
        "Tokens attended in this step (context)",
        1,
        limit,
        key=CONTEXT,
        persist_state="session",
    )
    shares = step_shares(context, weight_format(sweep), trace.dtype)
    most = sum(s.n_bytes for s in step_shares(limit, weight_format(sweep), trace.dtype))
    st.html(bar_html(shares, sweep.key.matrix, most, theme()))
    for sentence in words(shares, context, trace.dtype):
        st.html(f'<p class="onr-finding">{literal_html(sentence)}</p>')


def words(shares: Sequence[Share], context_len: int, kv_dtype: str) -> list[str]:
    """Return the totals and what dominates, each number with its kind."""
    total = sum(share.n_bytes for share in shares)
    by_name = {share.name: share.n_bytes for share in shares}
    mlp = by_name["gate"] + by_name["up"] + by_name["down"]
    weights = total - by_name["kv"]
    return [
        f"In all {units.exact_bytes(total)} (modelled): {units.exact_bytes(weights)} of weights, "
        f"whatever the context, and {units.exact_bytes(by_name['kv'])} of keys and values of "
        f"{units.count(context_len)} tokens at {kv_dtype}.",
        f"Of the weights, the MLP matrices are {units.percent(mlp / weights)} and the output head "
        f"is {units.percent(by_name['lm_head'] / weights)}.",
    ]


def _piece(share: Share, is_swept: bool, full_bytes: int) -> str:
    width = 100 * share.n_bytes / full_bytes
    text = literal_html(share.label) if width >= 7 else ""
    return (
        f'<span data-role="{_role(share, is_swept)}" style="width:{width:.4f}%" '
        f'title="{literal_html(share.label)}: {units.exact_bytes(share.n_bytes)}">{text}</span>'
    )


def _item(share: Share, is_swept: bool, total: int) -> str:
    return (
        f'<li data-role="{_role(share, is_swept)}"><span>{literal_html(share.label)}</span> '
        f"<b>{units.exact_bytes(share.n_bytes)}</b> {units.percent(share.n_bytes / total)}</li>"
    )


def _role(share: Share, is_swept: bool) -> str:
    return "cache" if share.is_cache else "swept" if is_swept else "weights"
