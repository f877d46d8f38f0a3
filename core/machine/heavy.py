"""A weights-heavy model: random weights of a stated shape, so large that memory is measured.

The layers have the proportions of a 7 to 8 billion parameter Llama and there are fewer of
them: wide matrices keep the fixed cost of each call small beside the bytes it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from core.config import ModelConfig
from core.machine.products import by_columns
from core.model.kv_cache import KVCache
from core.model.weights import LayerWeights, Weights

WIDE, NARROW = 4096, 2048
WIDE_FROM_PARAMS = 200_000_000
HEAD_DIM = 128
GROUP_SIZE = 4
VOCAB_SIZE = 8192
D_FF_PER_D_MODEL = 3
D_FF_STEP = 64
MIN_BYTES = 64_000_000
MAX_SEQ_LEN = 131_072

PRESETS = {
    "0.5 billion parameters": 500_000_000,
    "1 billion parameters": 1_000_000_000,
    "3 billion parameters": 3_000_000_000,
    "7 billion parameters": 7_000_000_000,
}
"""Sizes offered where memory has room, as name -> parameters."""

_BLOCK = 4_194_301
"""Random numbers drawn once and repeated; a prime, so that no two rows are equal."""


def heavy_config(weight_bytes: int, bytes_per_weight: int = 2) -> ModelConfig:
    """The shape whose weights take about ``weight_bytes``, d_model 4096, or 2048 when small.

    Raises: ValueError below 64 MB, where the weights would fit in any cache.

    >>> heavy_config(1_000_000_000).d_model, heavy_config(128_000_000).d_model
    (4096, 2048)
    """
    if weight_bytes < MIN_BYTES:
        raise ValueError(f"weight_bytes must be at least {MIN_BYTES}, got {weight_bytes}")
    n_params = weight_bytes // bytes_per_weight
    d_model = WIDE if n_params >= WIDE_FROM_PARAMS else NARROW
    table = VOCAB_SIZE * d_model
    attention = d_model * (2 * d_model + 2 * d_model // GROUP_SIZE)
    layer = attention + 3 * d_model * d_model * D_FF_PER_D_MODEL
    n_layers = max(1, round((n_params - table) / layer))
    mlp = (n_params - table) / n_layers - attention - 2 * d_model
    d_ff = max(D_FF_STEP, round(mlp / (3 * d_model) / D_FF_STEP) * D_FF_STEP)
    return ModelConfig(
        n_layers=n_layers,
        d_model=d_model,
        n_heads=d_model // HEAD_DIM,
        n_kv_heads=d_model // HEAD_DIM // GROUP_SIZE,
        head_dim=HEAD_DIM,
        d_ff=d_ff,
        vocab_size=VOCAB_SIZE,
        max_seq_len=MAX_SEQ_LEN,
    )


class RandomTensors:
    """Tensors of seeded normal numbers; the numbers repeat after four million.

    Speed does not depend on the values as long as they are ordinary, and drawing every one
    of a billion would take longer than the measurement.
    """

    def __init__(self, dtype: torch.dtype, device: torch.device, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        self._block = torch.randn(_BLOCK, generator=generator).to(device, dtype)
        self._start = 0

    def ones(self, size: int) -> Tensor:
        """A vector of ones, such as the weights of an untrained norm."""
        return torch.ones(size, dtype=self._block.dtype, device=self._block.device)

    def make(self, shape: Sequence[int], scale: float) -> Tensor:
        """A tensor of that shape with deviation ``scale``."""
        tensor = torch.empty(tuple(shape), dtype=self._block.dtype, device=self._block.device)
        flat, filled = tensor.view(-1), 0
        while filled < flat.numel():
            n = min(flat.numel() - filled, _BLOCK - self._start)
            flat[filled : filled + n] = self._block[self._start : self._start + n]
            filled, self._start = filled + n, (self._start + n) % _BLOCK
        return tensor.mul_(scale)


def random_weights(
    config: ModelConfig,
    dtype: torch.dtype,
    device: torch.device,
    *,
    columns: bool = False,
    progress: Callable[[float], None] = lambda share: None,
) -> Weights:
    """Random weights, layer by layer, so that memory never holds more than one layer twice.

    ``columns`` lays every matrix out by columns; ``progress`` is told the share that is made.
    """
    source, lay = RandomTensors(dtype, device), by_columns if columns else _as_it_is
    layers = []
    for index in range(config.n_layers):
        layers.append(_random_layer(config, source, lay))
        progress((index + 1) / (config.n_layers + 1))
    table = (config.vocab_size, config.d_model)
    head = lay(source.make(table, config.d_model**-0.5))
    embedding = head if config.tied_embeddings else source.make(table, config.d_model**-0.5)
    progress(1.0)
    return Weights(embedding, tuple(layers), source.ones(config.d_model), head)


def _random_layer(
    config: ModelConfig, source: RandomTensors, lay: Callable[[Tensor], Tensor]
) -> LayerWeights:
    parts = {
        name: source.make((d_out, d_in), d_in**-0.5)
        for name, (d_in, d_out) in config.layer_matrices().items()
    }
    for name in ("attn_norm", "mlp_norm"):
        parts[name] = source.ones(config.d_model)
    layer = LayerWeights.from_parts(parts)
    qkv, gate_up = lay(layer.qkv), lay(layer.gate_up)
    q, k, v = torch.split(qkv, [config.q_width, config.kv_width, config.kv_width])
    gate, up = gate_up.chunk(2)
    fused = {"qkv": qkv, "q": q, "k": k, "v": v, "gate_up": gate_up, "gate": gate, "up": up}
    return replace(layer, **fused, o=lay(layer.o), down=lay(layer.down))


def _as_it_is(matrix: Tensor) -> Tensor:
    return matrix


def fill_cache(kv_cache: KVCache, config: ModelConfig, n_tokens: int) -> None:
    """Append ``n_tokens`` random keys and values to every layer, as if they had been processed."""
    if n_tokens < 1:
        return
    source = RandomTensors(kv_cache.keys(0).dtype, kv_cache.keys(0).device, seed=1)
    shape = (kv_cache.batch_size, config.n_kv_heads, n_tokens, config.head_dim)
    for layer in range(config.n_layers):
        kv_cache.append(layer, source.make(shape, 1.0), source.make(shape, 1.0))
    kv_cache.advance(n_tokens)


def matrices_of(weights: Weights) -> tuple[Tensor, ...]:
    """The matrices that a decode step multiplies by, in the order of use, fused as it uses them."""
    layers = [(layer.qkv, layer.o, layer.gate_up, layer.down) for layer in weights.layers]
    return (*(matrix for layer in layers for matrix in layer), weights.lm_head)


def weight_bytes_read(weights: Weights) -> int:
    """Bytes of weights one step reads, from the tensors' sizes: all but an untied input table."""
    if weights.lm_head is weights.embedding:
        return weights.total_bytes
    return weights.total_bytes - weights.embedding.numel() * weights.embedding.element_size()
