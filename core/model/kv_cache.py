"""The KV cache: preallocated keys and values, owned by one run and passed to the model.

What is stored is K and V of every token. Queries and attention rows are not: a query is used
in its own step only.
"""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from core.config import ModelConfig


class KVCache:
    """Keys and values of one batch, with room for ``capacity`` tokens.

    Shapes: keys and values of a layer (B, K, capacity, d), of which ``length`` tokens are used
    Raises: ValueError if ``batch_size`` or ``capacity`` is below 1.
    """

    def __init__(
        self,
        config: ModelConfig,
        batch_size: int = 1,
        capacity: int | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self.capacity = config.max_seq_len if capacity is None else capacity
        for name, value in (("batch_size", batch_size), ("capacity", self.capacity)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.batch_size = batch_size
        self.n_layers = config.n_layers
        self.length = 0
        shape = (config.n_layers, 2, batch_size, config.n_kv_heads, self.capacity, config.head_dim)
        self._store = torch.zeros(shape, dtype=dtype, device=device)
        self._layers: list[tuple[Tensor, Tensor]] = [(layer[0], layer[1]) for layer in self._store]

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write the new tokens' K and V behind the used ones; return all of the layer's.

        Nothing already stored is copied or moved. :meth:`advance` makes the tokens count once
        every layer has appended.

        Shapes: k and v (B, K, T, d) -> (B, K, length + T, d) views
        Raises: ValueError if the tokens do not fit.
        """
        end = self.length + k.shape[2]
        if end > self.capacity:
            raise ValueError(f"the KV cache holds {self.capacity} tokens, {end} were asked for")
        keys, values = self._layers[layer]
        keys[:, :, self.length : end] = k
        values[:, :, self.length : end] = v
        return keys[:, :, :end], values[:, :, :end]

    def advance(self, n_tokens: int) -> None:
        """Count ``n_tokens`` appended tokens as used."""
        self.length += n_tokens

    def truncate(self, length: int) -> None:
        """Forget every token from position ``length`` on.

        Raises: ValueError if ``length`` is negative or beyond the used tokens.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"length must be 0 to {self.length}, got {length}")
        self.length = length

    def keys(self, layer: int) -> Tensor:
        """The used keys of a layer, (B, K, length, d)."""
        return self._layers[layer][0][:, :, : self.length]

    def values(self, layer: int) -> Tensor:
        """The used values of a layer, (B, K, length, d)."""
        return self._layers[layer][1][:, :, : self.length]

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one token of every sequence occupies: 2 * L * B * K * d * b."""
        return self._store.element_size() * (self._store.numel() // self.capacity)

    @property
    def bytes_in_use(self) -> int:
        """Bytes of the used tokens, from the tensors' own sizes."""
        return self.bytes_per_token * self.length

    @property
    def bytes_allocated(self) -> int:
        """Bytes reserved for ``capacity`` tokens."""
        return self._store.element_size() * self._store.numel()

    def digest(self, length: int) -> str:
        """SHA-256 of the first ``length`` tokens' keys and values, byte for byte."""
        used = self._store[..., :length, :].contiguous().cpu()
        return hashlib.sha256(used.view(torch.uint8).numpy().tobytes()).hexdigest()
