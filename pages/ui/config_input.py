"""The reader's own model: a config.json uploaded, pasted, or fetched where that is allowed.

The file is data. What cannot be read gets one message and changes nothing on the page.
"""

from __future__ import annotations

import streamlit as st

from core.cost.config_text import MAX_CONFIG_BYTES, ConfigError
from core.cost.hf_config import parse_config_text
from core.cost.spec import ModelSpec
from pages.ui import choices, hub, scaffold

_UPLOAD, _TEXT, _HUB = "plan_upload", "plan_paste", "plan_hub_id"
_PROBLEM = "_config_problem"


def config_popover() -> None:
    """Draw the ways to bring a config, folded away."""
    with st.popover("Your config.json", key="onr_own_config"):
        st.file_uploader("Upload a config.json", key=_UPLOAD, on_change=_uploaded)
        st.text_area("or paste its text", key=_TEXT, height=120, max_chars=MAX_CONFIG_BYTES)
        st.button("Use this text", key="plan_paste_use", on_click=_pasted)
        if hub.allowed():
            st.text_input("or a hub id, such as org/name", key=_HUB, autocomplete="off")
            st.button("Fetch its config.json", key="plan_hub_use", on_click=_fetched)
        else:
            st.caption("Fetching by hub id is switched off on this server.")


def config_problem() -> str | None:
    """Why the last config could not be used, or nothing."""
    found: str | None = st.session_state.get(_PROBLEM)
    return found


def show_config_problem() -> None:
    """Draw the one message about a config that could not be used."""
    problem = config_problem()
    if problem:
        scaffold.findings((f"{problem} The last model stays.",))


def _uploaded() -> None:
    file = st.session_state.get(_UPLOAD)
    if file is not None:
        _take(file.getvalue(), file.name)


def _pasted() -> None:
    _take(st.session_state.get(_TEXT, ""), "")


def _fetched() -> None:
    name = st.session_state.get(_HUB, "").strip()
    try:
        text = hub.fetch_config(name)
    except hub.HubError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    _take(text, name)


def _take(text: str | bytes, name: str) -> None:
    try:
        model = read_model(text, name)
    except ConfigError as error:
        st.session_state[_PROBLEM] = f"This config cannot be used: {error}."
        return
    st.session_state[_PROBLEM] = None
    choices.use_own_model(model)


def read_model(text: str | bytes, name: str = "") -> ModelSpec:
    """Return the model of a config's text.

    Raises: ConfigError with one line for a person
    """
    return parse_config_text(text, name.removesuffix("config.json").strip(" ./") or "")
