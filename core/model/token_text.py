"""How tokens read on screen: visible labels, the glyph table, and streaming UTF-8.

A byte-level vocabulary spells bytes as printable glyphs; nobody should have to read those.
Here every piece is bytes again, and a label makes each of them visible: a space as a middle
dot, a newline as a return sign, incomplete characters as their bytes in hex.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterator

START_LABEL = "⟨start⟩"
END_LABEL = "⟨end⟩"

_SIGNS = {" ": "·", "\n": "↵", "\t": "⇥"}
# Signs that stand for something else here are themselves shown by code point, so that two
# different pieces never share a label.
_RESERVED = frozenset({*_SIGNS.values(), "⟨", "⟩"})
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})


def glyph_bytes() -> dict[str, int]:
    """Return the byte that each glyph of a byte-level vocabulary stands for.

    Printable Latin-1 stands for itself; the other 68 bytes are glyphs from U+0100 on.

    Source: Radford et al. 2019 (GPT-2), byte-level byte-pair encoding

    >>> glyph_bytes()["A"], glyph_bytes()["Ġ"], len(glyph_bytes())
    (65, 32, 256)
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    table.update({chr(0x100 + index): byte for index, byte in enumerate(others)})
    return table


def piece_label(piece: bytes) -> str:
    """Return the label of one token's bytes; different bytes have different labels.

    >>> [piece_label(p) for p in (b" the", b"  ", bytes([10]), bytes([0xF0, 0x9F]))]
    ['·the', '··', '↵', '⟨F0 9F⟩']
    """
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        return f"⟨{piece.hex(' ').upper()}⟩"
    return visible_text(text)


def visible_text(text: str) -> str:
    """Return the text with spaces, line ends, control and direction characters made visible.

    >>> visible_text("a b")
    'a·b'
    >>> visible_text("x" + chr(0x202E) + chr(7))
    'x⟨U+202E⟩⟨U+0007⟩'
    """
    return "".join(_visible_character(character) for character in text)


def readable_text(text: str) -> str:
    """Return the text for running lines: as typed, with only the unprintable made visible.

    Spaces, tabs and line ends stay as they are; joiners inside an emoji or a word do too.

    >>> readable_text("one two" + chr(0x202E))
    'one two⟨U+202E⟩'
    """
    return "".join(
        c if c in _SIGNS or c in _RESERVED or _joins(c) else _visible_character(c) for c in text
    )


def clean_text(text: str) -> str:
    """Return the text with lone surrogates, which no UTF-8 can hold, as U+FFFD.

    >>> clean_text("a" + chr(0xD83D) + chr(0xDE00)) == "a" + chr(0x1F600)
    True
    >>> clean_text("a" + chr(0xD800)) == "a" + chr(0xFFFD)
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class StreamDecoder:
    """Turn token bytes into text as they come, holding back characters not yet complete.

    Bytes that can never become a character are shown in hex, not as a replacement mark.

    >>> decoder = StreamDecoder()
    >>> emoji = chr(0x1F917)
    >>> [decoder.push(bytes([b])) for b in emoji.encode()] == ["", "", "", emoji]
    True
    >>> decoder.push(bytes([0xF0, 0x9F])), decoder.finish()
    ('', '⟨F0 9F⟩')
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("hex-in-brackets")

    def push(self, piece: bytes) -> str:
        """Return the text that has become complete with these bytes."""
        return self._decoder.decode(piece)

    def finish(self) -> str:
        """Return what is still held back, in hex: it will not be completed."""
        return self._decoder.decode(b"", final=True)


def decode_pieces(pieces: Iterator[bytes] | list[bytes]) -> str:
    """Return the text of a whole sequence of token bytes.

    >>> decode_pieces([b"A", bytes([0xC3]), bytes([0xA9])]) == "A" + chr(0xE9)
    True
    """
    decoder = StreamDecoder()
    return "".join([*map(decoder.push, pieces), decoder.finish()])


def _joins(character: str) -> bool:
    return character in "\u200c\u200d\ufe0e\ufe0f"


def _visible_character(character: str) -> str:
    sign = _SIGNS.get(character)
    if sign is not None:
        return sign
    if character in _RESERVED or unicodedata.category(character) in _HIDDEN_CATEGORIES:
        return f"⟨U+{ord(character):04X}⟩"
    if 0xFE00 <= ord(character) <= 0xFE0F:  # variation selectors have no glyph of their own
        return f"⟨U+{ord(character):04X}⟩"
    return character


def _hex_in_brackets(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return f"⟨{error.object[error.start : error.end].hex(' ').upper()}⟩", error.end


codecs.register_error("hex-in-brackets", _hex_in_brackets)
