"""The model folder's manifest: size and SHA-256 of every file, checked before use; no torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.model.errors import CheckpointError

MODEL_FOLDER = Path(__file__).parents[2] / "assets" / "model"
DRAFT_FOLDER = Path(__file__).parents[2] / "assets" / "draft"
CONFIG_FILE = "config.json"
MANIFEST_FILE = "manifest.json"
TOKENIZER_FILE = "tokenizer.json"
WEIGHTS_FILE = "model.safetensors"


@dataclass(frozen=True)
class Manifest:
    """What a model folder promises: per file its SHA-256 and its size in bytes.

    ``untrained_ids`` are the token ids that never occurred in training.
    """

    sha256: Mapping[str, str]
    n_bytes: Mapping[str, int]
    untrained_ids: frozenset[int]

    @property
    def model_sha256(self) -> str:
        """SHA-256 of the weights file, which names the model in every result."""
        return self.sha256[WEIGHTS_FILE]


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest, which must list the config, the weights and the tokenizer.

    Raises: CheckpointError naming the manifest if it is missing or malformed.
    """
    file = folder / MANIFEST_FILE
    data = read_json(file)
    try:
        files = data["files"]
        sha256 = {name: str(entry["sha256"]) for name, entry in files.items()}
        n_bytes = {name: int(entry["bytes"]) for name, entry in files.items()}
        untrained_ids = frozenset(int(i) for i in data.get("untrained_ids", ()))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(file, "does not list files with sha256 and bytes") from error
    for name in (CONFIG_FILE, WEIGHTS_FILE, TOKENIZER_FILE):
        if name not in sha256:
            raise CheckpointError(file, f"does not list {name}")
    return Manifest(sha256, n_bytes, untrained_ids)


def verify_file(folder: Path, name: str, manifest: Manifest) -> bytes:
    """Return the bytes of a file that is exactly what the manifest promises.

    Raises: CheckpointError if it is missing, truncated or altered.
    """
    file = folder / name
    try:
        content = file.read_bytes()
    except FileNotFoundError as error:
        raise CheckpointError(file, "is missing") from error
    except OSError as error:
        raise CheckpointError(file, f"cannot be read ({error.strerror})") from error
    expected = manifest.n_bytes[name]
    if len(content) != expected:
        problem = "is truncated" if len(content) < expected else "has extra bytes"
        raise CheckpointError(file, f"{problem}: {len(content):,} bytes, not {expected:,}")
    if hashlib.sha256(content).hexdigest() != manifest.sha256[name]:
        raise CheckpointError(file, "was altered: its SHA-256 is not the recorded one")
    return content


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises: CheckpointError if the file is missing, unreadable or not a JSON object.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(file, "is missing") from error
    except OSError as error:
        raise CheckpointError(file, f"cannot be read ({error.strerror})") from error
    except ValueError as error:  # not UTF-8, or not JSON
        raise CheckpointError(file, "is not JSON") from error
    if not isinstance(data, dict):
        raise CheckpointError(file, "is not a JSON object")
    return data
