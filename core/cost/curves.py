"""One quantity over context or batch, all else fixed: the same formulas, evaluated again.

A curve is a formula of the planner or of the cache with one variable replaced, so a point of a
curve and the figure beside it cannot differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.cost import checks, kv
from core.cost.dtypes import NumberFormat
from core.cost.fast_formula import compiled
from core.cost.formula import Formula, Number
from core.cost.planner import PlanResult
from core.cost.spec import ModelSpec

Axis = Literal["context", "batch"]
POINTS_PER_OCTAVE = 2


@dataclass(frozen=True)
class GrowthCurve:
    """Cache bytes of B sequences over context: held, allocated without rolling buffers, read."""

    contexts: tuple[int, ...]
    held_bytes: tuple[int, ...]
    allocated_bytes: tuple[int, ...]
    read_bytes: tuple[int, ...]


@dataclass(frozen=True)
class FloorCurve:
    """The floor of a step and its parts over one axis; ``kv_s`` includes a constant state.

    Units: seconds, and tokens per second for one request and for all of them
    """

    axis: Axis
    places: tuple[int, ...]
    itl_floor_s: tuple[float, ...]
    weights_s: tuple[float, ...]
    kv_s: tuple[float, ...]
    compute_s: tuple[float, ...]
    tokens_per_s_per_request: tuple[float, ...]
    tokens_per_s_total: tuple[float, ...]
    intensity: tuple[float, ...]


def octaves(
    low: int, high: int, also: Sequence[int] = (), per_octave: int = POINTS_PER_OCTAVE
) -> tuple[int, ...]:
    """Return whole numbers spread evenly over a logarithmic axis, both ends and ``also`` included.

    >>> octaves(1, 16)
    (1, 2, 3, 4, 6, 8, 11, 16)
    """
    places, exponent = {low, high, *(n for n in also if low <= n <= high)}, 0
    while (place := round(low * 2 ** (exponent / per_octave))) <= high:
        places.add(place)
        exponent += 1
    return tuple(sorted(places))


def windows(model: ModelSpec) -> tuple[int, ...]:
    """Return the contexts at which some layers stop growing, smallest first."""
    return tuple(sorted({layer.window for layer in model.layers if layer.window is not None}))


def growth_curve(
    model: ModelSpec,
    contexts: Sequence[int],
    batch: int = 1,
    dtype: str | NumberFormat | None = None,
    block_size: int = kv.DEFAULT_BLOCK_SIZE,
) -> GrowthCurve:
    """Return the cache bytes at every context.

    Raises: ValueError for a context, batch or block size out of range

    >>> from core.cost.catalog import find_model
    >>> growth_curve(find_model("Mistral 7B v0.1"), (4096, 8192)).held_bytes
    (536870912, 536870912)
    """
    places = tuple(checks.context(context) for context in contexts)
    formulas = (
        kv.total_formula(model, 1, batch, dtype),
        kv.allocated_formula(model, 1, batch, dtype, block_size),
        kv.read_formula(model, 1, batch, dtype),
    )
    held, allocated, read = (
        tuple(int(at(context=place)) for place in places) for at in map(_Varied, formulas)
    )
    return GrowthCurve(places, held, allocated, read)


def floor_curve(result: PlanResult, axis: Axis, places: Sequence[int]) -> FloorCurve:
    """Return the floor of ``result`` with only its context or its batch changed.

    Raises: ValueError if the result has no floor, or for a place out of range
    """
    if "itl_floor_s" not in result.formulas:
        raise ValueError("the floor needs a model with known widths and an accelerator")
    check = checks.context if axis == "context" else checks.batch
    whole = tuple(check(place) for place in places)
    floor = _Floor(result)
    points = [floor.at(**{axis: place}) for place in whole]
    columns = list(zip(*points, strict=True))
    return FloorCurve(axis, whole, *columns)


def cache_room_formula(result: PlanResult) -> Formula | None:
    """Return what memory leaves for caches after weights, reserve and constant states.

    Negative where the weights do not fit; None where the memory is not known.

    >>> from core.cost.catalog import find_accelerator, find_model
    >>> from core.cost.planner import PlanRequest, plan
    >>> ask = PlanRequest(find_model("Llama 3.1 8B"), 1, 1, find_accelerator("H100 SXM 80GB"))
    >>> cache_room_formula(plan(ask)).text
    '80000000000 - 0 - 16060522496 = 63939477504'
    """
    longest = result.formulas.get("max_context")
    if longest is None:
        return None
    names = ["memory_bytes", "reserve_bytes", "weight_bytes"]
    names += [name for name in ("state_bytes",) if name in longest.variables]
    given = {name: longest.variables[name] for name in names}
    return Formula("cache_room_bytes", " - ".join(names), given, "bytes")


def arithmetic_batch(result: PlanResult, most: int = checks.MAX_BATCH) -> int | None:
    """Return the smallest batch at which arithmetic sets the floor, None up to ``most``.

    Each further request adds cache reads as well as FLOPs, so this may never happen.
    """

    floor = _Floor(result)

    def binds(batch: int) -> bool:
        _, weights_s, kv_s, compute_s, *_ = floor.at(batch=batch)
        return compute_s > weights_s + kv_s

    if not binds(most):
        return None
    low, high = 0, most  # arithmetic does not bind at low, or low is 0; it does at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if binds(middle) else (middle, high)
    return high


class _Varied:
    """A formula with some of its variables changed, if it has them."""

    def __init__(self, formula: Formula) -> None:
        self._variables = dict(formula.variables)
        self._function = compiled(formula.expression, self._variables)

    def __call__(self, **changed: Number) -> Number:
        known = {name: value for name, value in changed.items() if name in self._variables}
        return self._function({**self._variables, **known})


class _Floor:
    """The floor of a plan's step with its context or its batch changed."""

    def __init__(self, result: PlanResult) -> None:
        ask, formulas = result.request, result.formulas
        self._ask = ask
        self._given = dict(formulas["itl_floor_s"].variables)
        self._floor = _Varied(formulas["itl_floor_s"])
        self._weights = _Varied(formulas["weight_bytes_read_per_step"])
        self._flops = _Varied(formulas["flops_per_step"])
        state = formulas["state_bytes_total"] if "state_bytes" in self._given else None
        self._state = None if state is None else _Varied(state)
        self._kv = _Varied(
            kv.read_formula(ask.model, ask.context, ask.batch, ask.kv_dtype, ask.n_devices)
        )

    def at(self, context: int | None = None, batch: int | None = None) -> tuple[float, ...]:
        """Floor, weights, cache with state, arithmetic, both rates and intensity at one place."""
        batch = self._ask.batch if batch is None else batch
        place = {"batch": batch, "context": self._ask.context if context is None else context}
        n, bandwidth = self._ask.n_devices, self._given["bandwidth_bytes_per_s"]
        weight_bytes, flops = self._weights(**place), self._flops(**place)
        state = 0 if self._state is None else self._state(**place)
        kv_bytes = self._kv(**place)
        floor = float(
            self._floor(
                weight_bytes=weight_bytes, kv_bytes=kv_bytes, flops=flops, state_bytes=state
            )
        )
        weights_s = weight_bytes / n / bandwidth
        kv_s = (kv_bytes + 2 * state / n) / bandwidth
        compute_s = flops / n / self._given["flops_per_s"]
        moved = (weights_s + kv_s) * bandwidth * n
        return floor, weights_s, kv_s, compute_s, 1 / floor, batch / floor, flops / moved
