"""The people and things of one story, and the sentences that most plots share."""

from dataclasses import dataclass, field

from core.model.training import words
from core.model.training.chooser import Chooser
from core.model.training.template import capitalise, expand, with_article

CHILD_SHARE = 0.65
INVENTED_NAME_SHARE = 0.2
FAMILIAR_SHARE = 0.6  # how often a later chapter meets somebody from an earlier one
COLOR_SHARE = 0.7  # things have a colour this often, else a look

DAY = "[One day|One {WEATHER} day|One morning|One evening|That day]"


@dataclass(frozen=True)
class Character:
    """A child or an animal with a name and its pronouns."""

    name: str
    kind: str  # "child" or "animal"
    species: str  # "girl", "boy" or the animal's
    he: str
    him: str
    his: str

    def __str__(self) -> str:
        return self.name

    @property
    def He(self) -> str:  # noqa: N802  (the capital is the point: {hero.He} starts a sentence)
        """The pronoun at the start of a sentence."""
        return capitalise(self.he)

    @property
    def His(self) -> str:  # noqa: N802
        """The possessive at the start of a sentence."""
        return capitalise(self.his)


@dataclass(frozen=True)
class Thing:
    """A thing with one adjective, such as a red ball."""

    adjective: str
    noun: str

    def __str__(self) -> str:
        return f"{self.adjective} {self.noun}"

    @property
    def a(self) -> str:
        """The thing with its article, such as "a red ball"."""
        return with_article(str(self))


@dataclass
class Telling:
    """One story while it is told: its choices, everybody in it, and who is in this chapter."""

    chooser: Chooser
    cast: list[Character] = field(default_factory=list)
    familiar: tuple[Character, ...] = ()
    present: set[str] = field(default_factory=set)

    def begin_chapter(self) -> None:
        """Start a chapter: everybody met so far is familiar, nobody is present."""
        self.familiar = tuple(self.cast)
        self.present = set()

    def write(self, template: str, **values: object) -> str:
        """Expand a template with this story's chooser."""
        return expand(template, self.chooser, **values)

    def meet(self, kind: str = "") -> Character:
        """Bring a character into the chapter who is not in it yet, a familiar or a new one."""
        familiar = [
            one for one in self.familiar if one.name not in self.present and kind in ("", one.kind)
        ]
        if familiar and self.chooser.chance(FAMILIAR_SHARE):
            character = self.chooser.pick(familiar)
        else:
            character = self._new_character(kind)
            self.cast.append(character)
        self.present.add(character.name)
        return character

    def find_thing(self) -> Thing:
        """Make up a thing."""
        in_color = self.chooser.chance(COLOR_SHARE)
        adjective = self.chooser.pick_zipf(words.COLORS if in_color else words.LOOKS)
        return Thing(adjective, self.chooser.pick_zipf(words.OBJECTS))

    def _new_character(self, kind: str) -> Character:
        chooser = self.chooser
        kind = kind or ("child" if chooser.chance(CHILD_SHARE) else "animal")
        is_girl = chooser.chance(0.5)
        taken = {one.name for one in self.cast}
        if chooser.chance(INVENTED_NAME_SHARE):
            name = capitalise(chooser.invented_word())
        else:
            names = words.GIRLS if is_girl else words.BOYS
            name = chooser.pick_zipf([one for one in names if one not in taken])
        pronouns = ("she", "her", "her") if is_girl else ("he", "him", "his")
        if kind == "child":
            species = "girl" if is_girl else "boy"
        else:
            species = chooser.pick_zipf(words.ANIMALS)
        return Character(name, kind, species, *pronouns)


def opening(telling: Telling, hero: Character) -> str:
    """Introduce the hero, or pick up a hero of an earlier chapter."""
    if hero in telling.familiar:
        return telling.write(
            "[The next day, {hero} woke up early.|Another day, {hero} was at home."
            "|{hero} went out to play again.|After that, {hero} felt [{GLAD}|{SAD}].]",
            hero=hero,
        )
    return telling.write(
        "[Once upon a time, there was|There once was|Once there was"
        "|In a [small house|quiet town|little village|big forest] lived]"
        " a [little|small|young|{TRAIT}] {hero.species} named {hero}."
        "[| {hero.He} was very {TRAIT}.| {hero.He} liked to play near the {PLACE}."
        "| {hero} loved to {HOBBY}.]",
        hero=hero,
    )


def ending(telling: Telling, hero: Character, friend: Character | None = None) -> str:
    """Close a chapter, with the friend where there is one."""
    if friend is None:
        last = telling.write(
            "[{hero} was {GLAD}.|{hero} smiled and went home."
            "|That night, {hero} slept well.|{hero} was not {SAD} anymore.]",
            hero=hero,
        )
    else:
        last = telling.write(
            "[{hero} and {friend} were {GLAD}.|{hero} and {friend} became good friends."
            "|They played together until the sun went down.|{friend} gave {hero} a big hug."
            "|Then they went home together.]",
            hero=hero,
            friend=friend,
        )
    return last + telling.write(
        "[||| The end.| From that day on, {hero} was never {SAD} again.| It was a very good day.]",
        hero=hero,
    )
