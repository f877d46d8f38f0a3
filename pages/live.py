"""Live latency: how fast the host that runs this app decodes, token by token."""

from pages.ui.registry import page, routed

routed()

import streamlit as st  # noqa: E402

from pages.ui import live_desk, live_page, live_stage, scaffold  # noqa: E402

PAGE = page("live")

live_page.style()
try:
    now = live_desk.moment()
except ValueError as error:
    scaffold.heading(PAGE, [scaffold.Message("problem", f"{error}.")])
    st.stop()

live_page.controls(now)
said = live_page.messages(now)
scaffold.heading(PAGE, said)
live_stage.stage()
live_stage.feed(now)
live_page.section(now)
scaffold.notes(said)
scaffold.code_that_ran(
    "one timed decode step",
    ("core.machine.bench", "DecodeRunner.compute"),
    ("core.machine.bench", "DecodeRunner.time_steps"),
    ("core.machine.probe", "ReadProbe.read"),
)
scaffold.what_this_is_not(
    "The context is held, so every step moves the same bytes; a real answer grows. Random weights "
    "are as fast as trained ones, and say nothing. Shares of the machine that others use are lost "
    "to the measurement: read its load.",
)
scaffold.way_on(PAGE)
