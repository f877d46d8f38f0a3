"""The roofline beside the sweep: chosen accelerators, own figures, dots, and the ridge in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core.config import STORYTELLER
from core.cost import checks
from core.cost.accounting import Pass, forward_total, matmul_cost
from core.cost.catalog import accelerator_names, find_accelerator
from core.cost.dtypes import NumberFormat, number_format
from core.cost.spec import AcceleratorSpec
from core.cost.sweep_roof import rows_to_ridge, without_activations
from core.decode.records import RunTrace
from core.decode.sweep_settings import PRESETS
from pages.ui import caching
from pages.ui.palette import Theme
from pages.ui.roofline_chart import MAX_ROOFS, Dot, in_words, roofline_figure
from pages.ui.sweep_stage import Sweep
from pages.ui.text import literal_html

OWN = "Own figures"
DEFAULT_ROOFS = ["H100 SXM 80GB"]
CHOSEN = "sweep_roofs"
ACTIVATIONS = "sweep_activations"
BANDWIDTH, PEAK = "sweep_own_bandwidth", "sweep_own_flops"
_ABOVE = ("verify", "prefill")
"""Presets whose label stands above the roof, so that neighbours do not cover each other."""

_GOOD = "_sweep_own_good"
_DEFAULTS: dict[str, Any] = {
    CHOSEN: DEFAULT_ROOFS, ACTIVATIONS: False, BANDWIDTH: "24e9", PEAK: "1e12",
}  # fmt: skip


def number_typed(name: str, text: str) -> float:
    """Return a typed quantity; thousands may be set apart by commas or spaces.

    Raises: ValueError with name, allowed range and what was typed

    >>> number_typed("bandwidth", "3.35e12"), number_typed("bandwidth", "24,000,000,000")
    (3350000000000.0, 24000000000.0)
    >>> number_typed("bandwidth", "fast")
    Traceback (most recent call last):
    ValueError: bandwidth must be a number above 0 and at most 1e+30, got 'fast'
    """
    try:
        value = float(text.strip().replace(",", "").replace(" ", ""))
    except ValueError:
        return checks.positive(name, text[:40])
    return checks.positive(name, value)


@st.fragment
def panel(sweep: Sweep, trace: RunTrace) -> None:
    """Draw the choice of roofs, the chart, and where the present sweep lies, in words."""
    for key, value in _DEFAULTS.items():
        st.session_state.setdefault(key, value)
    host = measured_host()
    offered = [*([] if host is None else [host.name]), *accelerator_names(), OWN]
    st.session_state[CHOSEN] = [name for name in st.session_state[CHOSEN] if name in offered]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = st.multiselect(
            "Accelerators",
            offered,
            max_selections=MAX_ROOFS,
            key=CHOSEN,
            persist_state="session",
            label_visibility="collapsed",
            placeholder=f"Choose up to {MAX_ROOFS} accelerators",
        )
        with st.popover("Own figures"):
            problem = _own_figures()
    own = {OWN: own_spec(), **({} if host is None else {host.name: host})}
    roofs = [own[name] if name in own else find_accelerator(name) for name in chosen]
    if problem is not None and OWN in chosen:
        st.html(f'<p class="onr-finding" role="alert">{literal_html(problem)}</p>')
    roofs = roofs or [find_accelerator(name) for name in DEFAULT_ROOFS]
    counted = st.toggle(
        "Count activations as bytes moved", key=ACTIVATIONS, persist_state="session"
    )
    dots = dots_for(sweep, trace, count_activations=counted)
    st.plotly_chart(
        roofline_figure(roofs, dots, theme()),
        width="stretch",
        key="sweep_roofline",
        config={"displayModeBar": False, "scrollZoom": False},
    )
    for sentence in sentences(sweep, dots[0], roofs, count_activations=counted):
        st.html(f'<p class="onr-finding">{literal_html(sentence)}</p>')
    with st.expander("Where these figures come from"):
        for line in sources(roofs):
            st.text(line)


def dots_for(sweep: Sweep, trace: RunTrace, *, count_activations: bool) -> list[Dot]:
    """Return the present sweep, the named row counts, the whole decode step and the prefill."""
    fmt = weight_format(sweep)
    settings = sweep.settings
    prompt = trace.n_prompt
    step = Pass(1, sweep.key.position + 1, 1, fmt, activation_dtype=None)
    prefill = Pass(prompt, prompt, 1, fmt, activation_dtype=None)

    def swept(rows: int) -> Any:
        return matmul_cost(sweep.d_in, sweep.d_out, rows, fmt)

    names = {preset.rows: preset.name for preset in PRESETS}
    label = f"{names[settings.rows]} {settings.rows}" if settings.rows in names else (
        f"{settings.rows} rows"
    )  # fmt: skip
    dots = [Dot(label, "sweep", swept(settings.rows))]
    dots += [
        Dot(f"{preset.name} {preset.rows}", "preset", swept(preset.rows), preset.name in _ABOVE)
        for preset in PRESETS
        if preset.rows != settings.rows
    ]
    dots.append(Dot("whole step", "step", forward_total(STORYTELLER, step), above=True))
    dots.append(Dot("whole prefill", "prefill", forward_total(STORYTELLER, prefill)))
    if count_activations:
        return dots
    return [replace(dot, cost=without_activations(dot.cost)) for dot in dots]


def sentences(
    sweep: Sweep, dot: Dot, roofs: list[AcceleratorSpec], *, count_activations: bool
) -> list[str]:
    """Return, for each roof, on which side of its ridge the present sweep is."""
    found = []
    for roof in roofs:
        needed = rows_to_ridge(
            sweep.d_in,
            sweep.d_out,
            weight_format(sweep),
            roof.ridge_flops_per_byte,
            count_activations=count_activations,
        )
        found.append(in_words(dot, roof, needed))
    return found


def sources(roofs: list[AcceleratorSpec]) -> list[str]:
    """Return where each roof's figures come from, and what was not verified."""
    lines = []
    for roof in roofs:
        doubt = "" if roof.verified == "yes" else f" Not verified: {roof.verified}."
        note = f" {roof.note}." if roof.note else ""
        lines.append(f"{roof.name}: {roof.source}.{doubt}{note}")
    return [*lines, "Ceilings are dense 16-bit figures (quoted); dots are modelled."]


def weight_format(sweep: Sweep) -> NumberFormat:
    """Return the format of the weights that the page shows, its group size included."""
    return number_format(sweep.settings.weights, sweep.settings.group_size)


def measured_host() -> AcceleratorSpec | None:
    """Return this host's own roof, once something was measured on it."""
    from core.machine.host_roof import host_roof

    try:
        kept = caching.measurements().results()
    except ValueError:  # a limit of the measuring service that cannot be read; its page says so
        return None
    return host_roof([entry.result for entry in kept])


def own_spec() -> AcceleratorSpec:
    """Return the accelerator of the last good figures that were typed in."""
    bandwidth, peak = st.session_state.get(
        _GOOD, (float(_DEFAULTS[BANDWIDTH]), float(_DEFAULTS[PEAK]))
    )
    return AcceleratorSpec(
        OWN, bandwidth, peak, None, source="typed in on this page", verified="yes"
    )


def _own_figures() -> str | None:
    """Draw the two fields; return what is wrong with them, the last good figures staying."""
    st.text_input("Bandwidth in bytes per second", key=BANDWIDTH, persist_state="session")
    st.text_input("Arithmetic in FLOP per second", key=PEAK, persist_state="session")
    try:
        st.session_state[_GOOD] = (
            number_typed("Bandwidth", st.session_state[BANDWIDTH]),
            number_typed("FLOP per second", st.session_state[PEAK]),
        )
    except ValueError as error:
        problem = f"{error}. The last good figures stay."
        st.html(f'<p class="onr-finding" role="alert">{literal_html(problem)}</p>')
        return problem
    st.caption(f"Choose “{OWN}” in the list to draw them.")
    return None


def theme() -> Theme:
    """Return the theme that the browser shows."""
    return "dark" if st.context.theme.type == "dark" else "light"
