"""Weight sweep: one matrix read column by column, its work counted, and where that lies."""

from pages.ui.registry import page, routed

routed()

import streamlit as st  # noqa: E402

from pages.ui import (  # noqa: E402
    caching,
    runbar,
    runs,
    scaffold,
    state,
    step_bytes,
    sweep_roofline,
    sweep_stage,
    sweep_take_away,
)

PAGE = page("weight_sweep")

sweep_stage.follow(PAGE.slug)
settings = runbar.run_bar(picks_head=False)
shown = runs.shown_run(settings)
run = shown.run
sweep, problems = (None, ()) if run is None else sweep_stage.shown_sweep(settings, run.trace)
messages = (*problems, *shown.messages)
scaffold.heading(PAGE, messages)


@st.fragment
def picture(run: caching.SessionRun) -> None:
    """Draw the stage and the roofline: all that a change of rows has to draw again."""
    sweep_stage.follow(PAGE.slug)
    sweep = sweep_stage.present(run.trace)
    if sweep is None:
        st.rerun()  # other weights, other bytes below, or something to be said in the heading
    if state.lecture():
        sweep_stage.stage(sweep, run.trace)
    else:
        left, right = st.columns([1.85, 1], gap="medium")
        with left:
            sweep_stage.stage(sweep, run.trace)
        with right:
            sweep_roofline.panel(sweep, run.trace)
    sweep_stage.follow_address(PAGE)


if sweep is not None and run is not None:
    sweep_stage.carry(sweep)
    sweep_stage.begin_full_run()
    picture(run)
    scaffold.notes(messages)
    step_bytes.section(sweep, run.trace)
    scaffold.code_that_ran(
        "the sweep that was counted",
        ("core.decode.sweep", "sweep_columns"),
        ("core.model.quantization", "StoredMatrix.column"),
        ("core.cost.accounting", "matmul_cost"),
    )
    sweep_take_away.take_away(PAGE, sweep, run)
else:
    scaffold.notes(messages)
scaffold.what_this_is_not(
    "A picture of the order in which weights meet a row, not of a chip: real kernels read W in "
    "tiles, many columns at once, and every byte still has to come. Activations are computed in "
    "float32 here, and counted at 16 bit beside 16-bit and quantised weights.",
)
scaffold.way_on(PAGE)
if run is not None:
    runs.await_live_model(run)
