"""What is sent to the browser: the same message goes on as it is, an earlier one never returns."""

import json

from streamlit.testing.v1 import AppTest


def app_mounting() -> None:
    """An app that mounts a carrier of the word in its state, unless told to pause."""
    import streamlit as st

    from pages.ui import components

    components.begin_run()
    if not st.session_state.get("pause"):
        components.carrier("key", {"word": st.session_state.get("word", "a")}, slot="words")


def made(app: AppTest, **state: object) -> int | None:
    """Run the app in this state; return the count of what it sent, None where it sent nothing."""
    for name, value in state.items():
        app.session_state[name] = value
    app.run()
    assert not app.exception
    sent = [json.loads(element.proto.json) for element in app.get("bidi_component")]
    return sent[0]["made"] if sent else None


def start() -> AppTest:
    return AppTest.from_function(app_mounting)


def test_what_has_not_changed_is_the_same_message():
    app = start()
    assert [made(app), made(app), made(app)] == [0, 0, 0]


def test_what_comes_back_is_another_message():
    app = start()
    assert [made(app, word=word) for word in ("a", "b", "a", "a")] == [0, 1, 2, 2]


def test_what_comes_back_after_another_page_is_another_message():
    app = start()
    assert [made(app), made(app, pause=True), made(app, pause=False)] == [0, None, 1]
