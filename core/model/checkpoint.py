"""Models on disk, in the Hugging Face Llama layout, checked against their manifest.

A folder holds config.json, model.safetensors (float16), tokenizer.json and manifest.json.
Weights are stored in 16 bit and computed in float32 or bfloat16.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from core.config import ModelConfig
from core.model.errors import CheckpointError
from core.model.manifest import (
    CONFIG_FILE,
    MODEL_FOLDER,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    Manifest,
    read_manifest,
    verify_file,
)
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.model.weights import Weights

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
"""Precisions that a run may compute in, by name."""


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to run, with its tokenizer and the hash that names its weights.

    Shared by all runs and read-only; a KV cache is never kept here.
    """

    transformer: Transformer
    tokenizer: Tokenizer
    model_sha256: str
    manifest: Manifest

    @property
    def config(self) -> ModelConfig:
        """The model's shape."""
        return self.transformer.config

    @property
    def dtype_name(self) -> str:
        """Precision of the weights and of the run, as in :data:`DTYPES`."""
        return str(self.transformer.dtype).removeprefix("torch.")


def load_model(
    folder: Path = MODEL_FOLDER,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> LoadedModel:
    """Load a model folder; every file must be what the manifest promises.

    Raises: CheckpointError naming the file that is missing, truncated, altered or malformed;
        ValueError if ``dtype`` is neither float32 nor bfloat16.
    """
    if dtype not in DTYPES.values():
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype}")
    manifest = read_manifest(folder)
    config = _read_config(folder, manifest)
    stored = _read_weights(folder, manifest, config)
    verify_file(folder, TOKENIZER_FILE, manifest)
    tokenizer = Tokenizer(folder / TOKENIZER_FILE, manifest.untrained_ids)
    if tokenizer.vocab_size != config.vocab_size:
        problem = f"has {tokenizer.vocab_size} ids, the model {config.vocab_size}"
        raise CheckpointError(folder / TOKENIZER_FILE, problem)
    transformer = Transformer(config, stored.to(dtype, device))
    return LoadedModel(transformer, tokenizer, manifest.model_sha256, manifest)


def weights_to_bytes(weights: Weights) -> bytes:
    """Return the float16 safetensors file of the weights, under Hugging Face names."""
    tensors = {
        name: tensor.detach().to("cpu", torch.float16).contiguous()
        for name, tensor in weights.named_tensors()
    }
    return bytes(save_tensors(tensors, metadata={"format": "pt"}))


def _read_config(folder: Path, manifest: Manifest) -> ModelConfig:
    content = verify_file(folder, CONFIG_FILE, manifest)
    try:
        return ModelConfig.from_hf(json.loads(content))
    except (ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(folder / CONFIG_FILE, f"is malformed ({error})") from error


def _read_weights(folder: Path, manifest: Manifest, config: ModelConfig) -> Weights:
    content = verify_file(folder, WEIGHTS_FILE, manifest)
    try:
        return Weights.from_named_tensors(config, load_tensors(content))
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(folder / WEIGHTS_FILE, f"is malformed ({error})") from error
