"""The fastest correct way to multiply one row by a matrix, found by trying at start-up.

On a CPU the same product can be called in several ways that differ by a factor of two to
three, and which wins differs by processor: in bfloat16 the oneDNN library's matrix-vector
product is far ahead on one and far behind plain loops on another. So the bench compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from core.decode.latency import percentile
from core.machine.timing import DeviceClock, calls_for
from core.model.layers import Product, linear

TOLERANCES = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 2e-2}
"""Largest error, over the largest exact value, of a correct product: rounding and its sum."""

N_ROUNDS = 5
SPAN_S = 0.03
"""Least length of one timing, so that a small model's is longer than what disturbs it."""
MIN_GAIN = 1.1
"""More threads must be this much faster, or fewer are kept for the rest of the machine."""


def matrix_vector(x: Tensor, weight: Tensor, min_rows: int = 0) -> Tensor:
    """The product of a single row as a matrix-vector product; more rows go to ``linear``.

    Shapes: x (..., d_in), weight (d_out, d_in) -> (..., d_out)
    """
    if min_rows or x.numel() != x.shape[-1]:
        return linear(x, weight, min_rows)
    return torch.mv(weight, x.reshape(-1)).view(*x.shape[:-1], weight.shape[0])


def columns(x: Tensor, weight: Tensor, min_rows: int = 0) -> Tensor:
    """The product with the rows as columns on the right, W x^T, turned back.

    Shapes: x (..., d_in), weight (d_out, d_in) -> (..., d_out)
    """
    if min_rows:
        return linear(x, weight, min_rows)
    turned = weight @ x.reshape(-1, x.shape[-1]).T
    return turned.T.reshape(*x.shape[:-1], weight.shape[0])


PRODUCTS: dict[str, Product] = {
    "linear": linear,
    "matrix-vector": matrix_vector,
    "columns": columns,
}


@dataclass(frozen=True)
class ProductChoice:
    """A call by name, whether the CPU library oneDNN may serve it, and how weights lie.

    ``by_columns``: a matrix (d_out, d_in) lies in memory column after column.
    """

    name: str
    onednn: bool = True
    by_columns: bool = False

    @property
    def product(self) -> Product:
        """The function that the transformer is given."""
        return PRODUCTS[self.name]

    @property
    def label(self) -> str:
        """The choice in words."""
        switch = "" if self.onednn else ", oneDNN off"
        return self.name + switch + (", weights by columns" if self.by_columns else "")


@dataclass(frozen=True)
class ProductTiming:
    """What one choice reached on the real matrices, and how far it was from exact."""

    choice: ProductChoice
    bytes_per_s: float
    max_relative_error: float
    correct: bool


@contextmanager
def onednn(enabled: bool) -> Iterator[None]:
    """Let oneDNN serve products, or not, inside the block.

    The switch holds for the whole process, which is one more reason why measurements run in
    a process of their own.
    """
    before = bool(torch.backends.mkldnn.enabled)
    torch.backends.mkldnn.enabled = enabled  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before  # type: ignore[assignment]


def candidates(
    device: torch.device, dtype: torch.dtype, n_rows: int, *, layouts: bool
) -> tuple[ProductChoice, ...]:
    """The calls worth comparing.

    oneDNN serves CPUs only, and weights by columns gain only there, for one float32 row.
    """
    names = ("linear", "matrix-vector") if n_rows == 1 else ("linear", "columns")
    on_cpu = device.type == "cpu"
    choices = [ProductChoice(n, switch) for n in names for switch in (True, False)[: 1 + on_cpu]]
    if layouts and on_cpu and n_rows == 1 and dtype == torch.float32:
        choices += [ProductChoice(name, by_columns=True) for name in names]
    return tuple(choices)


def by_columns(matrix: Tensor) -> Tensor:
    """The same matrix, lying in memory column after column."""
    return matrix.t().contiguous().t()


def example_rows(matrices: Sequence[Tensor], n_rows: int) -> dict[int, Tensor]:
    """Seeded rows for every input width that occurs, as d_in -> (n_rows, d_in)."""
    first = matrices[0]
    generator = torch.Generator().manual_seed(0)
    return {
        width: torch.randn(n_rows, width, generator=generator).to(first.device, first.dtype)
        for width in sorted({matrix.shape[1] for matrix in matrices})
    }


def bare_pass(matrices: Sequence[Tensor], product: Product, n_rows: int) -> Callable[[], None]:
    """One product with every matrix, and nothing else: what a decode step cannot do without."""
    rows = example_rows(matrices, n_rows)

    @torch.inference_mode()
    def work() -> None:
        for matrix in matrices:
            product(rows[matrix.shape[1]], matrix, 0)

    return work


def relative_error(matrices: Sequence[Tensor], product: Product, n_rows: int) -> float:
    """Largest error against float64, over the largest exact value; one matrix per shape."""
    rows = example_rows(matrices, n_rows)
    worst = 0.0
    for matrix in {tuple(m.shape): m for m in matrices}.values():
        part = matrix[:256]
        got = product(rows[matrix.shape[1]], part, 0).double().cpu()
        exact = rows[matrix.shape[1]].double().cpu() @ part.double().cpu().T
        worst = max(worst, float((got - exact).abs().max() / exact.abs().max()))
    return worst


def compare_products(
    matrices: Sequence[Tensor], n_rows: int, clock: DeviceClock, *, layouts: bool = False
) -> tuple[ProductTiming, ...]:
    """Time every candidate on the same matrices, in turn; the fastest correct one first.

    ``layouts`` lets copies of the matrices that lie by columns compete too.

    Units: bytes_per_s counts the weights only.
    """
    first, n_bytes = matrices[0], total_bytes(matrices)
    choices = candidates(first.device, first.dtype, n_rows, layouts=layouts)
    laid = {False: matrices}
    if any(choice.by_columns for choice in choices):
        laid[True] = [by_columns(matrix) for matrix in matrices]
    work = {c: bare_pass(laid[c.by_columns], c.product, n_rows) for c in choices}
    times: dict[ProductChoice, list[float]] = {choice: [] for choice in choices}
    n_calls = calls_for(clock, work[choices[0]], SPAN_S)
    for _ in range(N_ROUNDS + 1):  # the first round is warm-up
        for choice in choices:
            with onednn(choice.onednn):
                times[choice].append(clock.time_s(work[choice], n_calls))
    tolerance = TOLERANCES[first.dtype]
    results = []
    for choice in choices:
        with onednn(choice.onednn):
            error = relative_error(laid[choice.by_columns], choice.product, n_rows)
        rate = n_bytes / percentile(times[choice][1:], 50)
        results.append(ProductTiming(choice, rate, error, error <= tolerance))
    return tuple(sorted(results, key=lambda t: (not t.correct, -t.bytes_per_s)))


def total_bytes(matrices: Sequence[Tensor]) -> int:
    """Bytes of the matrices, from the tensors' own sizes."""
    return sum(matrix.numel() * matrix.element_size() for matrix in matrices)


def sample_of(matrices: Sequence[Tensor], at_least_bytes: int) -> tuple[Tensor, ...]:
    """The first matrices that together have ``at_least_bytes``, or all of them."""
    chosen: list[Tensor] = []
    for matrix in matrices:
        chosen.append(matrix)
        if total_bytes(chosen) >= at_least_bytes:
            break
    return tuple(chosen)


def thread_counts(n_cpus: int) -> tuple[int, ...]:
    """Thread counts worth trying: powers of two below the number of processors, and that.

    >>> thread_counts(6), thread_counts(1)
    ((1, 2, 4, 6), (1,))
    """
    powers = [2**k for k in range(n_cpus.bit_length()) if 2**k < n_cpus]
    return (*powers, n_cpus)


def sweep_threads(
    matrices: Sequence[Tensor], choice: ProductChoice, n_cpus: int, clock: DeviceClock
) -> tuple[tuple[int, float], ...]:
    """Measure (threads, bytes per second) of the bare products for each thread count."""
    counts = thread_counts(n_cpus)
    work, n_bytes = bare_pass(matrices, choice.product, 1), total_bytes(matrices)
    times: dict[int, list[float]] = {count: [] for count in counts}
    before = torch.get_num_threads()
    with onednn(choice.onednn):
        torch.set_num_threads(counts[0])
        n_calls = calls_for(clock, work, SPAN_S)
        for _ in range(N_ROUNDS + 1):
            for count in counts:
                torch.set_num_threads(count)
                times[count].append(clock.time_s(work, n_calls))
    torch.set_num_threads(before)
    return tuple((count, n_bytes / percentile(times[count][1:], 50)) for count in counts)


def best_thread_count(sweep: Sequence[tuple[int, float]]) -> int:
    """The fewest threads that no larger count beats by 10 %.

    >>> best_thread_count([(1, 10.0), (2, 10.3), (4, 9.0)])
    1
    >>> best_thread_count([(1, 10.0), (2, 19.0)])
    2
    """
    best = sweep[0]
    for entry in sweep[1:]:
        if entry[1] > best[1] * MIN_GAIN:
            best = entry
    return best[0]
