"""What one decode step of a model costs on an accelerator: the floor, what binds, what fits.

The floor is max(bytes read / bandwidth, FLOPs / peak): weights once, every sequence's own
cache, a constant state twice (read and written). Launch, all-reduce and queueing come on top.
Every result is a Formula: the string that is shown is the one that is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from core.cost import checks, kv, weights
from core.cost.dtypes import NumberFormat, number_format
from core.cost.energy import energy_per_token_formula
from core.cost.formula import Formula, Number
from core.cost.plan_memory import context_formula, crossing_context, fit_formula
from core.cost.spec import AcceleratorSpec, Bound, LayerKind, ModelSpec

Binding = Literal["weights", "kv", "arithmetic"]
MAX_DEVICES = 1024
_FLOATS = (
    "itl_floor_s", "tokens_per_s_per_request", "tokens_per_s_total", "energy_j_per_token",
    "cost_per_million_tokens",
)  # fmt: skip


@dataclass(frozen=True)
class PlanRequest:
    """What is asked. dtype None: weights as published, the cache at the model's own.

    n_devices: tensor-parallel degree, modelled as weights and FLOPs divided evenly and each
    cache divided over at most one K/V head per device; the all-reduces are not in the floor.
    price_per_hour is per device, in any currency.
    """

    model: ModelSpec
    context: int
    batch: int = 1
    accelerator: AcceleratorSpec | None = None
    n_devices: int = 1
    weight_dtype: str | NumberFormat | None = None
    kv_dtype: str | NumberFormat | None = None
    block_size: int = kv.DEFAULT_BLOCK_SIZE
    reserve_bytes: int = 0
    price_per_hour: float | None = None
    static_w: float | None = None

    def checked(self) -> PlanRequest:
        """Return the request with whole numbers as ints.

        Raises: ValueError with name, range and value
        """
        for dtype in (self.weight_dtype, self.kv_dtype):
            if dtype is not None:
                number_format(dtype)
        return replace(
            self,
            context=checks.context(self.context),
            batch=checks.batch(self.batch),
            n_devices=checks.whole("n_devices", self.n_devices, 1, MAX_DEVICES),
            block_size=checks.whole("block_size", self.block_size, 1, 10**6),
            reserve_bytes=checks.whole("reserve_bytes", self.reserve_bytes, 0, 10**15),
        )


@dataclass(frozen=True, eq=False, repr=False)
class PlanResult:
    """The answer; None where the model's widths or the accelerator are not known.

    memory_s and compute_s are the two sides of the floor; weights_s, kv_s, state_s add up to
    memory_s. max_batch and max_context: what fits, 0 where the weights alone do not.
    Crossings are contexts in tokens, None where they never come.
    """

    request: PlanRequest
    kv_bytes_per_token: int
    kv_bytes_total: int
    kv_bytes_allocated: int
    kv_bytes_read_per_step: int
    state_bytes_total: int | None
    weight_bytes_stored: int | None = None
    weight_bytes_read_per_step: int | None = None
    flops_per_step: int | None = None
    itl_floor_s: float | None = None
    tokens_per_s_per_request: float | None = None
    tokens_per_s_total: float | None = None
    bound: Bound | None = None
    binding: Binding | None = None
    memory_s: float | None = None
    compute_s: float | None = None
    weights_s: float | None = None
    kv_s: float | None = None
    state_s: float | None = None
    intensity: float | None = None
    max_batch: int | None = None
    max_context: int | None = None
    memory_needed_bytes: int | None = None
    fits: bool | None = None
    cache_equals_weights_context: float | None = None
    memory_full_context: float | None = None
    energy_j_per_token: float | None = None
    cost_per_million_tokens: float | None = None
    formulas: Mapping[str, Formula] = field(default_factory=dict, hash=False)
    notes: tuple[str, ...] = ()


def plan(request: PlanRequest) -> PlanResult:
    """Return the cost of one decode step, with a formula for every figure.

    Memory smaller than the weights is reported, not an error.

    Raises: ValueError for numbers out of range, with name, range and value

    >>> from core.cost.catalog import find_accelerator, find_model
    >>> result = plan(PlanRequest(find_model("Llama 3.1 8B"), 4096, 1,
    ...                           find_accelerator("H100 SXM 80GB")))
    >>> result.bound, round(result.itl_floor_s * 1e3, 3)
    ('memory', 4.641)
    """
    request = request.checked()
    builder = _Builder(request)
    builder.cache()
    if request.model.complete:
        builder.weights()
        if request.accelerator is not None:
            builder.times(request.accelerator)
    if request.accelerator is not None and request.model.complete:
        builder.memory(request.accelerator)
    return builder.result()


class _Builder:
    """Collects formulas and figures; each step uses what earlier ones found."""

    def __init__(self, request: PlanRequest) -> None:
        self.ask = request
        self.model = request.model
        self.formulas: dict[str, Formula] = {}
        self.values: dict[str, object] = {}
        self.notes = list(request.model.notes)

    def add(self, formula: Formula) -> Number:
        self.formulas[formula.name] = formula
        self.values[formula.name] = value = formula.value
        return value

    def cache(self) -> None:
        ask, dtype = self.ask, self.ask.kv_dtype
        self.add(kv.per_token_formula(self.model, dtype))
        self.add(kv.total_formula(self.model, ask.context, ask.batch, dtype))
        self.add(kv.allocated_formula(self.model, ask.context, ask.batch, dtype, ask.block_size))
        self.add(kv.read_formula(self.model, ask.context, ask.batch, dtype))
        if kv.has_unknown_state(self.model):
            self.values["state_bytes_total"] = None
            self.notes.append("The state layers also keep a constant state of unknown size.")
        else:
            self.add(kv.state_formula(self.model, ask.batch, dtype))
        self._cache_notes()

    def _cache_notes(self) -> None:
        chosen = number_format(self.ask.kv_dtype or kv.default_kv_dtype(self.model))
        if self.ask.kv_dtype is None:
            self.notes.append(
                f"The cache is counted at {chosen.name}; choose another with its dtype."
            )
        if self.values["state_bytes_total"]:
            self.notes.append(
                "State layers keep a constant state beside the cache (state_bytes_total); "
                "each step reads and writes it."
            )
        longest = self.model.max_context
        if longest is not None and self.ask.context > longest:
            self.notes.append(
                f"A context of {self.ask.context:,} tokens is beyond the model's {longest:,}."
            )

    def weights(self) -> None:
        ask = self.ask
        self.add(weights.stored_formula(self.model, ask.weight_dtype))
        self.add(weights.read_formula(self.model, ask.batch, ask.weight_dtype))
        self.add(flops_formula(self.model, ask.context, ask.batch))

    def times(self, accelerator: AcceleratorSpec) -> None:
        ask, n = self.ask, self.ask.n_devices
        read = kv.read_formula(self.model, ask.context, ask.batch, ask.kv_dtype, shards=n)
        kv_per_device = read.value
        state = self.values["state_bytes_total"]
        state_bytes = state if isinstance(state, int) else 0
        variables: dict[str, Number] = {
            "weight_bytes": self._number("weight_bytes_read_per_step"),
            "kv_bytes": kv_per_device,
            "bandwidth_bytes_per_s": accelerator.bandwidth_bytes_per_s,
            "flops": self._number("flops_per_step"),
            "flops_per_s": self._peak(accelerator),
        }
        parts = ["weight_bytes", "kv_bytes"] if n == 1 else ["weight_bytes / n_devices", "kv_bytes"]
        if state_bytes:
            variables["state_bytes"] = state_bytes
            parts.append("2 * state_bytes" if n == 1 else "2 * state_bytes / n_devices")
        work = "flops / flops_per_s" if n == 1 else "flops / n_devices / flops_per_s"
        if n > 1:
            variables["n_devices"] = n
            self._parallel_notes()
        expression = f"max(({' + '.join(parts)}) / bandwidth_bytes_per_s, {work})"
        floor = self.add(Formula("itl_floor_s", expression, variables, "s"))
        self._sides(variables, state_bytes / n)
        self._rates(float(floor), accelerator)

    def _parallel_notes(self) -> None:
        n = self.ask.n_devices
        self.notes.append(f"{n} devices: time of the all-reduces between them is not included.")
        heads = {k.n_kv_heads for k in self.model.layers if k.kind in ("full", "window")}
        if any(n % k and k % n for k in heads):
            self.notes.append(
                f"{n} devices do not divide the K/V heads evenly; an even split is used."
            )
        if any(kv.shards_of(layer, n) < n for layer in self.model.layers if layer.caches):
            self.notes.append(
                "Devices beyond the K/V heads each hold a copy of the cache they need."
            )

    def _sides(self, given: Mapping[str, Number], state_bytes: float) -> None:
        """Split the floor into its two sides, and memory into weights, cache and state."""
        n, bandwidth = self.ask.n_devices, given["bandwidth_bytes_per_s"]
        weights_s = given["weight_bytes"] / n / bandwidth
        kv_s, state_s = given["kv_bytes"] / bandwidth, 2 * state_bytes / bandwidth
        memory_s, compute_s = weights_s + kv_s + state_s, given["flops"] / n / given["flops_per_s"]
        binding: Binding = "weights" if weights_s >= kv_s + state_s else "kv"
        moved = memory_s * bandwidth * n
        self.values |= {
            "weights_s": weights_s,
            "kv_s": kv_s,
            "state_s": state_s,
            "memory_s": memory_s,
            "compute_s": compute_s,
            "bound": "compute" if compute_s > memory_s else "memory",
            "binding": "arithmetic" if compute_s > memory_s else binding,
            "intensity": given["flops"] / moved,
        }

    def _rates(self, floor: float, accelerator: AcceleratorSpec) -> None:
        ask = self.ask
        given: dict[str, Number] = {"itl_floor_s": floor}
        self.add(Formula("tokens_per_s_per_request", "1 / itl_floor_s", given, "tokens/s"))
        given = {"batch": ask.batch, "itl_floor_s": floor}
        total = self.add(Formula("tokens_per_s_total", "batch / itl_floor_s", given, "tokens/s"))
        memory_s = self.values["memory_s"]
        assert isinstance(memory_s, float)
        moved = memory_s * accelerator.bandwidth_bytes_per_s * ask.n_devices
        energy = energy_per_token_formula(
            moved, self._number("flops_per_step"), floor, ask.batch, accelerator,
            ask.n_devices, ask.static_w,
        )  # fmt: skip
        if energy is not None:
            self.add(energy)
        if ask.price_per_hour is not None:
            price = checks.positive("price_per_hour", ask.price_per_hour, 1e9)
            given = {"price_per_hour": price, "n_devices": ask.n_devices}
            given |= {"tokens_per_s_total": total}
            cost = "price_per_hour * n_devices / (tokens_per_s_total * 3600) * 1000000"
            self.add(Formula("cost_per_million_tokens", cost, given, "price units"))

    def _peak(self, accelerator: AcceleratorSpec) -> float:
        """The dense rate: FP8 for FP8 weights where given, else 16 bit, also for int8 and int4."""
        fmt = number_format(self.ask.weight_dtype or self.model.native_format("mlp"))
        if fmt.name == "fp8" and accelerator.fp8_flops_per_s is not None:
            return accelerator.fp8_flops_per_s
        if fmt.is_quantised:
            self.notes.append("Arithmetic is counted at the dense 16-bit rate.")
        if fmt.value_bits == 32:
            self.notes.append("Arithmetic is counted at the dense 16-bit rate; float32 is slower.")
        return accelerator.flops_per_s

    def memory(self, accelerator: AcceleratorSpec) -> None:
        ask = self.ask
        if accelerator.memory_bytes is None:
            self.notes.append("The memory size is not known, so what fits is not given.")
            return
        budget = accelerator.memory_bytes * ask.n_devices
        stored = self._number("weight_bytes_stored")
        state = self.values["state_bytes_total"]
        state_each = state // ask.batch if isinstance(state, int) else 0
        self.add(fit_formula(self.model, budget, stored, state_each, ask.context, ask.kv_dtype,
                             ask.block_size, ask.reserve_bytes, ask.n_devices))  # fmt: skip
        self.add(context_formula(self.model, budget, stored, state_each, ask.batch, ask.kv_dtype,
                                 ask.block_size, ask.reserve_bytes, ask.n_devices))  # fmt: skip
        taken = stored + ask.reserve_bytes + state_each * ask.batch
        needed = int(taken + self._number("kv_bytes_allocated"))
        full = crossing_context(self.model, budget - taken, ask.batch, ask.kv_dtype)
        equal = crossing_context(self.model, stored, ask.batch, ask.kv_dtype)
        self.values |= {
            "memory_needed_bytes": needed,
            "fits": needed <= budget,
            "memory_full_context": full,
            "cache_equals_weights_context": equal,
        }
        if stored + ask.reserve_bytes > budget:
            self.notes.append(
                f"The weights ({stored:,} B) and the reserve ({ask.reserve_bytes:,} B) do not fit "
                f"into the memory of {budget:,} B; the times assume that they did."
            )

    def _number(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int)
        return value

    def result(self) -> PlanResult:
        if self.model.complete and "cache_equals_weights_context" not in self.values:
            stored = self._number("weight_bytes_stored")
            crossing = crossing_context(self.model, stored, self.ask.batch, self.ask.kv_dtype)
            self.values["cache_equals_weights_context"] = crossing
        for name in _FLOATS:
            if name in self.values:
                self.values[name] = float(self.values[name])  # type: ignore[arg-type]
        return PlanResult(
            request=self.ask,
            formulas=self.formulas,
            notes=tuple(dict.fromkeys(self.notes)),
            **self.values,  # type: ignore[arg-type]
        )


def flops_formula(model: ModelSpec, context: int, batch: int = 1) -> Formula:
    """Return 2 B (weights multiplied + attention), attention by query heads at S = context.

    Attention of one layer: H (d_k + d_v) multiply-adds per attended token; a latent counts as
    H (latent + its value part), the absorbed form.
    """
    per_token = sum(matrix.used * matrix.d_in * matrix.d_out for matrix in model.outer_matrices)
    kinds: dict[tuple[int, int, int, int | None], int] = {}
    for layer, count in model.groups().items():
        per_token += count * sum(m.used * m.d_in * m.d_out for m in layer.matrices)
        if layer.caches:
            key = (layer.n_heads, *_dot_widths(layer), layer.window)
            kinds[key] = kinds.get(key, 0) + count
    variables: dict[str, Number] = {
        "batch": checks.batch(batch),
        "params_multiplied": per_token,
        "context": checks.context(context),
    }
    terms = ["params_multiplied"]
    for index, ((heads, k_dim, v_dim, window), count) in enumerate(kinds.items()):
        s = f"_{index}" if len(kinds) > 1 else ""
        variables |= {f"n_layers{s}": count, f"n_heads{s}": heads}
        variables |= {f"key_dim{s}": k_dim, f"value_dim{s}": v_dim}
        tokens = "context"
        if window is not None:
            variables[f"window{s}"], tokens = window, f"min(context, window{s})"
        terms.append(f"n_layers{s} * n_heads{s} * (key_dim{s} + value_dim{s}) * {tokens}")
    return Formula("flops_per_step", f"2 * batch * ({' + '.join(terms)})", variables, "FLOP")


def _dot_widths(layer: LayerKind) -> tuple[int, int]:
    if layer.kind == "mla":
        return layer.latent_dim, layer.latent_value_dim
    return layer.head_dim, layer.value_dim
