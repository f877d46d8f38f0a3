"""Finding the heads worth showing: every head is scored on every pattern, the best one is named.

A score is the mean attention weight on the place that the pattern names.  Which head does what
changes with every training, so the found heads are stored beside the weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor

from core.model.training.data import encode_story
from core.model.training.probes import (
    AnswerProbe,
    copy_probes,
    lookup_probes,
    pronoun_probes,
    token_at,
)
from core.model.training.stories import TEST_SEED, tell_stories
from core.model.transformer import Transformer


@dataclass(frozen=True)
class Pattern:
    """A pattern of attention: its name, what to tell a learner, and how it is scored."""

    name: str
    sentence: str
    measure: str
    score: Callable[[Transformer, Tokenizer, int], Tensor]  # -> (L, H)


@dataclass(frozen=True)
class FoundHead:
    """The best head of a pattern, and the scores of all heads."""

    name: str
    layer: int
    head: int
    score: float
    sentence: str
    measure: str
    all_scores: tuple[tuple[float, ...], ...]  # (L, H)


@torch.no_grad()
def attention_rows(model: Transformer, ids: Sequence[int]) -> Tensor:
    """All attention weights of one pass.

    Shapes: -> (L, H, T, T)
    """
    result = model.full_pass(torch.tensor([list(ids)]), record=True)
    return torch.stack([layer.attn_weights[0] for layer in result.layers])


def score_previous_token(model: Transformer, tokenizer: Tokenizer, n_probes: int) -> Tensor:
    """Mean weight on the token just before, over both lines of copy games."""
    rows = []
    for probe in copy_probes(n_probes):
        encoding = tokenizer.encode(probe.text)
        weights = attention_rows(model, [model.config.bos_id, *encoding.ids])
        for start in (probe.line_start, probe.copy_start):
            first, end = token_at(encoding, start), token_at(encoding, start + probe.line_len)
            here = torch.arange(first, end)
            rows.append(weights[:, :, here, here - 1])
    return torch.cat(rows, -1).mean(-1)


def score_induction(model: Transformer, tokenizer: Tokenizer, n_probes: int) -> Tensor:
    """Mean weight on the token after the earlier copy, over the second line of copy games."""
    rows = []
    for probe in copy_probes(n_probes):
        encoding = tokenizer.encode(probe.text)
        weights = attention_rows(model, [model.config.bos_id, *encoding.ids])
        line, copy = (token_at(encoding, at) for at in (probe.line_start, probe.copy_start))
        length = token_at(encoding, probe.copy_start + probe.line_len) - copy
        steps = torch.arange(length)
        # The row that chooses token i of the copy is the one before it.
        rows.append(weights[:, :, copy + steps - 1, line + steps])
    return torch.cat(rows, -1).mean(-1)


def score_first_token(model: Transformer, tokenizer: Tokenizer, n_probes: int) -> Tensor:
    """Mean weight on the first token, over all later rows of stories the model never saw."""
    rows = []
    for story in tell_stories(TEST_SEED, n_probes):
        ids = encode_story(tokenizer, model.config, story.text)[: model.config.max_seq_len]
        rows.append(attention_rows(model, ids)[:, :, 1:, 0])
    return torch.cat(rows, -1).mean(-1)


def _score_clue(model: Transformer, tokenizer: Tokenizer, probes: Sequence[AnswerProbe]) -> Tensor:
    """Mean weight of the last row on the token that holds the clue."""
    rows = []
    for probe in probes:
        encoding = tokenizer.encode(probe.text)
        weights = attention_rows(model, [model.config.bos_id, *encoding.ids])
        rows.append(weights[:, :, -1, token_at(encoding, probe.clue)])
    return torch.stack(rows, -1).mean(-1)


def score_gender(model: Transformer, tokenizer: Tokenizer, n_probes: int) -> Tensor:
    """Mean weight on girl or boy in the row that chooses She or He, over invented names."""
    return _score_clue(model, tokenizer, pronoun_probes(n_probes, invented=True))


def score_fact(model: Transformer, tokenizer: Tokenizer, n_probes: int) -> Tensor:
    """Mean weight on the right colour in the row that answers "Mia has a"."""
    return _score_clue(model, tokenizer, lookup_probes(n_probes))


PATTERNS = (
    Pattern(
        "previous token",
        "This head looks at the previous token.",
        "mean weight on the token just before, over both lines of copy games with invented words",
        score_previous_token,
    ),
    Pattern(
        "induction",
        "This head finds where the present token stood before and looks at the token after it.",
        "mean weight on the token to copy, over the repeated line of copy games",
        score_induction,
    ),
    Pattern(
        "first-token sink",
        "This head rests on the first token when it has nothing to look up.",
        "mean weight on the first token, over all later rows of held-out stories",
        score_first_token,
    ),
    Pattern(
        "gender look-up",
        "This head looks at girl or boy just before She or He is chosen.",
        "mean weight on girl or boy in the row that chooses the pronoun, over invented names",
        score_gender,
    ),
    Pattern(
        "fact look-up",
        'This head looks up the asked fact: after "Mia has a" it looks at the colour of her thing.',
        "mean weight on the right colour in the row that answers the question",
        score_fact,
    ),
)


def find_heads(model: Transformer, tokenizer: Tokenizer, n_probes: int = 60) -> list[FoundHead]:
    """Score every head on every pattern and name the best head of each."""
    found = []
    for pattern in PATTERNS:
        scores = pattern.score(model, tokenizer, n_probes)  # (L, H)
        layer, head = divmod(int(scores.argmax()), scores.shape[1])
        found.append(
            FoundHead(
                pattern.name,
                layer,
                head,
                round(float(scores[layer, head]), 4),
                pattern.sentence,
                pattern.measure,
                tuple(tuple(round(float(s), 4) for s in row) for row in scores),
            )
        )
    return found
