"""Prompts with known answers, by which a model's abilities and its heads are measured."""

from dataclasses import dataclass

from tokenizers import Encoding

from core.model.training import words
from core.model.training.chooser import Chooser
from core.model.training.stories import PROMPT_SEED
from core.model.training.template import capitalise, with_article

# Invented words have two or three syllables in training, so four make a word unseen for certain.
UNSEEN_SYLLABLES = 4
# Letters that never start a syllable of an invented word in training.
UNSEEN_CONSONANTS = tuple("cqxy")


@dataclass(frozen=True)
class CopyProbe:
    """A copy game; the line of the first speaker and its copy as character positions."""

    text: str
    line_start: int
    copy_start: int
    line_len: int


@dataclass(frozen=True)
class AnswerProbe:
    """A prompt, the text that must follow, and the character that holds the clue."""

    text: str
    answer: str
    clue: int


def copy_probes(
    count: int, *, unseen: bool = False, unseen_letters: bool = False
) -> list[CopyProbe]:
    """Copy games over lines of three to five invented words.

    With `unseen` no word can have occurred in training; with `unseen_letters` every word has a
    syllable that no invented word has there.
    """
    probes = []
    for index in range(count):
        chooser = Chooser(PROMPT_SEED + index)
        hero, friend = chooser.sample(words.GIRLS + words.BOYS, 2)
        low, high = (UNSEEN_SYLLABLES, UNSEEN_SYLLABLES) if unseen else (2, 3)
        line_words = [chooser.invented_word(low, high) for _ in range(chooser.number(3, 5))]
        if unseen_letters:
            line_words = [
                word + chooser.pick(UNSEEN_CONSONANTS) + chooser.pick(words.VOWELS)
                for word in line_words
            ]
        line = capitalise(", ".join(line_words))
        before = f'{hero} and {friend} played the copy game. {hero} said, "'
        between = f'." {friend} said, "'
        probes.append(
            CopyProbe(
                f'{before}{line}{between}{line}."',
                len(before),
                len(before) + len(line) + len(between),
                len(line),
            )
        )
    return probes


def pronoun_probe(name: str, *, is_girl: bool, sound: str = "bang") -> AnswerProbe:
    """A child hears a noise; the next word is its pronoun.

    >>> pronoun_probe("Zolimo", is_girl=True).answer
    ' She'
    """
    species = "girl" if is_girl else "boy"
    text = (
        f"Once upon a time, there was a little {species} named {name}."
        f" One night, {name} heard a noise. {capitalise(sound)}, {sound}!"
    )
    return AnswerProbe(text, " She" if is_girl else " He", text.index(species))


def pronoun_probes(count: int, *, invented: bool) -> list[AnswerProbe]:
    """Pronoun probes with known or with invented names, half of them girls."""
    probes = []
    for index in range(count):
        chooser = Chooser(PROMPT_SEED + index)
        is_girl = index % 2 == 0
        known = chooser.pick(words.GIRLS if is_girl else words.BOYS)
        name = capitalise(chooser.invented_word()) if invented else known
        sound = chooser.pick(words.SOUNDS)
        probes.append(pronoun_probe(name, is_girl=is_girl, sound=sound))
    return probes


def lookup_probes(count: int, *, backward: bool = False) -> list[AnswerProbe]:
    """Three children each have a thing; what does one of them have?  The answer is a colour.

    Asked backward (who has the kite?) the answer is the child's name.
    """
    colors = [color for color in words.COLORS if with_article(color).startswith("a ")]
    probes = []
    for index in range(count):
        chooser = Chooser(PROMPT_SEED + index)
        children = chooser.sample(words.GIRLS + words.BOYS, 3)
        nouns, chosen = chooser.sample(words.OBJECTS, 3), chooser.sample(colors, 3)
        asked = chooser.number(0, 2)
        facts = [
            f"{child} has a {color} {noun}."
            for child, color, noun in zip(children, chosen, nouns, strict=True)
        ]
        child, color = children[asked], chosen[asked]
        if backward:
            text = f"{' '.join(facts)} Who has the {nouns[asked]}?"
            probes.append(AnswerProbe(text, f" {child}", text.index(child)))
            continue
        text = f"{' '.join(facts)} What does {child} have? {child} has a"
        clue = text.index(f"{child} has a {color}") + len(f"{child} has a ")
        probes.append(AnswerProbe(text, f" {color}", clue))
    return probes


def token_at(encoding: Encoding, character: int) -> int:
    """The position of the token that holds a character, <|bos|> in front counted.

    Raises: ValueError if the character is past the text
    """
    for index, (start, end) in enumerate(encoding.offsets):
        if start <= character < end:
            return index + 1
    raise ValueError(f"character must lie inside the text, got {character}")
