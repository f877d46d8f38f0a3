"""The recipes of the two shipped models, as data."""

from dataclasses import dataclass

from core.config import DRAFT, STORYTELLER, ModelConfig


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training run.

    The learning rate rises for `warmup_share` of the steps, stays until `flat_share` of them, then
    falls in a straight line to `last_share` of its peak.

    >>> [round(STORYTELLER_RECIPE.rate_at(step), 5) for step in (0, 120, 899, 2999)]
    [4e-05, 0.005, 0.005, 0.0001]
    """

    name: str
    config: ModelConfig
    n_steps: int
    learning_rate: float
    n_stories: int
    batch_size: int = 16
    seed: int = 0
    muon_weight_decay: float = 0.05
    adamw_betas: tuple[float, float] = (0.9, 0.98)
    max_grad_norm: float = 1.0
    warmup_share: float = 0.04
    flat_share: float = 0.3
    last_share: float = 0.02
    bfloat16: bool = True

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, which count from 0."""
        warm = min(1.0, (step + 1) / max(1.0, self.warmup_share * self.n_steps))
        left = (self.n_steps - step) / ((1 - self.flat_share) * self.n_steps)
        return self.learning_rate * min(warm, max(self.last_share, min(1.0, left)))


TOKENIZER_STORIES = 20_000

STORYTELLER_RECIPE = Recipe(
    "storyteller", STORYTELLER, n_steps=3_000, learning_rate=5e-3, n_stories=80_000
)
DRAFT_RECIPE = Recipe("draft", DRAFT, n_steps=1_500, learning_rate=8e-3, n_stories=40_000)
RECIPES = {recipe.name: recipe for recipe in (STORYTELLER_RECIPE, DRAFT_RECIPE)}
