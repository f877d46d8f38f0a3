"""A session's run under reruns that overlap."""

from __future__ import annotations

import threading

from core.decode.trace import Run
from core.model.checkpoint import load_model
from pages.ui import caching
from pages.ui.payload import run_payload

PROMPT = "Once upon a time, there was a little girl named"


def test_two_scripts_that_overlap_extend_one_run_once() -> None:
    model = load_model()
    run = Run(model, PROMPT, ignore_end=True)
    session = caching.SessionRun((PROMPT,), 200, run.extend(2), run)
    failures: list[BaseException] = []
    start = threading.Barrier(4)

    def script() -> None:
        start.wait()
        try:
            for n_steps in (20, 60, 120):
                session.extend(n_steps)
                payload = session.payload()
                assert len(payload["tokens"]) == payload["n_rows"] + 1
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=script) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    alone = Run(model, PROMPT, ignore_end=True).extend(120)
    assert session.trace.ids == alone.ids
    assert run_payload(session.trace)["weights"] == run_payload(alone)["weights"]


def test_a_lower_limit_is_said_and_a_higher_one_goes_on() -> None:
    run = Run(load_model(), PROMPT, ignore_end=True)
    session = caching.SessionRun((PROMPT,), 4, run.extend(4), run)
    assert not session.can_go_on
    session.extend(10)
    assert session.trace.n_steps == 4
    session.set_limit(8)
    assert session.payload()["stop"]["more"] is True
    session.extend(10)
    assert session.trace.n_steps == 8
