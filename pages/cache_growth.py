"""Cache growth: the run's own cache filling up, then the same for real models."""

from pages.ui.registry import page, routed

routed()

from pages.ui import growth_live, growth_real, plan_words, runbar, runs, scaffold, stages  # noqa: E402

PAGE = page("cache_growth")

stages.follow(PAGE.slug)
plan_words.style()
settings = runbar.run_bar(picks_head=False)
shown = runs.shown_run(settings, stages.steps_needed(PAGE.slug))
scaffold.heading(PAGE, shown.messages)
if shown.run is not None:
    growth_live.stage(PAGE, shown.run, settings)
scaffold.notes(shown.messages)
if shown.run is not None:
    growth_live.predict(shown.run)
growth_real.real_models(PAGE.slug)
scaffold.code_that_ran(
    "how the cache stores a token",
    ("core.model.kv_cache", "KVCache.append"),
    ("core.cost.kv", "layer_bytes_per_token"),
)
if shown.run is not None:
    growth_live.take_away(PAGE, shown.run)
scaffold.what_this_is_not(
    "Bytes of keys and values only: activations, the allocator's own tables and fragmentation "
    "are not in the curve. Blocks are modelled; this run reserves its whole context at once.",
)
scaffold.way_on(PAGE)
if shown.run is not None:
    runs.await_live_model(shown.run)
