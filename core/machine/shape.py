"""The shape of any published config as one that our transformer can step, or why it cannot."""

from __future__ import annotations

from core.config import ModelConfig
from core.cost.spec import LayerKind, ModelSpec
from core.machine.heavy import MAX_SEQ_LEN

MATRICES = ("q", "k", "v", "o", "gate", "up", "down")


def shape_of(model: ModelSpec) -> ModelConfig:
    """The model's widths and depth with our kind of layer; only its speed is like the model's.

    Raises: ValueError if a layer is of a kind our transformer has not (experts, latent
        attention, states, an MLP without a gate), or the layers differ in width.
    """
    if not model.complete or model.d_model is None or model.vocab_size is None:
        raise ValueError(f"{model.name}: its widths are not all known")
    shapes = {_layer_shape(model.name, layer) for layer in model.layers}
    if len(shapes) != 1:
        raise ValueError(f"{model.name}: its layers differ in width, ours are all alike")
    n_heads, n_kv_heads, head_dim, d_ff = shapes.pop()
    return ModelConfig(
        n_layers=model.n_layers,
        d_model=model.d_model,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        head_dim=head_dim,
        d_ff=d_ff,
        vocab_size=model.vocab_size,
        max_seq_len=min(model.max_context or MAX_SEQ_LEN, MAX_SEQ_LEN),
        tied_embeddings=model.tied_embeddings,
    )


def _layer_shape(name: str, layer: LayerKind) -> tuple[int, int, int, int]:
    matrices = {matrix.name: matrix for matrix in layer.matrices}
    plain = layer.kind in ("full", "window") and layer.value_dim == layer.head_dim
    single = all(matrix.copies == 1 for matrix in layer.matrices)
    if not plain or not single or set(matrices) != set(MATRICES) or layer.state_numbers != 0:
        raise ValueError(
            f"{name}: only layers with q, k, v, o, gate, up and down can be benched, "
            f"not a {layer.kind} layer with {', '.join(matrices) or 'none'}"
        )
    return layer.n_heads, layer.n_kv_heads, layer.head_dim, matrices["down"].d_in
