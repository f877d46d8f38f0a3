"""The weights of a model: named matrices, shared and read-only while serving."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from core.config import ModelConfig

_HF_LAYER_NAMES = {
    "attn_norm": "input_layernorm.weight",
    "q": "self_attn.q_proj.weight",
    "k": "self_attn.k_proj.weight",
    "v": "self_attn.v_proj.weight",
    "o": "self_attn.o_proj.weight",
    "mlp_norm": "post_attention_layernorm.weight",
    "gate": "mlp.gate_proj.weight",
    "up": "mlp.up_proj.weight",
    "down": "mlp.down_proj.weight",
}


@dataclass(frozen=True)
class LayerWeights:
    """One layer. Matrices are (d_out, d_in); q, k, v and gate, up are views of fused ones."""

    attn_norm: Tensor  # (D,)
    qkv: Tensor  # (H*d + 2*K*d, D)
    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor  # (D, H*d)
    mlp_norm: Tensor  # (D,)
    gate_up: Tensor  # (2*F, D)
    gate: Tensor
    up: Tensor
    down: Tensor  # (D, F)

    @staticmethod
    def from_parts(parts: Mapping[str, Tensor], *, by_columns: bool = False) -> LayerWeights:
        """Fuse the parts named as the fields (all but ``qkv`` and ``gate_up``).

        The fusion is differentiable, so parameters in training can be passed as parts.
        ``by_columns`` lays the matrices out for serving, see :meth:`Weights.to`.
        """
        lay = _by_columns if by_columns else _as_it_is
        qkv = lay(torch.cat((parts["q"], parts["k"], parts["v"])))
        q, k, v = torch.split(qkv, [parts[name].shape[0] for name in ("q", "k", "v")])
        gate_up = lay(torch.cat((parts["gate"], parts["up"])))
        gate, up = gate_up.chunk(2)
        return LayerWeights(
            attn_norm=parts["attn_norm"],
            qkv=qkv,
            q=q,
            k=k,
            v=v,
            o=lay(parts["o"]),
            mlp_norm=parts["mlp_norm"],
            gate_up=gate_up,
            gate=gate,
            up=up,
            down=lay(parts["down"]),
        )

    def parts(self) -> dict[str, Tensor]:
        """The unfused tensors by field name."""
        return {name: getattr(self, name) for name in _HF_LAYER_NAMES}


@dataclass(frozen=True)
class Weights:
    """All weights of a model; ``lm_head`` is the embedding itself where the two are tied."""

    embedding: Tensor  # (V, D)
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor  # (D,)
    lm_head: Tensor  # (V, D)

    def named_tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Every stored tensor once, under its Hugging Face Llama name."""
        yield "model.embed_tokens.weight", self.embedding
        for index, layer in enumerate(self.layers):
            for name, tensor in layer.parts().items():
                yield f"model.layers.{index}.{_HF_LAYER_NAMES[name]}", tensor
        yield "model.norm.weight", self.final_norm
        if self.lm_head is not self.embedding:
            yield "lm_head.weight", self.lm_head

    @staticmethod
    def from_named_tensors(config: ModelConfig, tensors: Mapping[str, Tensor]) -> Weights:
        """Assemble weights from tensors under Hugging Face Llama names.

        Raises: ValueError naming a tensor that is missing or has another shape than the config.
        """
        expected = dict(_expected_shapes(config))
        for name, shape in expected.items():
            if name not in tensors:
                raise ValueError(f"the weights lack the tensor {name}")
            if tuple(tensors[name].shape) != shape:
                found = tuple(tensors[name].shape)
                raise ValueError(f"the tensor {name} must have shape {shape}, it has {found}")
        layers = tuple(
            LayerWeights.from_parts(
                {n: tensors[f"model.layers.{i}.{hf}"] for n, hf in _HF_LAYER_NAMES.items()}
            )
            for i in range(config.n_layers)
        )
        embedding = tensors["model.embed_tokens.weight"]
        head = embedding if config.tied_embeddings else tensors["lm_head.weight"]
        return Weights(embedding, layers, tensors["model.norm.weight"], head)

    @staticmethod
    def random(
        config: ModelConfig,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> Weights:
        """Seeded random weights (deviation 1/sqrt(d_in), norms 1), for tests and benches."""
        generator = torch.Generator(device=device).manual_seed(seed)

        def make(shape: tuple[int, ...]) -> Tensor:
            if len(shape) == 1:
                return torch.ones(shape, dtype=dtype, device=device)
            empty = torch.empty(shape, dtype=dtype, device=device)
            return empty.normal_(0.0, shape[1] ** -0.5, generator=generator)

        shapes = _expected_shapes(config)
        return Weights.from_named_tensors(config, {name: make(shape) for name, shape in shapes})

    def to(self, dtype: torch.dtype, device: torch.device | str) -> Weights:
        """The same weights in another precision or on another device, laid out for serving.

        Column after column in memory, a matrix meets one row up to twice as fast; its shape
        stays (d_out, d_in).
        """
        moved = [
            LayerWeights.from_parts(
                {n: t.to(device, dtype) for n, t in layer.parts().items()}, by_columns=True
            )
            for layer in self.layers
        ]
        embedding = _by_columns(self.embedding.to(device, dtype))
        tied = self.lm_head is self.embedding
        head = embedding if tied else _by_columns(self.lm_head.to(device, dtype))
        return Weights(embedding, tuple(moved), self.final_norm.to(device, dtype), head)

    def matrix(self, name: str, layer: int | None = None) -> Tensor:
        """One matrix by its short name (q k v o gate up down, or lm_head), as (d_out, d_in).

        Raises: ValueError for an unknown name, or a layer that is missing or out of range.
        """
        if name == "lm_head":
            if layer is not None:
                raise ValueError(f"lm_head takes no layer, got {layer}")
            return self.lm_head
        names = ("q", "k", "v", "o", "gate", "up", "down")
        if name not in names:
            raise ValueError(f"matrix must be one of {', '.join(names)}, lm_head; got {name!r}")
        if layer is None or not 0 <= layer < len(self.layers):
            raise ValueError(f"layer must be 0 to {len(self.layers) - 1}, got {layer}")
        tensor: Tensor = getattr(self.layers[layer], name)
        return tensor

    @property
    def total_bytes(self) -> int:
        """Bytes of every stored tensor, a tied table once."""
        return sum(t.numel() * t.element_size() for _, t in self.named_tensors())


def _by_columns(matrix: Tensor) -> Tensor:
    return matrix.t().contiguous().t()


def _as_it_is(matrix: Tensor) -> Tensor:
    return matrix


def _expected_shapes(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    matrices = config.layer_matrices()
    yield "model.embed_tokens.weight", (config.vocab_size, config.d_model)
    for index in range(config.n_layers):
        for name, hf_name in _HF_LAYER_NAMES.items():
            shape = (
                (matrices[name][1], matrices[name][0]) if name in matrices else (config.d_model,)
            )
            yield f"model.layers.{index}.{hf_name}", shape
    yield "model.norm.weight", (config.d_model,)
    if not config.tied_embeddings:
        yield "lm_head.weight", (config.vocab_size, config.d_model)
