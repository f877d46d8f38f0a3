"""Model folders: every way they can be wrong is one message naming the file and the remedy."""

import hashlib
import json
import shutil

import pytest
import torch

from core.config import STORYTELLER
from core.model.checkpoint import load_model, weights_to_bytes
from core.model.errors import CheckpointError
from core.model.manifest import MODEL_FOLDER
from core.model.weights import Weights


@pytest.fixture
def folder(tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(MODEL_FOLDER, copy)
    return copy


def promise(folder, name: str) -> None:
    """Let the manifest promise what the file now is, as if it had been built like that."""
    manifest = json.loads((folder / "manifest.json").read_text())
    content = (folder / name).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    manifest["files"][name] = {"sha256": digest, "bytes": len(content)}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def refused(folder, name: str, problem: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        load_model(folder)
    message = str(caught.value)
    assert message.count("\n") == 0
    assert f"{name} {problem}" in message
    assert "`make model`" in message


@pytest.mark.parametrize(
    "name", ["manifest.json", "config.json", "model.safetensors", "tokenizer.json"]
)
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    refused(folder, name, "is missing")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_truncated_file_is_named(folder, name):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-100])
    refused(folder, name, "is truncated")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_an_altered_file_is_named(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[-50] ^= 1
    (folder / name).write_bytes(content)
    refused(folder, name, "was altered")


def test_a_folder_that_is_not_there(tmp_path):
    refused(tmp_path / "nowhere", "manifest.json", "is missing")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ("{}", "does not list files"),
        ('{"files": {"config.json": 3}}', "does not list files"),
        ('{"files": {}}', "does not list config.json"),
    ],
)
def test_a_malformed_manifest_is_named(folder, content, problem):
    (folder / "manifest.json").write_text(content)
    refused(folder, "manifest.json", problem)


@pytest.mark.parametrize("content", ["{", "[]", '{"model_type": "gpt2"}', "null"])
def test_a_malformed_config_is_named(folder, content):
    (folder / "config.json").write_text(content)
    promise(folder, "config.json")
    refused(folder, "config.json", "is malformed")


@pytest.mark.parametrize("field", ["num_hidden_layers", "rope_parameters", "head_dim"])
def test_a_config_with_a_field_of_the_wrong_kind_is_named(folder, field):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, field: "many"}))
    promise(folder, "config.json")
    refused(folder, "config.json", "is malformed")


def test_weights_of_another_shape_are_named(folder):
    (folder / "model.safetensors").write_bytes(b"not safetensors at all")
    promise(folder, "model.safetensors")
    refused(folder, "model.safetensors", "is malformed")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 5}))
    promise(folder, "config.json")
    shutil.copy(MODEL_FOLDER / "model.safetensors", folder)
    promise(folder, "model.safetensors")
    refused(folder, "model.safetensors", "is malformed (the weights lack the tensor")


def test_a_foreign_vocabulary_is_named(folder):
    (folder / "tokenizer.json").write_text('{"version": "1.0", "model": {}}')
    promise(folder, "tokenizer.json")
    refused(folder, "tokenizer.json", "is not a tokenizer")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_loading_computes_in_the_precision_asked_for(shipped, dtype):
    model = load_model(dtype=dtype)
    assert model.transformer.dtype == dtype
    assert model.dtype_name == str(dtype).removeprefix("torch.")
    assert model.config == STORYTELLER
    content = (MODEL_FOLDER / "model.safetensors").read_bytes()
    assert model.model_sha256 == hashlib.sha256(content).hexdigest()
    torch.testing.assert_close(
        model.transformer.weights.embedding.float(),
        shipped.transformer.weights.embedding,
        atol=0.02,
        rtol=2**-8,
    )


def test_another_precision_is_refused():
    with pytest.raises(ValueError, match="dtype must be one of float32, bfloat16"):
        load_model(dtype=torch.float64)


def test_what_is_written_is_what_is_read(folder):
    weights = Weights.random(STORYTELLER, seed=9)
    (folder / "model.safetensors").write_bytes(weights_to_bytes(weights))
    promise(folder, "model.safetensors")
    loaded = load_model(folder).transformer.weights
    for (name, before), (_, after) in zip(
        weights.named_tensors(), loaded.named_tensors(), strict=True
    ):
        assert torch.equal(before.half().float(), after), name
