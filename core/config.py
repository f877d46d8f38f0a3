"""The architecture record that every room of the core shares; no torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ModelConfig:
    """The shape of one Llama-style decoder: RMSNorm, rotary positions, grouped heads, SwiGLU.

    Raises: ValueError if a size is not positive, ``n_heads`` is not a multiple of
    ``n_kv_heads``, or ``head_dim`` is odd (rotary positions turn pairs).

    >>> STORYTELLER.n_params, DRAFT.n_params
    (869504, 158016)
    """

    n_layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    vocab_size: int
    max_seq_len: int
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-5
    tied_embeddings: bool = True
    bos_id: int = 0
    end_id: int = 1

    def __post_init__(self) -> None:
        for name in (
            "n_layers",
            "d_model",
            "n_heads",
            "n_kv_heads",
            "head_dim",
            "d_ff",
            "vocab_size",
            "max_seq_len",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.n_heads % self.n_kv_heads:
            raise ValueError(
                f"n_heads must be a multiple of n_kv_heads ({self.n_kv_heads}), got {self.n_heads}"
            )
        if self.head_dim % 2:
            raise ValueError(f"head_dim must be even, got {self.head_dim}")

    @property
    def group_size(self) -> int:
        """Query heads that share one key/value head, H / K."""
        return self.n_heads // self.n_kv_heads

    @property
    def q_width(self) -> int:
        """Width of all queries of one token, H * d."""
        return self.n_heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Width of all keys (or all values) of one token, K * d."""
        return self.n_kv_heads * self.head_dim

    def layer_matrices(self) -> dict[str, tuple[int, int]]:
        """Matrices of one layer as name -> (d_in, d_out), in the order of use."""
        return {
            "q": (self.d_model, self.q_width),
            "k": (self.d_model, self.kv_width),
            "v": (self.d_model, self.kv_width),
            "o": (self.q_width, self.d_model),
            "gate": (self.d_model, self.d_ff),
            "up": (self.d_model, self.d_ff),
            "down": (self.d_ff, self.d_model),
        }

    def matrices(self) -> dict[str, tuple[int, int]]:
        """The layer matrices and the output head ``lm_head``, as name -> (d_in, d_out)."""
        return {**self.layer_matrices(), "lm_head": (self.d_model, self.vocab_size)}

    @property
    def n_params(self) -> int:
        """Parameters: embedding, L layers of matrices and two norms, final norm, untied head."""
        per_layer = sum(i * o for i, o in self.layer_matrices().values()) + 2 * self.d_model
        table = self.vocab_size * self.d_model
        tables = table if self.tied_embeddings else 2 * table
        return tables + self.n_layers * per_layer + self.d_model

    def to_hf(self) -> dict[str, Any]:
        """The same shape as a Hugging Face ``LlamaForCausalLM`` config."""
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "num_hidden_layers": self.n_layers,
            "hidden_size": self.d_model,
            "num_attention_heads": self.n_heads,
            "num_key_value_heads": self.n_kv_heads,
            "head_dim": self.head_dim,
            "intermediate_size": self.d_ff,
            "vocab_size": self.vocab_size,
            "max_position_embeddings": self.max_seq_len,
            "rope_parameters": {"rope_type": "default", "rope_theta": self.rope_theta},
            "rms_norm_eps": self.norm_eps,
            "tie_word_embeddings": self.tied_embeddings,
            "bos_token_id": self.bos_id,
            "eos_token_id": self.end_id,
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            "dtype": "float16",
        }

    @staticmethod
    def from_hf(config: Mapping[str, Any]) -> ModelConfig:
        """Read the Llama layout written by :meth:`to_hf`.

        Raises: ValueError naming a missing field, or a model type other than llama.

        >>> ModelConfig.from_hf(STORYTELLER.to_hf()) == STORYTELLER
        True
        """
        if config.get("model_type") != "llama":
            raise ValueError(f"model_type must be 'llama', got {config.get('model_type')!r}")
        try:
            return ModelConfig(
                n_layers=config["num_hidden_layers"],
                d_model=config["hidden_size"],
                n_heads=config["num_attention_heads"],
                n_kv_heads=config["num_key_value_heads"],
                head_dim=config["head_dim"],
                d_ff=config["intermediate_size"],
                vocab_size=config["vocab_size"],
                max_seq_len=config["max_position_embeddings"],
                rope_theta=float(config["rope_parameters"]["rope_theta"]),
                norm_eps=config["rms_norm_eps"],
                tied_embeddings=config["tie_word_embeddings"],
                bos_id=config["bos_token_id"],
                end_id=config["eos_token_id"],
            )
        except KeyError as missing:
            raise ValueError(f"the config lacks the field {missing}") from missing


STORYTELLER = ModelConfig(
    n_layers=4,
    d_model=128,
    n_heads=4,
    n_kv_heads=2,
    head_dim=32,
    d_ff=352,
    vocab_size=1024,
    max_seq_len=256,
)
"""The model that ships: it tells the stories of every page."""

DRAFT = ModelConfig(
    n_layers=2,
    d_model=64,
    n_heads=2,
    n_kv_heads=1,
    head_dim=32,
    d_ff=176,
    vocab_size=1024,
    max_seq_len=256,
)
"""Its small sibling with the same tokenizer, for speculative decoding."""
