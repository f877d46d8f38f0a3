"""One new row: the model's own triangle, and one blue row for every cached decode step."""

from pages.ui.registry import page, routed

routed()

import streamlit as st  # noqa: E402

from pages.ui import checks, predict, runbar, runs, scaffold, stages  # noqa: E402
from pages.ui.take_away import take_away  # noqa: E402

PAGE = page("new_row")

stages.follow(PAGE.slug)
settings = runbar.run_bar()
shown = runs.shown_run(settings, stages.steps_needed(PAGE.slug))
scaffold.heading(PAGE, shown.messages)
if shown.run is None:
    scaffold.notes(shown.messages)
    st.stop()

run = shown.run
tried = checks.experiment(run, settings)
stages.run_stage("newrow", "mountNewRow", PAGE.slug, run, settings, **tried.view)

checks.switches()
scaffold.findings(tried.findings)
scaffold.notes(shown.messages)
predict.next_step(run, stages.present_step(PAGE.slug, run))
scaffold.code_that_ran(
    "the attention of a decode step",
    ("core.model.transformer", "Transformer.decode_step"),
    ("core.model.attention", "attend"),
)
take_away(PAGE, run, settings)
scaffold.what_this_is_not(
    "One attention head of one layer of a very small model, drawn as a history. Stored are only "
    "K and V: no row above is kept, and no query is. What a head looks at is not yet a reason "
    "for what the model says; switch it off and see.",
)
scaffold.way_on(PAGE)

runs.carry_proof(run, same_order=settings.same_order)
runs.await_live_model(run)
