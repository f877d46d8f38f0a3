"""The plots that need the context: what they ask for can only be copied or looked up.

Invented words and names cannot be known in advance, so these plots are what teaches a model to
look back: the copy game, songs, secret words, who has what and who likes what.
"""

from itertools import pairwise

from core.model.training import words
from core.model.training.telling import DAY, Character, Telling, ending, opening
from core.model.training.template import capitalise, in_words, with_article


def copy_game(telling: Telling) -> str:
    """One says some words and the other says them again."""
    chooser = telling.chooser
    hero, friend = telling.meet(), telling.meet()
    story = telling.write(
        "[{hero} and {friend} played the copy game."
        "|{hero} the {hero.species} and {friend} the {friend.species} played the copy game."
        "|{hero} had a parrot named {friend}.]",
        hero=hero,
        friend=friend,
    )
    for _ in range(chooser.number(1, 3)):
        separator = chooser.pick([", ", " ", " ", " and "])
        line = capitalise(separator.join(_game_words(telling)))
        story += f' {hero} said, "{line}." {friend} said, "{line}."'
        if chooser.chance(0.25):
            story += f' {hero} said, "{line}."'
    story += telling.write(
        ' ["You got it right!" said {hero}.|They laughed and laughed.'
        '|"Now it is your turn," said {hero}.] ',
        hero=hero,
    )
    return story + ending(telling, hero, friend)


def _game_words(telling: Telling) -> list[str]:
    chooser = telling.chooser
    kind = chooser.pick(["invented", "any", "of one list", "mixed"])
    count = chooser.number(3, 7)
    if kind == "invented":
        return [chooser.invented_word() for _ in range(min(count, 5))]
    if kind == "any":
        return chooser.sample(words.ALL_WORDS, count)
    if kind == "of one list":
        lists = [words.OBJECTS, words.FOODS, words.ANIMALS, words.COLORS, words.NUMBERS]
        return chooser.sample(chooser.pick([*lists, words.PLACES]), count)
    return [
        chooser.pick(words.ALL_WORDS) if chooser.chance(0.6) else chooser.invented_word()
        for _ in range(count)
    ]


def song(telling: Telling) -> str:
    """One makes up a song and the others sing it too."""
    chooser = telling.chooser
    hero = telling.meet()
    one, two = chooser.invented_word(1, 2), chooser.invented_word(1, 2)
    line = telling.write(
        "[{One} {one}, the {OBJECT} is {COLOR}, {two} {two}"
        "|{One}, {two}, my little {ANIMAL}, {one} and {two}"
        "|{One} {two} {one}, dance with the {COLOR} {OBJECT}"
        "|Oh {one}, oh {two}, the {ANIMAL} and the {ANIMAL}"
        "|{NUMBER} {OBJECT}, {NUMBER} {OBJECT}, {one} {two} {one}]",
        one=one,
        One=capitalise(one),
        two=two,
    )
    line = capitalise(line)
    story = opening(telling, hero)
    story += f' {hero} made a song. {hero.He} sang, "{line}!"'
    for _ in range(chooser.number(1, 2)):
        story += telling.write(
            " [{friend} the {friend.species} heard it and sang too,"
            '|{friend} liked the song. {friend.He} sang,] "{line}!"',
            friend=telling.meet(),
            line=line,
        )
    story += telling.write(
        ' [Soon everyone was singing,|All the animals sang,|They all sang,] "{line}!" ', line=line
    )
    return story + ending(telling, hero)


def pass_it_on(telling: Telling) -> str:
    """A thing goes from child to child; who has it now?"""
    children = [telling.meet("child") for _ in range(telling.chooser.number(2, 4))]
    thing = telling.find_thing()
    story = f"{children[0]} had {thing.a}."
    for giver, taker in pairwise(children):
        story += f" {giver} gave the {thing.noun} to {taker}."
    story += telling.write(
        "[| {last} was {GLAD}.] Who has the {thing.noun} now? {last} has the {thing}."
        "[| Who had the {thing.noun} first? {first} had the {thing.noun} first.] ",
        first=children[0],
        last=children[-1],
        thing=thing,
    )
    return story + ending(telling, children[-1], children[0])


def who_has_what(telling: Telling) -> str:
    """Some children each have a thing, and then each is asked what."""
    chooser = telling.chooser
    children = [telling.meet("child") for _ in range(chooser.number(2, 4))]
    nouns = chooser.sample_zipf(words.OBJECTS, len(children))
    colors = chooser.sample_zipf(words.COLORS, len(children))
    verb, question = chooser.pick([("has", "does"), ("had", "did")])
    facts = [
        f"{child} {verb} {with_article(color)} {noun}."
        for child, color, noun in zip(children, colors, nouns, strict=True)
    ]
    return _questions(telling, children, facts, f"What {question} {{child}} have?")


def who_likes_what(telling: Telling) -> str:
    """Some children each like a colour or can do something, and then each is asked what."""
    chooser = telling.chooser
    children = [telling.meet("child") for _ in range(chooser.number(2, 4))]
    verb, options, question = chooser.pick(
        [
            ("likes", words.COLORS, "What color does {child} like?"),
            ("can", words.HOBBIES, "What can {child} do?"),
        ]
    )
    answers = chooser.sample(options, len(children))
    facts = [f"{child} {verb} {word}." for child, word in zip(children, answers, strict=True)]
    return _questions(telling, children, facts, question)


def _questions(telling: Telling, children: list[Character], facts: list[str], question: str) -> str:
    """State all facts, then ask about each child in another order."""
    opening_sentence = telling.write(
        "[|{names} were at the {PLACE}.|{names} went to the {PLACE}."
        "|The children played near the {PLACE}.]",
        names=in_words([child.name for child in children]),
    )
    sentences = [opening_sentence, *facts]
    for index in telling.chooser.sample(range(len(children)), len(children)):
        sentences += [question.format(child=children[index]), facts[index]]
    return " ".join(sentences).lstrip()


def secret_word(telling: Telling) -> str:
    """A friend tells a secret word, which opens something some sentences later."""
    chooser = telling.chooser
    hero, friend = telling.meet(), telling.meet()
    return (
        opening(telling, hero)
        + telling.write(
            " {friend} told {hero} a secret word. The secret word was {word}. "
            + DAY
            + ", {hero} came to a big {COLOR} {gate} near the {PLACE}."
            ' "What is the secret word?" asked the {gate}. "The secret word is {word},"'
            " said {hero}. The {gate} opened. Inside was {thing.a}. ",
            hero=hero,
            friend=friend,
            word=chooser.invented_word(),
            gate=chooser.pick(words.THINGS_THAT_OPEN),
            thing=telling.find_thing(),
        )
        + ending(telling, hero)
    )
