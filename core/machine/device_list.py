"""Ask a process of its own which devices there are, so that the server loads no driver for it.

Started as ``python -m core.machine.device_list`` it prints them as one JSON line. Asking CUDA
for its free memory takes a few hundred MB of that memory for as long as the process lives; here
that is a second or two.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable

from core.machine.jsonable import from_plain, to_plain
from core.machine.records import DeviceInfo
from core.machine.worker import ROOT, worker_environment

COMMAND = (sys.executable, "-m", "core.machine.device_list")
TIMEOUT_S = 120.0


def ask_devices() -> tuple[DeviceInfo, ...]:
    """Return every device that torch can compute on, GPUs first, the CPU last.

    Raises: RuntimeError with one line if the process that was asked gives no answer.
    """
    try:
        done = subprocess.run(
            COMMAND,
            cwd=ROOT,
            env=worker_environment(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        found = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no device was named within {TIMEOUT_S:g} s") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise RuntimeError(f"the devices cannot be listed: {lines[-1]}") from None
    except (OSError, ValueError, IndexError) as error:
        raise RuntimeError(f"the devices cannot be listed: {error}") from None
    return tuple(from_plain(DeviceInfo, device) for device in found)


class DeviceList:
    """The devices, asked for once in the background; ``devices`` is None until they are known."""

    def __init__(self, ask: Callable[[], tuple[DeviceInfo, ...]] = ask_devices) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.devices: tuple[DeviceInfo, ...] | None = None
        self.problem = ""

    def start(self) -> None:
        """Begin to ask, if nobody has; returns at once."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._find, name="devices", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Ask, and wait for the answer."""
        self.start()
        assert self._thread is not None
        self._thread.join()

    def _find(self) -> None:
        try:
            self.devices = self._ask()
        except RuntimeError as error:
            self.problem = str(error)


def main() -> int:
    """Print the devices as one JSON line."""
    from core.machine.device import list_devices

    sys.stdout.write(json.dumps([to_plain(device) for device in list_devices()]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
