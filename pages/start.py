"""Start: what happens between two tokens, at a glance, and the way into every page."""

from pages.ui.registry import page, routed

routed()

import streamlit as st  # noqa: E402

from pages.ui import runbar, runs, scaffold, stages  # noqa: E402

PAGE = page("start")

stages.follow(PAGE.slug)
settings = runbar.run_bar(picks_head=False)
shown = runs.shown_run(settings, stages.steps_needed(PAGE.slug))
scaffold.heading(PAGE, shown.messages)
if shown.run is None:
    scaffold.notes(shown.messages)
    st.stop()

stages.run_stage("newrow", "mountNewRow", PAGE.slug, shown.run, settings, layout="compact")
scaffold.chapters(PAGE)
scaffold.notes(shown.messages)
scaffold.what_this_is_not(
    "The model is real but tiny: 0.87 million parameters, trained on made-up stories. Large "
    "models differ in size and in what they know, not in how a token follows the last one.",
)
scaffold.way_on(PAGE)
runs.carry_proof(shown.run, same_order=settings.same_order)
runs.await_live_model(shown.run)
