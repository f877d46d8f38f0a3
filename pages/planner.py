"""Planner: any model on any accelerator, the floor of a decode step and what fits."""

from pages.ui.registry import page, routed

routed()

from pages.ui import choices, plan_words, planner_view, scaffold, world_panel  # noqa: E402

PAGE = page("planner")

choices.begin(PAGE.slug)
plan_words.style()
scaffold.heading(PAGE, scaffold.dropped_messages())
planner_view.planner()
world_panel.against_the_world()
scaffold.code_that_ran(
    "how a step is costed",
    ("core.cost.planner", "plan"),
    ("core.cost.kv", "layer_bytes_per_token"),
)
scaffold.what_this_is_not(
    "A floor, not a forecast: launches, all-reduces, queueing, sampling and the prefill come on "
    "top. No real step has been faster; good ones come within a factor of 1.1 to 2.",
)
scaffold.way_on(PAGE)
