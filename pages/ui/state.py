"""What a session remembers: its settings, the step of each page, lecture mode, what was dropped.

The one place that knows the names in ``st.session_state``.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

import streamlit as st

from core.decode.records import RunTrace
from pages.ui.components import ADDRESS
from pages.ui.defaults import default_settings
from pages.ui.settings import (
    Address,
    Dropped,
    RunSettings,
    address_names,
    parse_address,
    to_query,
)

_SETTINGS = "_settings"
_STEPS = "_steps"
_LECTURE = "_lecture"
_DROPPED = "_dropped"
_WANTED = "_wanted"
_RUNS = "_runs"
_SEEN = "_seen"
_SESSION = "_session_name"
_RESTORED = "_restored"
_GENERATIONS = "_widget_generations"
_FIRST_STEP = "_first_step"


def begin() -> None:
    """Read the address, once in a session; afterwards the session owns the settings.

    A document that has lost its server meets a new session, and tells it its address then.
    """
    reported = st.session_state.get(ADDRESS)
    restore = None if reported is None else reported.get("restore")
    if _SETTINGS not in st.session_state:
        st.session_state[_SESSION] = secrets.token_hex(8)
        _take(parse_address(st.query_params.to_dict(), default_settings()))
    elif restore is not None and not is_restored():
        st.session_state[_RESTORED] = True
        _take(parse_address(restore, default_settings()))
        for name, value in vars(settings()).items():
            st.session_state[widget_key(name)] = value


def _take(asked: Address) -> None:
    st.session_state[_SETTINGS] = asked.settings
    st.session_state[_LECTURE] = asked.lecture
    st.session_state[_DROPPED] = asked.dropped
    st.session_state[_FIRST_STEP] = asked.step
    for name in (_STEPS, _WANTED, _RUNS, _SEEN):
        st.session_state[name] = {}


def session_name() -> str:
    """A name by which the browser notices that it talks to another session."""
    return str(st.session_state[_SESSION])


def is_restored() -> bool:
    """Whether the session took its state over from a document that had lost its server."""
    return bool(st.session_state.get(_RESTORED))


def widget_key(name: str) -> str:
    """The key of the run bar's widget for the setting ``name``."""
    generation = st.session_state.get(_GENERATIONS, {}).get(name, 0)
    return f"run_{name}.{generation}" if generation else f"run_{name}"


def renew_widget(name: str, value: Any) -> None:
    """Give a widget another value by making it another widget.

    A request that is already under way still carries the old value, and would bring it back
    as if the reader had chosen it; it cannot do so for a widget that it does not know.
    """
    generations = st.session_state.setdefault(_GENERATIONS, {})
    generations[name] = generations.get(name, 0) + 1
    st.session_state[widget_key(name)] = value


def settings() -> RunSettings:
    """The session's settings."""
    found: RunSettings = st.session_state[_SETTINGS]
    return found


def change(**values: Any) -> RunSettings:
    """Change some settings and return all of them."""
    st.session_state[_SETTINGS] = replace(settings(), **values)
    return settings()


def step(slug: str) -> int:
    """The step at which page ``slug`` was left; the address gives that of the first page."""
    steps: dict[str, int] = st.session_state[_STEPS]
    if slug not in steps:
        steps[slug] = st.session_state.pop(_FIRST_STEP, 0) if not steps else 0
    return steps[slug]


def set_step(slug: str, value: int) -> None:
    """Remember where the reader is on page ``slug``."""
    st.session_state[_STEPS][slug] = value


def begin_run(slug: str, trace: RunTrace) -> None:
    """Note which run page ``slug`` shows; another story than before starts at its prefill."""
    shown: dict[str, RunTrace] = st.session_state[_RUNS]
    if slug in shown and not same_story(shown[slug], trace):
        set_step(slug, 0)
        set_wanted(slug, 0)
    shown[slug] = trace


def same_story(one: RunTrace, other: RunTrace) -> bool:
    """Whether one run goes on where the other stops, so that a step means the same in both."""
    shared = min(one.n_rows, other.n_rows)
    return one.n_prompt == other.n_prompt and one.ids[:shared] == other.ids[:shared]


def prompt_rows(slug: str) -> int:
    """How many rows the prompt of the run on page ``slug`` has; 0 before it shows one."""
    shown: dict[str, RunTrace] = st.session_state[_RUNS]
    return shown[slug].n_prompt if slug in shown else 0


def wanted(slug: str) -> int:
    """How many rows in all the stage of page ``slug`` has asked for."""
    rows: dict[str, int] = st.session_state[_WANTED]
    return rows.get(slug, 0)


def set_wanted(slug: str, n_rows: int) -> None:
    """Remember how many rows the stage of page ``slug`` asks for."""
    st.session_state[_WANTED][slug] = n_rows


def seen(slug: str) -> dict[str, Any]:
    """What the stage of page ``slug`` reported last, by name; to be written to."""
    found: dict[str, dict[str, Any]] = st.session_state[_SEEN]
    return found.setdefault(slug, {})


def lecture() -> bool:
    """Whether lecture mode is on."""
    return bool(st.session_state[_LECTURE])


def set_lecture(value: bool) -> None:
    """Switch lecture mode."""
    st.session_state[_LECTURE] = value


def dropped() -> tuple[Dropped, ...]:
    """What the address asked for and could not get; empty once it has been dismissed."""
    found: tuple[Dropped, ...] = st.session_state[_DROPPED]
    return found


def dismiss_dropped() -> None:
    """Forget what was dropped: the reader has chosen something since."""
    st.session_state[_DROPPED] = ()


def query(slug: str) -> dict[str, str]:
    """What the address of page ``slug`` needs to bring this state back."""
    return to_query(settings(), default_settings(), step(slug), lecture())


def address(slug: str) -> dict[str, Any]:
    """What the browser's address follows; another page is another address, alike or not."""
    return {
        "wanted": query(slug),
        "names": list(address_names()),
        "page": slug,
        "session": session_name(),
        "restored": is_restored(),
    }


def permanent_query(slug: str) -> dict[str, str]:
    """The same with every setting spelled out, so that no later default can change it."""
    return to_query(settings(), None, step(slug), lecture())
