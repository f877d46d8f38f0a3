"""Text and tokens: lossless, visible, and what a person types is never a special token."""

import codecs
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.errors import CheckpointError
from core.model.manifest import MODEL_FOLDER, TOKENIZER_FILE, read_manifest
from core.model.token_text import (
    StreamDecoder,
    clean_text,
    piece_label,
    readable_text,
    visible_text,
)
from core.model.tokenizer import Tokenizer

TOKENIZER = Tokenizer(MODEL_FOLDER / TOKENIZER_FILE, read_manifest(MODEL_FOLDER).untrained_ids)


def joined(ids: list[int]) -> bytes:
    return b"".join(TOKENIZER.piece(i) for i in ids)


@given(st.text())
def test_bytes_of_the_pieces_are_the_bytes_of_the_text(text):
    ids = TOKENIZER.encode(text)
    assert ids[0] == TOKENIZER.bos_id
    assert joined(ids) == text.encode()
    assert "".join(TOKENIZER.stream(ids)) == TOKENIZER.decode(ids) == text


@given(st.text(alphabet=st.characters(codec=None), max_size=30))
def test_lone_surrogates_do_not_crash(text):
    ids = TOKENIZER.encode(text)
    assert joined(ids).decode() == clean_text(text)


@given(st.binary(max_size=40), st.integers(1, 5))
def test_a_stream_is_the_whole_whatever_the_pieces(data, size):
    decoder = StreamDecoder()
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    streamed = "".join(map(decoder.push, pieces)) + decoder.finish()
    assert streamed == codecs.decode(data, "utf-8", "hex-in-brackets")
    assert "\ufffd" not in streamed or "\ufffd".encode() in data


@pytest.mark.parametrize("typed", ["<|end|>", "<|bos|>", "a<|end|>b<|bos|>"])
def test_typed_special_strings_stay_text(typed):
    ids = TOKENIZER.encode(typed)
    assert {TOKENIZER.bos_id, TOKENIZER.end_id}.isdisjoint(ids[1:])
    assert TOKENIZER.decode(ids) == typed


def test_tk_01_incomplete_pieces_show_their_bytes():
    pieces = ["41", "F09F", "A4", "97", "C3", "A9", "0A", "2020", "42"]
    labels = [piece_label(bytes.fromhex(piece)) for piece in pieces]
    assert labels == ["A", "⟨F0 9F⟩", "⟨A4⟩", "⟨97⟩", "⟨C3⟩", "⟨A9⟩", "↵", "··", "B"]
    assert len(set(labels)) == len(labels)


def test_tk_01_the_emoji_appears_with_its_last_byte():
    decoder = StreamDecoder()
    pieces = ["41", "F09F", "A4", "97", "C3", "A9", "0A", "2020", "42"]
    shown = [decoder.push(bytes.fromhex(piece)) for piece in pieces]
    assert shown == ["A", "", "", "🤗", "", "é", "\n", "  ", "B"]
    assert decoder.finish() == ""


def test_tk_01_white_space_is_visible_and_different():
    labels = [piece_label(piece) for piece in (b" the", b"\n", b"\t", b"  ", b" ")]
    assert labels == ["·the", "↵", "⇥", "··", "·"]


def test_every_label_of_the_vocabulary_is_different():
    labels = [TOKENIZER.label(i) for i in range(TOKENIZER.vocab_size)]
    assert len(set(labels)) == TOKENIZER.vocab_size == 1024
    assert labels[TOKENIZER.bos_id] == "⟨start⟩"
    assert labels[TOKENIZER.end_id] == "⟨end⟩"
    assert not any(glyph in label for label in labels for glyph in "ĠĊĉ\n\t ")


@given(st.lists(st.binary(min_size=1, max_size=4), unique=True, max_size=20))
def test_different_pieces_have_different_labels(pieces):
    assert len({piece_label(piece) for piece in pieces}) == len(pieces)


@pytest.mark.parametrize(
    ("text", "visible", "readable"),
    [
        ("a b\tc\nd", "a·b⇥c↵d", "a b\tc\nd"),
        ("x\u202ey\u2066z", "x⟨U+202E⟩y⟨U+2066⟩z", "x⟨U+202E⟩y⟨U+2066⟩z"),
        ("\x00\x1b\r", "⟨U+0000⟩⟨U+001B⟩⟨U+000D⟩", "⟨U+0000⟩⟨U+001B⟩⟨U+000D⟩"),
        ("·⟨", "⟨U+00B7⟩⟨U+27E8⟩", "·⟨"),
        ("👩‍👩‍👧 ok", "👩⟨U+200D⟩👩⟨U+200D⟩👧·ok", "👩‍👩‍👧 ok"),
        ("<b>&amp;$5", "<b>&amp;$5", "<b>&amp;$5"),
    ],
)
def test_control_and_direction_characters_are_visible(text, visible, readable):
    assert visible_text(text) == visible
    assert readable_text(text) == readable


def test_mc_02_an_empty_prompt_is_refused_and_spaces_are_a_prompt():
    with pytest.raises(ValueError, match="the prompt is empty"):
        TOKENIZER.encode_prompt("", 255)
    spaces = TOKENIZER.encode_prompt("   ", 255)
    assert spaces.ids[0] == TOKENIZER.bos_id
    assert TOKENIZER.decode(spaces.ids) == "   "


def test_mc_02_a_long_prompt_keeps_its_last_tokens_and_says_so():
    text = "Mia had a ball. " * 40
    whole = TOKENIZER.encode(text)
    prompt = TOKENIZER.encode_prompt(text, 63, room=10)
    assert len(prompt.ids) == 53
    assert list(prompt.ids) == [TOKENIZER.bos_id, *whole[-52:]]
    assert prompt.n_dropped == len(whole) - 53
    assert f"the first {prompt.n_dropped:,} of its text were dropped" in prompt.notes[0]
    half = TOKENIZER.encode_prompt(text, 63, room=500)
    assert len(half.ids) == 32
    assert TOKENIZER.encode_prompt(text, len(whole)).n_dropped == 0


def test_a_cut_never_starts_inside_a_character():
    for max_tokens in range(60, 68):
        prompt = TOKENIZER.encode_prompt("é😀" * 100, max_tokens)
        assert set(TOKENIZER.decode(prompt.ids)) == {"é", "😀"}
        assert len(prompt.ids) + prompt.n_dropped == 601


@pytest.mark.parametrize("unit", ["Once upon a time ", "a", " ", "😀", "é\u0301", "x1\n"])
def test_a_hundred_thousand_characters_take_far_less_than_two_seconds(unit):
    text = (unit * 100_000)[:100_000]
    started = time.process_time()
    prompt = TOKENIZER.encode_prompt(text, 255, room=16)
    assert time.process_time() - started < 2
    assert len(prompt.ids) <= 239
    assert text.endswith(TOKENIZER.decode(prompt.ids))


def test_more_than_the_limit_is_cut_by_characters_first():
    prompt = TOKENIZER.encode_prompt("ab " * 100_000, 255)
    assert prompt.notes[0] == "The first 100,000 characters of the prompt were not read."
    assert len(prompt.ids) == 255


def test_pieces_never_met_in_training_are_named():
    assert TOKENIZER.encode_prompt("Mia had a red ball.", 255).notes == ()
    (note,) = TOKENIZER.encode_prompt("Mia said 你", 255).notes
    assert "⟨E4⟩, ⟨BD⟩, ⟨A0⟩" in note


def test_a_broken_vocabulary_is_named(tmp_path):
    file = tmp_path / "tokenizer.json"
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is missing\. Run `make model`"):
        Tokenizer(file)
    for content, problem in (("{", "cannot be read as JSON"), ("{}", "is not a tokenizer")):
        file.write_text(content)
        with pytest.raises(CheckpointError, match=problem):
            Tokenizer(file)
