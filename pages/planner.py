"""Planner: any model on any accelerator, the floor of a decode step and what fits."""

from pages.ui.registry import page, routed

routed()

from pages.ui import plan_words, planner_view, scaffold, world_panel  # noqa: E402

PAGE = page("planner")

plan_words.style()
messages = scaffold.dropped_messages()
scaffold.heading(PAGE, messages)
planner_view.planner(PAGE.slug)
scaffold.notes(messages)
world_panel.against_the_world()
scaffold.code_that_ran(
    "how a step is costed",
    ("core.cost.planner", "plan"),
    ("core.cost.kv", "layer_bytes_per_token"),
)
scaffold.what_this_is_not(
    "A floor, not a forecast: launches, all-reduces, queueing, sampling and the prefill come on "
    "top. No published step has been faster; how much slower they are stands above.",
)
scaffold.way_on(PAGE)
