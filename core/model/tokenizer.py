"""Text to token ids and back, with the byte-level vocabulary of the shipped model; no torch.

Every sequence starts with the start token. What a person types is text: a prompt that spells
``<|end|>`` becomes the pieces of those characters, never the special token.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer as HFTokenizer

from core.model.errors import CheckpointError
from core.model.token_text import (
    END_LABEL,
    START_LABEL,
    StreamDecoder,
    clean_text,
    decode_pieces,
    glyph_bytes,
    piece_label,
)

START = "<|bos|>"
END = "<|end|>"
MAX_CHARACTERS = 200_000
"""Longer prompts are cut to their last characters before they are encoded."""


@dataclass(frozen=True)
class EncodedPrompt:
    """A prompt as the model gets it: the start token and the last tokens that fit.

    ``notes`` holds one sentence for everything that was changed or may surprise.
    """

    ids: tuple[int, ...]
    n_dropped: int
    notes: tuple[str, ...]


class Tokenizer:
    """The vocabulary of a model folder.

    ``untrained_ids`` are those that never occurred in training; a prompt that uses one gets
    a warning.

    Raises: CheckpointError naming the file if it is missing or not a byte-level vocabulary.
    """

    def __init__(self, file: Path, untrained_ids: Iterable[int] = ()) -> None:
        self._hf = _read(file)
        # Without this, "<|end|>" typed in a prompt would become the special token.
        self._hf.encode_special_tokens = True
        vocab: dict[str, int] = self._hf.get_vocab(with_added_tokens=True)
        for name in (START, END):
            if name not in vocab:
                raise CheckpointError(file, f"lacks the token {name}")
        self.bos_id, self.end_id = vocab[START], vocab[END]
        self._pieces = _pieces(vocab, file)
        self._untrained = frozenset(untrained_ids)
        self._texts = [decode_pieces([piece]) for piece in self._pieces]
        self._labels = [piece_label(piece) for piece in self._pieces]
        self._texts[self.bos_id], self._texts[self.end_id] = START, END
        self._labels[self.bos_id], self._labels[self.end_id] = START_LABEL, END_LABEL

    @property
    def vocab_size(self) -> int:
        """Number of ids, V."""
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        """Return the start token and the ids of the text; special strings are plain text."""
        return [self.bos_id, *self._hf.encode(clean_text(text), add_special_tokens=False).ids]

    def encode_prompt(self, text: str, max_tokens: int, room: int = 0) -> EncodedPrompt:
        """Return the prompt's ids, at most ``max_tokens``, the start token counted.

        A longer prompt keeps its last tokens. They then also leave ``room`` for tokens to be
        generated, but no less than half of ``max_tokens`` is kept.

        Raises: ValueError if the text is empty or ``max_tokens`` is below 2.
        """
        if not text:
            raise ValueError("the prompt is empty: type at least one character")
        if max_tokens < 2:
            raise ValueError(f"max_tokens must be at least 2, got {max_tokens}")
        notes = []
        if clean_text(text) != text:
            notes.append("Lone surrogates in the prompt were replaced by U+FFFD.")
        if len(text) > MAX_CHARACTERS:
            n_cut = len(text) - MAX_CHARACTERS
            notes.append(f"The first {n_cut:,} characters of the prompt were not read.")
            text = text[-MAX_CHARACTERS:]
        ids, n_dropped = self._fitted(self.encode(text), max_tokens, room)
        if n_dropped:
            notes.append(
                f"The prompt has {len(ids) + n_dropped:,} tokens with the start token; the first "
                f"{n_dropped:,} of its text were dropped and the last {len(ids) - 1:,} kept."
            )
        untrained = self.untrained_labels(ids)
        if untrained:
            shown = ", ".join(untrained[:6]) + (" and more" if len(untrained) > 6 else "")
            notes.append(
                f"The model never met these pieces in training, so expect nonsense: {shown}."
            )
        return EncodedPrompt(tuple(ids), n_dropped, tuple(notes))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of the ids; special tokens give none, invalid bytes show in hex."""
        return decode_pieces([self.piece(i) for i in ids])

    def piece(self, token_id: int) -> bytes:
        """Return the bytes that the token stands for; a special token has none."""
        return self._pieces[token_id]

    def text(self, token_id: int) -> str:
        """Return the token's own text; incomplete bytes in hex, a special token by name."""
        return self._texts[token_id]

    def label(self, token_id: int) -> str:
        """Return the token made visible, different for every id."""
        return self._labels[token_id]

    def stream(self, ids: Iterable[int]) -> list[str]:
        """Return the text that becomes readable with each id; the last one flushes the rest."""
        decoder = StreamDecoder()
        texts = [decoder.push(self.piece(i)) for i in ids]
        if texts:
            texts[-1] += decoder.finish()
        return texts

    def untrained_labels(self, ids: Sequence[int]) -> list[str]:
        """Return the labels of ids that never occur in the training stories, each once."""
        return [self.label(i) for i in dict.fromkeys(ids) if i in self._untrained]

    def _fitted(self, ids: list[int], max_tokens: int, room: int) -> tuple[list[int], int]:
        """The start token and the last ids that fit, and how many were dropped.

        What is kept does not start in the middle of a UTF-8 character.
        """
        if len(ids) <= max_tokens:
            return ids, 0
        n_kept = max(max_tokens - room, (max_tokens + 1) // 2) - 1  # and the start token
        kept = ids[-n_kept:]
        whole = next((i for i, t in enumerate(kept) if self._pieces[t][0] & 0xC0 != 0x80), 0)
        kept = kept[whole:]
        return [self.bos_id, *kept], len(ids) - 1 - len(kept)


def _read(file: Path) -> HFTokenizer:
    try:
        text = file.read_text(encoding="utf-8")
        json.loads(text)
    except FileNotFoundError as error:
        raise CheckpointError(file, "is missing") from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(file, "cannot be read as JSON") from error
    return _parse(text, file)


def _parse(text: str, file: Path) -> HFTokenizer:
    # The library raises a bare Exception for every kind of malformed vocabulary.
    try:
        return HFTokenizer.from_str(text)
    except Exception as error:
        raise CheckpointError(file, "is not a tokenizer") from error


def _pieces(vocab: dict[str, int], file: Path) -> list[bytes]:
    """The bytes of every id; special tokens have none."""
    glyphs = glyph_bytes()
    pieces = [b""] * len(vocab)
    try:
        for token, token_id in vocab.items():
            if token not in (START, END):
                pieces[token_id] = bytes(glyphs[glyph] for glyph in token)
    except (KeyError, IndexError) as error:
        raise CheckpointError(file, "is not a byte-level vocabulary") from error
    return pieces
