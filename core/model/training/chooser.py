"""Seeded choices that keep count of the entropy they put into a story.

Each choice adds -log(probability) nats to `Chooser.nats`.  The sum over a story is an upper bound
of the information in its text (an upper bound, because two different series of choices may write
the same words), so the mean over many stories is the loss that a perfect model would reach.
"""

import math
import random
from collections.abc import Sequence
from typing import TypeVar

from core.model.training.words import CONSONANTS, VOWELS

T = TypeVar("T")

# Weight of the word at a rank: 1 / (rank + ZIPF_SHIFT).
ZIPF_SHIFT = 1.5


class Chooser:
    """A seeded source of choices with a running count of nats.

    >>> chooser = Chooser(seed=1)
    >>> chooser.pick(["red", "red", "red", "red"]), chooser.nats   # no choice, no information
    ('red', 0.0)
    >>> _ = chooser.pick(["head", "tail"])
    >>> round(chooser.nats, 4)
    0.6931
    """

    def __init__(self, seed: int) -> None:
        self.nats = 0.0
        self._random = random.Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of the options with equal chance; equal options share their probability."""
        chosen = options[self._random.randrange(len(options))]
        self.nats -= math.log(options.count(chosen) / len(options))
        return chosen

    def pick_zipf(self, options: Sequence[T]) -> T:
        """Draw one of the (different) options, the first ones most often."""
        weights = [1 / (rank + ZIPF_SHIFT) for rank in range(len(options))]
        index = self._random.choices(range(len(options)), weights)[0]
        self.nats -= math.log(weights[index] / sum(weights))
        return options[index]

    def sample(self, options: Sequence[T], count: int) -> list[T]:
        """Draw `count` different options in order, each with equal chance."""
        left = list(options)
        return [left.pop(left.index(self.pick(left))) for _ in range(count)]

    def sample_zipf(self, options: Sequence[T], count: int) -> list[T]:
        """Draw `count` different options in order, the first ones most often."""
        left = list(options)
        return [left.pop(left.index(self.pick_zipf(left))) for _ in range(count)]

    def chance(self, probability: float) -> bool:
        """Answer true with the given probability."""
        happens = self._random.random() < probability
        self.nats -= math.log(probability if happens else 1 - probability)
        return happens

    def number(self, low: int, high: int) -> int:
        """Draw a whole number from low to high, both included."""
        return self.pick(range(low, high + 1))

    def invented_word(self, low: int = 2, high: int = 3) -> str:
        """Make up a word of `low` to `high` consonant-vowel syllables."""
        n_syllables = self.number(low, high)
        return "".join(self.pick(CONSONANTS) + self.pick(VOWELS) for _ in range(n_syllables))
