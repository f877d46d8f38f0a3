"""What else keeps the processors busy, so that a spoilt figure can be told from a good one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SPOILT_AT_CORES = 0.25
"""Other load, in cores, from which a CPU measurement is called disturbed."""


@dataclass(frozen=True)
class OtherLoad:
    """Processor time used by everybody else during an interval, in cores; None where unknown."""

    cores: float | None
    why: str = ""

    @property
    def warning(self) -> str:
        """A sentence where the load spoils a measurement, else empty."""
        if self.cores is None or self.cores < SPOILT_AT_CORES:
            return ""
        return (
            f"Other work kept {self.cores:.1f} processor cores busy meanwhile; "
            "the figures are lower than on a quiet machine."
        )


def free_cpus_lately(n_cpus: int, load_average: float | None = None) -> int:
    """Processors that the load of the last minute leaves free, at least one.

    It is how many threads to begin with: one that must wait for a busy processor stops all.

    >>> free_cpus_lately(8, 2.2), free_cpus_lately(2, 17.0)
    (6, 1)
    """
    if load_average is None:
        load_average = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, n_cpus - round(load_average))


class LoadMeter:
    """Meters the other load between two readings, from /proc/stat less one process's own time.

    ``pid`` is the process whose own time is not "other"; time stolen by the host counts as other.
    """

    def __init__(
        self,
        pid: int | None = None,
        proc: Path = Path("/proc"),
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._proc, self._pid, self._now_s = proc, pid or os.getpid(), now_s
        self._before = self._read()

    def _read(self) -> tuple[float, float, float] | None:
        """(time, busy seconds of all processors, own seconds), or None where there is no /proc."""
        try:
            fields = (self._proc / "stat").read_text().split("\n", 1)[0].split()[1:]
            own = (self._proc / str(self._pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        ticks_per_s = os.sysconf("SC_CLK_TCK")
        user, nice, system, _idle, _iowait, irq, softirq, steal = (int(f) for f in fields[:8])
        busy = (user + nice + system + irq + softirq + steal) / ticks_per_s
        return self._now_s(), busy, (int(own[11]) + int(own[12])) / ticks_per_s

    def read(self) -> OtherLoad:
        """The other load since the last reading."""
        before, after = self._before, self._read()
        self._before = after
        if before is None or after is None:
            return OtherLoad(None, "this system does not tell the load of its processors")
        elapsed = after[0] - before[0]
        if elapsed <= 0:
            return OtherLoad(None, "no time has passed since the last reading")
        other = (after[1] - before[1]) - (after[2] - before[2])
        return OtherLoad(max(0.0, other / elapsed))
