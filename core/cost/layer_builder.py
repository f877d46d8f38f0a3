"""Builds the LayerKind records of a model from its fields, its family and its layer plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.cost.config_fields import Fields, short, whole_number
from core.cost.config_text import ConfigError
from core.cost.layer_plan import Slot
from core.cost.layouts import (
    Heads,
    Layout,
    attention_matrices,
    attention_vectors,
    expert_matrices,
    mla_matrices,
    mlp_matrices,
)
from core.cost.spec import Kind, LayerKind, Matrix
from core.cost.state_layers import state_layer


class LayerBuilder:
    """Turns slots into layers; equal slots give equal records, so they can be grouped."""

    def __init__(self, fields: Fields, layout: Layout, model_type: str) -> None:
        self.fields = fields
        self.layout = self._falcon(layout) if model_type == "falcon" else layout
        self.model_type = model_type
        self.notes: list[str] = []
        self.is_mla = fields.config.get("kv_lora_rank") is not None

    def _falcon(self, layout: Layout) -> Layout:
        """Falcon has one norm, or two where attention and MLP have one each."""
        fields = self.fields
        bias = fields.flag("bias")
        two = fields.flag("new_decoder_architecture") or not fields.flag("parallel_attn", True)
        if fields.count("num_ln_in_parallel_attn") == 1:
            two = False
        return replace(
            layout, norms=2 if two else 1, qkv_bias=bias, o_bias=bias, mlp_bias=bias
        )  # fmt: skip

    def layers(self, slots: Sequence[Slot], with_weights: bool) -> tuple[LayerKind, ...]:
        """Return one record per slot; equal slots share one record."""
        groups = self._heads_per_layer(len(slots))
        n_shared = self.fields.count("num_kv_shared_layers", 0) or 0
        if n_shared >= len(slots):
            raise ConfigError(
                f"num_kv_shared_layers = {n_shared} contradicts a layer count of {len(slots)}"
            )
        shared_from = len(slots) - n_shared
        made: dict[tuple[Slot, int | None, bool], LayerKind] = {}
        result = []
        for index, slot in enumerate(slots):
            n_kv_heads = groups[index] if groups is not None else None
            key = (slot, n_kv_heads, index >= shared_from)
            if key not in made:
                made[key] = self._layer(*key, with_weights)
            result.append(made[key])
        return tuple(result)

    def missing_widths(self, slots: Sequence[Slot]) -> list[str]:
        """Return the names of fields without which the matrices cannot be sized."""
        missing = []
        if any(slot.mlp == "dense" for slot in slots) and self._d_ff() is None:
            missing.append("intermediate_size")
        if any(slot.mlp == "moe" for slot in slots):
            d_model = self.fields.count("d_model") or 1
            if expert_matrices(self.layout, self.fields, d_model) is None:
                missing.append("num_experts_per_tok or moe_intermediate_size")
        if any(slot.mixer in ("state", "both") for slot in slots) and self._state() is None:
            missing.append("the sizes of the state layers")
        if self.fields.config.get("block_configs") is not None:
            missing.append("intermediate_size per block")
        return missing

    def _layer(
        self, slot: Slot, n_kv_heads: int | None, shared: bool, with_weights: bool
    ) -> LayerKind:
        matrices: list[Matrix] = []
        d_model = self.fields.count("d_model") or 0
        vectors = self.layout.norms * self.layout.norm_vectors * d_model
        state: int | None = 0
        kind: Kind = "none" if n_kv_heads == 0 else _kind(slot)
        heads = Heads(0, 0, 0, 0)
        if kind in ("full", "window"):
            heads = self._heads(slot, n_kv_heads)
        if slot.mixer in ("state", "both"):
            layer = self._state()
            state = None if layer is None else layer[2]
            matrices += layer[0] if layer else ()
            vectors += layer[1] if layer else 0
        attention: tuple[Matrix, ...] = ()
        if kind == "full" and self.is_mla:
            kind = "mla"
        if kind == "mla" and with_weights:
            attention, norm_params = mla_matrices(self.fields, heads.n_heads, d_model)
            vectors += norm_params
        elif kind in ("full", "window") and with_weights:
            attention = attention_matrices(self.layout, heads, d_model)
            vectors += attention_vectors(self.layout, heads)
        matrices = [*attention, *matrices, *(self._mlp(slot, d_model) if with_weights else ())]
        latent = self.fields.need("kv_lora_rank", "qk_rope_head_dim") if kind == "mla" else [0, 0]
        return LayerKind(
            kind=kind,
            n_heads=heads.n_heads,
            n_kv_heads=heads.n_kv_heads,
            head_dim=heads.head_dim,
            value_dim=heads.value_dim,
            window=slot.window if kind == "window" else None,
            latent_dim=sum(latent),
            latent_value_dim=latent[0],
            state_numbers=state,
            shares_cache=shared and kind in ("full", "window"),
            matrices=tuple(matrices) if with_weights else (),
            vector_params=vectors if with_weights else 0,
        )

    def _heads(self, slot: Slot, n_kv_heads: int | None) -> Heads:
        """Return the heads of an attention layer, with the values that windowed layers override."""
        (n_heads,) = self.fields.need("n_heads")
        if self.is_mla and slot.mixer == "full":
            return Heads(n_heads, n_heads, 0, 0)
        fields = self.fields
        if n_kv_heads is None:
            n_kv_heads = self._n_kv_heads(n_heads)
        head_dim = self._head_dim(n_heads)
        value_dim = fields.count_of("v_head_dim") or head_dim
        if slot.mixer == "window":
            n_kv_heads = fields.count_of("swa_num_key_value_heads") or n_kv_heads
            head_dim = fields.count_of("swa_head_dim") or head_dim
            value_dim = fields.count_of("swa_v_head_dim") or value_dim
        elif fields.count_of("global_head_dim"):
            head_dim = value_dim = fields.count_of("global_head_dim") or head_dim
            if fields.flag("attention_k_eq_v"):
                n_kv_heads = fields.count_of("num_global_key_value_heads") or n_kv_heads
        if n_heads % n_kv_heads:
            raise ConfigError(
                f"contradictory fields: num_attention_heads = {n_heads} is not a multiple of "
                f"num_key_value_heads = {n_kv_heads}"
            )
        return Heads(n_heads, n_kv_heads, head_dim, value_dim)

    def _n_kv_heads(self, n_heads: int) -> int:
        """Return the K/V heads; null or absent means one per query head, unless multi-query."""
        fields = self.fields
        attention = fields.block("attn_config")
        if attention is not None:
            inner = Fields(attention, {}, "attn_config")
            if attention.get("attn_type") == "multiquery_attention":
                return 1
            kv = inner.count_of("kv_n_heads")
            if kv is not None:
                return kv
        if fields.flag("multi_query") and not fields.flag("new_decoder_architecture"):
            return 1
        if fields.flag("multi_query_attention"):
            groups = fields.count_of("multi_query_group_num")
            if groups is None:
                raise ConfigError(
                    "multi_query_attention is true but multi_query_group_num is missing"
                )
            return groups
        return fields.count("n_kv_heads") or n_heads

    def _head_dim(self, n_heads: int) -> int:
        """Return head_dim where it is a positive number, else hidden_size / heads."""
        fields = self.fields
        for key in ("head_dim", "attention_head_dim", "kv_channels", "head_size"):
            value = fields.raw(key)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ConfigError(f"{key} must be a number, got {short(value)}")
            if value > 0:
                return whole_number(key, value, 1, 1_000_000)
        d_model = fields.count("d_model")
        if d_model is None:
            raise ConfigError(
                "head_dim and hidden_size are missing; one of them gives the head size"
            )
        if d_model % n_heads:
            raise ConfigError(
                f"contradictory fields: hidden_size = {d_model} is not a multiple of "
                f"num_attention_heads = {n_heads}, and head_dim is missing"
            )
        return d_model // n_heads

    def _heads_per_layer(self, n_layers: int) -> list[int] | None:
        """Return K/V heads per layer where a file lists blocks one by one (0: no attention)."""
        blocks = self.fields.listed("block_configs", n_layers)
        if blocks is None:
            return None
        (n_heads,) = self.fields.need("n_heads")
        result = []
        for block in blocks:
            attention = block.get("attention") if isinstance(block, dict) else None
            if not isinstance(attention, dict):
                raise ConfigError("block_configs must list objects with an attention entry")
            if attention.get("no_op") or attention.get("replace_with_linear"):
                result.append(0)
                continue
            group = whole_number("n_heads_in_group", attention.get("n_heads_in_group"), 1, n_heads)
            result.append(n_heads // group)
        return result

    def _mlp(self, slot: Slot, d_model: int) -> tuple[Matrix, ...]:
        if slot.mlp == "moe":
            return expert_matrices(self.layout, self.fields, d_model) or ()
        if slot.mlp == "dense":
            return mlp_matrices(self.layout, d_model, self._d_ff() or 0)
        return ()

    def _d_ff(self) -> int | None:
        """Return the MLP width; the older families leave it out and mean four times the width."""
        explicit = self.fields.count("d_ff")
        if explicit is not None:
            return explicit
        d_model = self.fields.count("d_model")
        if d_model is None:
            return None
        if self.model_type in ("gpt2", "gptj", "gpt_neo", "bloom", "falcon"):
            return 4 * d_model
        if self.model_type == "mpt":
            return (self.fields.count_of("expansion_ratio") or 4) * d_model
        return None

    def _state(self) -> tuple[tuple[Matrix, ...], int, int] | None:
        d_model = self.fields.count("d_model")
        return None if d_model is None else state_layer(self.fields, self.model_type, d_model)


def _kind(slot: Slot) -> Kind:
    return "full" if slot.mixer == "both" else slot.mixer
