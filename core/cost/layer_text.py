"""One word per layer from a short text such as "(window*5 full)*10 window*2"."""

from __future__ import annotations

WORDS = ("full", "window", "mla", "state", "mlp")


def layer_words(text: str) -> list[str]:
    """Return the kind of every layer; ``*n`` repeats the word or bracket before it.

    Raises: ValueError for an unknown word or brackets that do not match

    >>> layer_words("(window*2 full)*2 window")
    ['window', 'window', 'full', 'window', 'window', 'full', 'window']
    """
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    words, rest = _sequence(tokens, 0)
    if rest != len(tokens):
        raise ValueError(f"brackets do not match in {text!r}")
    return words


def _sequence(tokens: list[str], start: int) -> tuple[list[str], int]:
    words: list[str] = []
    index = start
    while index < len(tokens) and tokens[index] != ")":
        if tokens[index] == "(":
            part, index = _sequence(tokens, index + 1)
            if index >= len(tokens):
                raise ValueError("a bracket is not closed")
            index += 1
            repeats = 1
            if index < len(tokens) and tokens[index].startswith("*"):
                repeats, index = _count(tokens[index][1:]), index + 1
            words += part * repeats
            continue
        word, star, number = tokens[index].partition("*")
        if word not in WORDS:
            raise ValueError(f"a layer must be one of {', '.join(WORDS)}, got {word!r}")
        words += [word] * (_count(number) if star else 1)
        index += 1
    return words, index


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"a repeat count must be a whole number of at least 1, got {text!r}")
    return int(text)
