"""The ready prompts, each with one line that says what to watch for."""

from __future__ import annotations

from dataclasses import dataclass

from core.decode.trace_file import DEFAULT_PROMPT


@dataclass(frozen=True)
class Example:
    """A prompt that shows one thing well."""

    name: str
    prompt: str
    watch: str
    temperature: float = 0.0


EXAMPLES: tuple[Example, ...] = (
    Example(
        "A girl named Zolimo",
        DEFAULT_PROMPT,
        "One triangle shows the token before, the start token, a copied name, and girl leading "
        "to She. Change girl to boy and it writes He.",
    ),
    Example(
        "The copy game",
        'Zolimo and Tavu played the copy game. Zolimo said, "Kadu, mipo, red, fox." Tavu said, "',
        "Words the model has never seen can only be copied: look for a bright diagonal stripe.",
    ),
    Example(
        "Who has what?",
        "Tom has a red ball. Mia has a blue kite. Ben has a green hat. What does Mia have? "
        "Mia has a",
        "The last row has to find the right colour among three; look at what it listens to.",
    ),
    Example(
        "The secret word",
        'Anna told Ben a secret word. The word was "nuvela". Ben went home. He ate his soup, he '
        "washed his hands, and he went to bed. In the morning Anna asked for the secret word. "
        'Ben said, "',
        "A word is fetched from many tokens back: one bright cell, far to the left.",
    ),
    Example(
        "A real choice",
        "Once upon a time, there was a little girl named",
        "Any name will do here, so the ten likeliest tokens are close. Raise the temperature "
        "and change the seed.",
        temperature=0.8,
    ),
    Example(
        "Out of its depth",
        "The capital of France is",
        "The model has read nothing but small stories. It answers anyway.",
    ),
)
