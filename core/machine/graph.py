"""CUDA graphs: many small kernels launched with one call, as serving systems do for decode."""

from __future__ import annotations

from collections.abc import Callable

import torch


def as_graph(work: Callable[[], None], device: torch.device, n_warm_up: int) -> Callable[[], None]:
    """Capture the work after warming it up on a stream of its own; replaying it runs it.

    The tensors it touches must stay where they are: they are part of the graph.
    """
    with torch.cuda.device(device):
        side = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            for _ in range(n_warm_up):
                work()
        torch.cuda.current_stream(device).wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
    return lambda: graph.replay()
