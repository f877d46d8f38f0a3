"""Reading the text of a config.json safely: data only, with errors a person can act on."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_CONFIG_BYTES = 4_000_000
MAX_DEPTH = 64

_MARKER = re.compile(r"^(<{7}|={7}|>{7}|\|{7})( |$)", re.MULTILINE)
_HTML = re.compile(r"\s*<(!doctype|html|head|body|\?xml|!--)", re.IGNORECASE)


class ConfigError(ValueError):
    """A config that cannot be read; the message names what is missing or contradictory."""


def read_config_text(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object in the text of a config file.

    Takes a byte-order mark, Infinity and NaN, which published files contain. Refuses anything
    over MAX_CONFIG_BYTES, nested deeper than MAX_DEPTH, or not an object.

    Raises: ConfigError with one line that says what is wrong and where

    >>> read_config_text('{"num_hidden_layers": 8, "time_step_limit": [0.0, Infinity]}')
    {'num_hidden_layers': 8, 'time_step_limit': [0.0, inf]}
    """
    plain = _decode(text)
    _refuse_other_files(plain)
    _check_depth(plain)
    try:
        value = json.loads(plain, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from error
    except ConfigError:
        raise
    except ValueError as error:  # numbers with thousands of digits
        raise ConfigError(f"not a usable config: {str(error).split(';')[0]}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"a config must be a JSON object {{...}}, got {_kind(value)}")
    if not value:
        raise ConfigError(
            "the config is an empty object: the number of layers and heads are missing "
            "(num_hidden_layers, num_attention_heads)"
        )
    return value


def _decode(text: str | bytes) -> str:
    size = len(text)
    if size > MAX_CONFIG_BYTES:
        raise ConfigError(
            f"the file has {size:,} bytes; a config.json has at most {MAX_CONFIG_BYTES:,} here"
        )
    if isinstance(text, bytes):
        encoding = "utf-16" if text[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            text = text.decode(encoding)
        except UnicodeDecodeError as error:
            raise ConfigError(f"not text in UTF-8: byte {error.start} cannot be read") from error
    return text.removeprefix("\ufeff")


def _refuse_other_files(text: str) -> None:
    if not text.strip():
        raise ConfigError("the file is empty")
    if _HTML.match(text):
        raise ConfigError("not JSON: this looks like a web page (HTML), not a config.json")
    marker = _MARKER.search(text)
    if marker:
        line = text.count("\n", 0, marker.start()) + 1
        raise ConfigError(f"not JSON: unresolved merge conflict marker at line {line}")
    if text.startswith("version https://git-lfs"):
        raise ConfigError("not JSON: this is a Git LFS pointer, not the file itself")


def _check_depth(text: str) -> None:
    """Refuse deep nesting before the parser recurses; brackets inside strings do not count."""
    depth = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', text):
        first = token.group()[0]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                line = text.count("\n", 0, token.start()) + 1
                raise ConfigError(f"nested deeper than {MAX_DEPTH} levels at line {line}")
        elif first in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build one object; the same key twice with different values is a contradiction."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result and result[key] != value:
            raise ConfigError(f"the field {key[:60]!r} occurs twice with different values")
        result[key] = value
    return result


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "a truth"}
    return names.get(type(value), "null")
