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
from core.cost.formula import Formula, Number, evaluate
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
    held = kv.total_formula(model, 1, batch, dtype)
    allocated = kv.allocated_formula(model, 1, batch, dtype, block_size)
    read = kv.read_formula(model, 1, batch, dtype)
    return GrowthCurve(
        places,
        tuple(_whole(held, context=place) for place in places),
        tuple(_whole(allocated, context=place) for place in places),
        tuple(_whole(read, context=place) for place in places),
    )


def floor_curve(result: PlanResult, axis: Axis, places: Sequence[int]) -> FloorCurve:
    """Return the floor of ``result`` with only its context or its batch changed.

    Raises: ValueError if the result has no floor, or for a place out of range
    """
    if "itl_floor_s" not in result.formulas:
        raise ValueError("the floor needs a model with known widths and an accelerator")
    check = checks.context if axis == "context" else checks.batch
    whole = tuple(check(place) for place in places)
    points = [_floor_at(result, {axis: place}) for place in whole]
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

    def binds(batch: int) -> bool:
        point = floor_curve(result, "batch", (batch,))
        return point.compute_s[0] > point.weights_s[0] + point.kv_s[0]

    if not binds(most):
        return None
    low, high = 0, most  # arithmetic does not bind at low, or low is 0; it does at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if binds(middle) else (middle, high)
    return high


def _floor_at(result: PlanResult, place: dict[str, int]) -> tuple[float, ...]:
    """Floor, weights, cache with state, arithmetic, rates and intensity at one place."""
    ask, formulas = result.request, result.formulas
    batch = place.get("batch", ask.batch)
    context = place.get("context", ask.context)
    n = ask.n_devices
    numbers = dict(formulas["itl_floor_s"].variables)
    sharded = kv.read_formula(ask.model, context, batch, ask.kv_dtype, shards=n)
    numbers |= {
        "weight_bytes": _at(formulas["weight_bytes_read_per_step"], batch=batch),
        "kv_bytes": sharded.value,
        "flops": _at(formulas["flops_per_step"], batch=batch, context=context),
    }
    if "state_bytes" in numbers:
        numbers["state_bytes"] = _at(formulas["state_bytes_total"], batch=batch)
    floor = float(evaluate(formulas["itl_floor_s"].expression, numbers))
    bandwidth = numbers["bandwidth_bytes_per_s"]
    weights_s = numbers["weight_bytes"] / n / bandwidth
    kv_s = (numbers["kv_bytes"] + 2 * numbers.get("state_bytes", 0) / n) / bandwidth
    compute_s = numbers["flops"] / n / numbers["flops_per_s"]
    moved = (weights_s + kv_s) * bandwidth * n
    return floor, weights_s, kv_s, compute_s, 1 / floor, batch / floor, numbers["flops"] / moved


def _at(formula: Formula, **changed: int) -> Number:
    known = {name: value for name, value in changed.items() if name in formula.variables}
    return evaluate(formula.expression, {**formula.variables, **known})


def _whole(formula: Formula, **changed: int) -> int:
    return int(_at(formula, **changed))
