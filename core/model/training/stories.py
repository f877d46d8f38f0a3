"""Whole stories, told from a seed, with the entropy of the choices that made them.

Seeds are split once for all: the models are trained on seeds from 0, watched during training on
seeds from VALIDATION_SEED, and judged on seeds from TEST_SEED and PROMPT_SEED.
"""

from dataclasses import dataclass

from core.model.training import games, plots
from core.model.training.chooser import Chooser
from core.model.training.telling import Telling

VALIDATION_SEED = 10_000_000
TEST_SEED = 20_000_000
PROMPT_SEED = 40_000_000

# A plot named n times is told n times as often.
PLOTS = (
    *[games.copy_game] * 3,
    *[games.who_has_what] * 3,
    *[games.who_likes_what] * 2,
    games.song,
    games.pass_it_on,
    games.secret_word,
    plots.lost_and_found,
    plots.gift,
    plots.taking_turns,
    plots.walk_together,
    plots.pull_together,
    plots.noise_at_night,
    plots.sharing_food,
    plots.race,
    plots.slow_plant,
    plots.up_in_a_tree,
    plots.day_inside,
)
CHAPTERS = (1, 1, 2, 2, 3)


@dataclass(frozen=True)
class Story:
    """A story and an upper bound of the information in it.

    Units: nats of the whole text, its end included
    """

    text: str
    nats: float


def tell_story(seed: int) -> Story:
    """Tell the story of a seed; the same seed always tells the same story.

    >>> tell_story(3).text[:60]
    'Lucy the girl and Lily the girl ran a race to the bridge. Lu'
    """
    telling = Telling(Chooser(seed))
    chapters = []
    for _ in range(telling.chooser.pick(CHAPTERS)):
        telling.begin_chapter()
        chapters.append(telling.chooser.pick(PLOTS)(telling))
    return Story("\n".join(chapters), telling.chooser.nats)


def tell_stories(first_seed: int, count: int) -> list[Story]:
    """Tell the stories of `count` seeds in a row."""
    return [tell_story(first_seed + index) for index in range(count)]
