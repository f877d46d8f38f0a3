"""Colours: readable in both themes, distinct, and the same in the theme's configuration."""

from __future__ import annotations

import tomllib

import pytest

from pages.ui import palette
from pages.ui.palette import COLOURS, GROUND, THEMES, Colour, Theme

from .conftest import ROOT

CONFIG = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("colour", COLOURS, ids=lambda colour: colour.name)
@pytest.mark.parametrize("ground", ["ground", "soft"])
def test_text_variants_reach_aa(colour: Colour, theme: Theme, ground: str) -> None:
    assert palette.contrast(colour.text(theme), GROUND[theme][ground]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_ink_and_muted_text_reach_aa(theme: Theme) -> None:
    for ground in ("ground", "soft"):
        for ink in ("ink", "muted"):
            assert palette.contrast(GROUND[theme][ink], GROUND[theme][ground]) >= 4.5


def test_the_design_colours_are_the_fills() -> None:
    fills = {colour.name: colour.fill for colour in COLOURS}
    wanted = {"weights": "#E69F00", "new": "#0072B2", "cached": "#5A6B7B", "limit": "#D55E00"}
    assert fills | wanted | {"q": "#56B4E9", "k": "#009E73", "v": "#CC79A7"} == fills


@pytest.mark.parametrize("theme", THEMES)
def test_the_theme_is_the_palette(theme: Theme) -> None:
    configured = CONFIG["theme"][theme]
    assert configured["backgroundColor"] == GROUND[theme]["ground"]
    assert configured["secondaryBackgroundColor"] == GROUND[theme]["soft"]
    assert configured["textColor"] == GROUND[theme]["ink"]
    assert configured["borderColor"] == GROUND[theme]["line"]
    assert palette.contrast(configured["linkColor"], configured["backgroundColor"]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_charts_have_exactly_ten_different_colours(theme: Theme) -> None:
    colours = CONFIG["theme"][theme]["chartCategoricalColors"]
    assert len(colours) == len(set(colours)) == 10


def test_css_sets_every_variable_in_both_themes() -> None:
    light, dark = palette.css().split(".onr-dark")
    for theme, block in (("light", light), ("dark", dark)):
        for name, value in palette.variables(theme).items():
            assert f"{name}: {value};" in block
