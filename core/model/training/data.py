"""Training rows: stories as token ids, packed end to end, each row starting at a story's start."""

from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from core.config import ModelConfig
from core.model.training.stories import tell_stories

STORIES_AT_ONCE = 2_000


@dataclass(frozen=True)
class PackedStories:
    """Stories as one long run of tokens, <|bos|> story <|end|> <|bos|> story ...

    Shapes: tokens (N,), starts (n_stories,) positions of <|bos|> with a full row behind them
    """

    tokens: Tensor
    starts: Tensor
    row_len: int

    def rows(self, indices: Tensor) -> Tensor:
        """Take the rows that start at the given stories.

        Shapes: indices (B,) -> (B, row_len)
        """
        offsets = torch.arange(self.row_len)
        return self.tokens[self.starts[indices][:, None] + offsets].long()

    def draw(self, n_rows: int, generator: torch.Generator) -> Tensor:
        """Draw rows at random.

        Shapes: -> (n_rows, row_len)
        """
        return self.rows(torch.randint(len(self.starts), (n_rows,), generator=generator))


def encode_story(tokenizer: Tokenizer, config: ModelConfig, text: str) -> list[int]:
    """Encode a whole story between the two special tokens."""
    return [config.bos_id, *tokenizer.encode(text).ids, config.end_id]


def pack_stories(
    tokenizer: Tokenizer, config: ModelConfig, first_seed: int, n_stories: int
) -> PackedStories:
    """Tell stories and pack them into rows of one token more than the context.

    Raises: ValueError if the stories do not fill a single row
    """
    row_len = config.max_seq_len + 1
    pieces: list[np.ndarray] = []
    for first in range(0, n_stories, STORIES_AT_ONCE):
        count = min(STORIES_AT_ONCE, n_stories - first)
        texts = [story.text for story in tell_stories(first_seed + first, count)]
        for encoding in tokenizer.encode_batch(texts):
            pieces.append(np.array([config.bos_id, *encoding.ids, config.end_id], dtype=np.int16))
    lengths = np.array([len(piece) for piece in pieces])
    starts = np.cumsum(lengths) - lengths
    starts = starts[starts + row_len <= lengths.sum()]
    if not len(starts):
        raise ValueError(f"n_stories must fill a row of {row_len} tokens, got {n_stories}")
    return PackedStories(
        torch.from_numpy(np.concatenate(pieces)), torch.from_numpy(starts), row_len
    )
