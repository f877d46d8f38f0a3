"""What a model can do, measured: loss against the grammar's entropy, copying, look-ups."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from core.model.training.data import encode_story
from core.model.training.probes import AnswerProbe, CopyProbe, token_at
from core.model.training.stories import PROMPT_SEED, TEST_SEED, tell_stories
from core.model.transformer import ForwardOptions, Transformer

FUSED = ForwardOptions(fused=True)
BATCH = 16


@dataclass(frozen=True)
class HeldOut:
    """Loss on stories the model never saw, beside the entropy of the grammar that told them.

    Units: nats per token
    """

    loss: float
    bound: float
    n_tokens: int
    n_stories: int

    @property
    def ratio(self) -> float:
        """Loss as a multiple of the bound; 1 would be a perfect model."""
        return self.loss / self.bound


@dataclass(frozen=True)
class Agreement:
    """How well a draft predicts its target, over text sampled from the target at temperature 1.

    `alpha` is the mean of sum(min(target_probs, draft_probs)): the chance that speculative
    sampling accepts a drafted token (Leviathan et al. 2023).  `same_argmax` is the share of
    positions at which both would choose the same token greedily.
    """

    alpha: float
    same_argmax: float
    n_positions: int


@torch.no_grad()
def held_out(
    model: Transformer, tokenizer: Tokenizer, n_stories: int = 400, first_seed: int = TEST_SEED
) -> HeldOut:
    """Measure loss and bound over those stories that fit the context.

    Raises: ValueError if none fits
    """
    config = model.config
    stories = [
        (encode_story(tokenizer, config, story.text), story.nats)
        for story in tell_stories(first_seed, n_stories)
    ]
    kept = sorted(
        (pair for pair in stories if len(pair[0]) <= config.max_seq_len + 1),
        key=lambda pair: len(pair[0]),
    )
    if not kept:
        raise ValueError(f"one of n_stories must fit {config.max_seq_len} tokens, got {n_stories}")
    total = 0.0
    for first in range(0, len(kept), BATCH):
        rows = pad([ids for ids, _ in kept[first : first + BATCH]])
        logits = model.full_pass(rows[:, :-1].clamp(min=0), options=FUSED).logits
        targets = rows[:, 1:].flatten()
        total += F.cross_entropy(
            logits.flatten(0, 1), targets, ignore_index=-1, reduction="sum"
        ).item()
    n_tokens = sum(len(ids) - 1 for ids, _ in kept)
    bound = sum(nats for _, nats in kept)
    return HeldOut(total / n_tokens, bound / n_tokens, n_tokens, len(kept))


def pad(sequences: Sequence[Sequence[int]]) -> Tensor:
    """Put sequences of different length into one tensor, -1 behind the short ones.

    Causal attention lets no token see what comes after it, so the padding changes nothing.

    >>> pad([[5], [6, 7]]).tolist()
    [[5, -1], [6, 7]]
    """
    tensors = [torch.tensor(sequence) for sequence in sequences]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=-1)


@torch.no_grad()
def copy_accuracy(model: Transformer, tokenizer: Tokenizer, probes: Sequence[CopyProbe]) -> float:
    """Share of the tokens of the copied lines that the model would have chosen itself."""
    hits = total = 0
    for probe in probes:
        encoding = tokenizer.encode(probe.text)
        ids = torch.tensor([[model.config.bos_id, *encoding.ids]])
        chosen = model.full_pass(ids, options=FUSED).logits[0].argmax(-1)
        first = token_at(encoding, probe.copy_start)
        end = token_at(encoding, probe.copy_start + probe.line_len)
        hits += int((chosen[first - 1 : end - 1] == ids[0, first:end]).sum())
        total += end - first
    return hits / total


@torch.no_grad()
def answer_accuracy(
    model: Transformer, tokenizer: Tokenizer, probes: Sequence[AnswerProbe]
) -> float:
    """Share of the probes whose answer's first token is the likeliest next token."""
    hits = 0
    for probe in probes:
        ids = torch.tensor([[model.config.bos_id, *tokenizer.encode(probe.text).ids]])
        chosen = int(model.full_pass(ids, options=FUSED).logits[0, -1].argmax())
        hits += chosen == tokenizer.encode(probe.answer).ids[0]
    return hits / len(probes)


@torch.no_grad()
def agreement(
    target: Transformer,
    draft: Transformer,
    tokenizer: Tokenizer,
    n_prompts: int = 20,
    n_words: int = 12,
    n_tokens: int = 100,
) -> Agreement:
    """Measure how often a draft would be accepted on stories that the target tells."""
    generator = torch.Generator().manual_seed(2)
    shared, same, positions = 0.0, 0, 0
    for story in tell_stories(PROMPT_SEED, n_prompts):
        prompt = " ".join(story.text.split()[:n_words])
        ids = [target.config.bos_id, *tokenizer.encode(prompt).ids]
        first = len(ids)
        ids = continue_sampled(target, ids, n_tokens, generator)
        rows = torch.tensor([ids[:-1]])
        p, q = (
            torch.softmax(model.full_pass(rows, options=FUSED).logits[0, first - 1 :], -1)
            for model in (target, draft)
        )
        shared += torch.minimum(p, q).sum().item()
        same += int((p.argmax(-1) == q.argmax(-1)).sum())
        positions += len(p)
    return Agreement(shared / positions, same / positions, positions)


def continue_sampled(
    model: Transformer, ids: Sequence[int], n_tokens: int, generator: torch.Generator
) -> list[int]:
    """Sample at temperature 1 until the end token, `n_tokens`, or the end of the context."""
    ids = list(ids)
    kv_cache = model.new_cache()
    logits = model.prefill(torch.tensor([ids]), kv_cache).logits[0, -1]
    for _ in range(min(n_tokens, model.config.max_seq_len - len(ids))):
        ids.append(int(torch.multinomial(torch.softmax(logits, -1), 1, generator=generator)))
        if ids[-1] == model.config.end_id:
            break
        logits = model.decode_step(torch.tensor([ids[-1:]]), kv_cache).logits[0, -1]
    return ids
