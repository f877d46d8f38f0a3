"""The devices, named by a process of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from core.machine import device_list
from core.machine.device import cpu_device
from core.machine.device_list import ROOT, DeviceList, ask_devices


def test_the_devices_are_known_and_torch_is_not_loaded() -> None:
    code = (
        "import sys; from core.machine.device_list import DeviceList; d = DeviceList(); d.wait();"
        "assert d.devices and d.devices[-1].kind == 'cpu', d.problem;"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit('no driver')", "no driver"),
        ("print('{')", "cannot be listed"),
        ("", "cannot be listed"),
    ],
)
def test_a_process_without_an_answer_is_one_line(
    code: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_list, "COMMAND", (sys.executable, "-c", code))
    with pytest.raises(RuntimeError, match=message):
        ask_devices()


def test_they_are_asked_for_once_and_a_problem_is_kept() -> None:
    asked = []

    def ask() -> tuple:
        asked.append(1)
        return (cpu_device(),)

    found = DeviceList(ask)
    for _ in range(3):
        found.wait()
    assert found.devices is not None
    assert len(asked) == 1

    def fail() -> tuple:
        raise RuntimeError("no answer")

    failed = DeviceList(fail)
    failed.wait()
    assert (failed.devices, failed.problem) == (None, "no answer")
