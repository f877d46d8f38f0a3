"""One meaning per colour, for the whole app, in both themes.

``fill`` is for areas. ``text`` is for letters and thin lines on the ground of its theme and
reaches a contrast of 4.5 there. The letter or word is always printed beside a colour, so
nothing depends on seeing it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")


@dataclass(frozen=True)
class Colour:
    """A fill that is the same in both themes, and its text variant for each of them."""

    name: str
    meaning: str
    fill: str
    text_light: str
    text_dark: str

    def text(self, theme: Theme) -> str:
        """The variant for letters and thin lines on the ground of ``theme``."""
        return self.text_light if theme == "light" else self.text_dark


COLOURS: tuple[Colour, ...] = (
    Colour("weights", "weights in motion", "#E69F00", "#875500", "#F0B030"),
    Colour("new", "new this step", "#0072B2", "#0068A3", "#5CB3EC"),
    Colour("cached", "already computed, cached", "#5A6B7B", "#4F5F6E", "#9FB0BF"),
    Colour("q", "query", "#56B4E9", "#1B6A99", "#8CCBF2"),
    Colour("k", "key", "#009E73", "#00714F", "#3CC79A"),
    Colour("v", "value", "#CC79A7", "#9A3F74", "#E3A3C6"),
    Colour("limit", "limit or failure", "#D55E00", "#A84A00", "#FF8F4A"),
    Colour("ok", "a check that holds", "#009E73", "#006B4B", "#4FD1A5"),
)

GROUND: dict[Theme, dict[str, str]] = {
    "light": {
        "ground": "#FFFFFF",
        "soft": "#F3F4F6",
        "line": "#D5D9DE",
        "ink": "#1A1C20",
        "muted": "#59636E",
    },
    "dark": {
        "ground": "#101418",
        "soft": "#1A2026",
        "line": "#39424C",
        "ink": "#ECEFF2",
        "muted": "#A2ADB8",
    },
}
"""Neutral colours; equal to the theme in .streamlit/config.toml, which a test checks."""


def colour(name: str) -> Colour:
    """Return the colour of a quantity.

    Raises: ValueError if there is none of that name

    >>> colour("new").fill
    '#0072B2'
    """
    for candidate in COLOURS:
        if candidate.name == name:
            return candidate
    raise ValueError(f"name must be one of {[c.name for c in COLOURS]}, got {name!r}")


def luminance(hex_colour: str) -> float:
    """Return the relative luminance of ``#RRGGBB``, from 0 for black to 1 for white.

    Source: WCAG 2.2, definition of relative luminance
    """
    channels = [int(hex_colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21.

    >>> round(contrast("#000000", "#FFFFFF"), 1)
    21.0
    """
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def variables(theme: Theme) -> dict[str, str]:
    """Return every CSS variable of ``theme``, name to value."""
    found = {f"--onr-{name}": value for name, value in GROUND[theme].items()}
    for item in COLOURS:
        found[f"--onr-{item.name}"] = item.fill
        found[f"--onr-{item.name}-text"] = item.text(theme)
    return found


def css() -> str:
    """Return the variables as CSS: light by default, dark under the class ``onr-dark``."""
    blocks = []
    for theme, selector in (("light", ":host, :root, .onr-light"), ("dark", ".onr-dark")):
        lines = "\n".join(f"  {name}: {value};" for name, value in variables(theme).items())
        blocks.append(f"{selector} {{\n{lines}\n}}")
    return "\n".join(blocks) + "\n"
