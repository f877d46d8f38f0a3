"""The template language in which the stories are written.

    [one|two|three]   one of the alternatives; the others are never expanded
    {COLOR}           a word from the list of that name, the first words most often
    {a COLOR}         the same with its article
    {friend}          a value of the story
    {friend.He}       an attribute of that value

Alternatives may nest and may be empty.  They are lazy: a choice inside an alternative that was not
taken is never made, so it adds nothing to the count of nats.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from core.model.training.chooser import Chooser
from core.model.training.words import LISTS


@dataclass(frozen=True)
class Choice:
    """Alternatives of which one is expanded."""

    alternatives: tuple["Parts", ...]


@dataclass(frozen=True)
class Slot:
    """A place filled from a word list or from the values of the story."""

    name: str
    attribute: str


Parts = tuple["str | Choice | Slot", ...]


def expand(template: str, chooser: Chooser, **values: object) -> str:
    """Write out a template, making its choices with the chooser.

    >>> expand("{who} saw [a|the] fox.", Chooser(seed=4), who="Mia")
    'Mia saw a fox.'
    """
    return _write(parse(template), chooser, values)


@cache
def parse(template: str) -> Parts:
    """Read a template into its parts.

    Raises: ValueError if a bracket or brace is not closed, or closed without being opened

    >>> parse("a [b|] {C}")
    ('a ', Choice(alternatives=(('b',), ())), ' ', Slot(name='C', attribute=''))
    """
    alternatives, end = _parse_alternatives(template, 0, depth=0)
    if end != len(template) or len(alternatives) != 1:
        raise ValueError(f"template must close each bracket it opens, got {template!r}")
    return alternatives[0]


def _parse_alternatives(template: str, start: int, depth: int) -> tuple[tuple[Parts, ...], int]:
    """Read up to the closing bracket (or the end); return the alternatives and where they end."""
    alternatives: list[Parts] = []
    parts: list[str | Choice | Slot] = []
    position = text_start = start
    while position < len(template) and template[position] != "]":
        mark = template[position]
        if mark not in "[{|" or (mark == "|" and depth == 0):
            position += 1
            continue
        if position > text_start:
            parts.append(template[text_start:position])
        if mark == "[":
            inner, position = _parse_alternatives(template, position + 1, depth + 1)
            if position == len(template):
                raise ValueError(f"template must close each bracket it opens, got {template!r}")
            parts.append(Choice(inner))
        elif mark == "{":
            opening, position = position, template.index("}", position)
            name, _, attribute = template[opening + 1 : position].partition(".")
            parts.append(Slot(name, attribute))
        else:
            alternatives.append(tuple(parts))
            parts = []
        position += 1
        text_start = position
    if position > text_start:
        parts.append(template[text_start:position])
    return (*alternatives, tuple(parts)), position


def _write(parts: Parts, chooser: Chooser, values: Mapping[str, object]) -> str:
    written = []
    for part in parts:
        if isinstance(part, Choice):
            written.append(_write(chooser.pick(part.alternatives), chooser, values))
        elif isinstance(part, Slot):
            written.append(_fill(part, chooser, values))
        else:
            written.append(part)
    return "".join(written)


def _fill(slot: Slot, chooser: Chooser, values: Mapping[str, object]) -> str:
    list_name = slot.name.removeprefix("a ")
    if list_name in LISTS:
        word = chooser.pick_zipf(LISTS[list_name])
        return word if list_name == slot.name else with_article(word)
    value = values[slot.name]
    return str(getattr(value, slot.attribute) if slot.attribute else value)


def capitalise(text: str) -> str:
    """Make the first letter a capital and leave the rest alone.

    >>> capitalise("bang, bang")
    'Bang, bang'
    """
    return text[:1].upper() + text[1:]


def with_article(noun: str) -> str:
    """Put "a" or "an" before a noun.

    >>> with_article("old kite"), with_article("kite")
    ('an old kite', 'a kite')
    """
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def in_words(names: Sequence[str]) -> str:
    """List names as in a sentence.

    >>> in_words(["Mia"]), in_words(["Mia", "Tom", "Ben"])
    ('Mia', 'Mia, Tom and Ben')
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
