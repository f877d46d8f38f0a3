"""The queue of measurements with scripted processes: one at a time, joined, watched, ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core.machine.caps import Caps
from core.machine.counters import GpuCounters, counters_not_available
from core.machine.device import cpu_device
from core.machine.jsonable import to_plain
from core.machine.load import OtherLoad
from core.machine.queue import FRESH_S, KEPT_RESULTS, SILENT_AFTER_S, MeasureService
from core.machine.records import DeviceInfo, MeasureResult
from core.machine.runs import measure
from core.machine.sampler import EVERY_S, Sampler
from core.machine.spec import MeasureSpec
from core.machine.tickets import TicketView

Event = dict[str, Any]
PATIENCE_S = 20.0


class FakeTime:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class FakeWorker:
    """A process that says what it is told to; ``log`` is shared by all of a test."""

    pid = 1

    def __init__(self, spec: MeasureSpec, events: list[Event], hold: threading.Event) -> None:
        self.spec, self._events, self._hold = spec, list(events), hold
        self.stopped = threading.Event()

    def next_event(self, timeout_s: float) -> Event | None:
        if len(self._events) > 1:
            return self._events.pop(0)
        if self._hold.wait(0.01) and self._events:
            return self._events.pop(0)
        return None

    def stop(self) -> None:
        self.stopped.set()


class QuietSampler:
    """A sampler that has read already."""

    def __init__(self, device: DeviceInfo, pid: int) -> None:
        self.readings = counters_not_available(f"none on {device.torch_name}")
        self.load = OtherLoad(0.1)
        self.closed = False

    def tick(self) -> None:
        """Nothing new."""

    def close(self) -> None:
        self.closed = True


class Host:
    """A service with scripted processes and everything a test wants to look at."""

    def __init__(self, result: MeasureResult, **kwargs: Any) -> None:
        self.time, self.hold = FakeTime(), threading.Event()
        self.workers: list[FakeWorker] = []
        self.events: list[Event] = [
            {"event": "device", "device": to_plain(cpu_device())},
            {"event": "progress", "stage": "measuring", "fraction": 0.5, "text": "measuring"},
            {"event": "read", "t_s": 0.5, "bytes_per_s": 2e9},
            _steps(1.0, [0.02, 0.03]),
            {"event": "result", "result": to_plain(result)},
        ]
        self.service = MeasureService(
            start=self._start,
            sample=QuietSampler,  # type: ignore[arg-type]
            now_s=self.time,
            **{"caps": Caps(), **kwargs},
        )

    def _start(self, spec: MeasureSpec) -> FakeWorker:
        assert all(worker.stopped.is_set() for worker in self.workers), "two at a time"
        self.workers.append(FakeWorker(spec, self.events, self.hold))
        return self.workers[-1]

    def until(self, ticket: int, done: Callable[[TicketView], bool], who: str = "me") -> TicketView:
        """Poll until it is so."""
        pause = threading.Event()
        for _ in range(int(PATIENCE_S / 0.005)):
            view = self.service.poll(ticket, who)
            if done(view):
                return view
            pause.wait(0.005)
        raise AssertionError(f"never happened; last seen {view.state}, {view.why}")


def _steps(t_s: float, itl_s: list[float]) -> Event:
    return {
        "event": "steps",
        "t_s": t_s,
        "batch_size": 2,
        "context_len": 8,
        "weight_bytes": 30_000_000,
        "kv_bytes": 10_000_000,
        "itl_s": itl_s,
    }


@pytest.fixture(scope="module")
def result() -> MeasureResult:
    return measure(MeasureSpec(kind="probe", device="cpu", probe_bytes=2**20, n_threads=1))


@pytest.fixture
def host(result: MeasureResult) -> Iterator[Host]:
    host = Host(result)
    before = {thread.name for thread in threading.enumerate()}
    yield host
    host.hold.set()
    host.service.close()
    assert "measure" not in {thread.name for thread in threading.enumerate()} - before


def test_thirty_joiners_are_one_measurement_that_all_watch(host: Host) -> None:
    spec = MeasureSpec()
    tickets = {host.service.join(spec, f"viewer {i}") for i in range(30)}
    (ticket,) = tickets
    view = host.until(ticket, lambda v: v.n_steps == 2)
    assert view.n_watchers == 31
    assert view.state == "running"
    host.hold.set()
    for viewer in range(30):
        assert host.until(ticket, lambda v: v.state == "done", f"viewer {viewer}").result
    assert len(host.workers) == 1
    assert host.workers[0].stopped.is_set()


def test_the_readout_shows_live_figures(host: Host) -> None:
    ticket = host.service.join(MeasureSpec(), "me")
    view = host.until(ticket, lambda v: v.figures is not None and bool(v.readings))
    figures = view.figures
    assert figures is not None
    assert figures.spread_s.n == 2
    assert figures.spread_s.p50 == pytest.approx(0.025)
    assert figures.tokens_per_s_per_request == pytest.approx(40)
    assert figures.tokens_per_s_total == pytest.approx(80)
    assert figures.achieved_bytes_per_s == pytest.approx(40e6 / 0.025)
    assert figures.fraction_of_measured_bandwidth == pytest.approx(0.8)
    assert figures.fraction_of_nominal_bandwidth is None
    assert figures.floor_s == pytest.approx(0.02)
    assert [itl_s for _, itl_s in view.steps] == [0.02, 0.03]
    assert [t_s for t_s, _ in view.steps] == pytest.approx([0.97, 1.0])
    assert view.reads == ((0.5, 2e9),)
    assert view.by_point == (figures,)
    assert {reading.why for reading in view.readings} == {"none on cpu"}
    assert view.load == OtherLoad(0.1)
    assert (view.stage, view.fraction) == ("measuring", 0.5)


def test_different_questions_wait_in_order_with_their_place(host: Host) -> None:
    specs = [MeasureSpec(n_steps=n) for n in (10, 20, 30)]
    tickets = [host.service.join(spec, "me") for spec in specs]
    host.until(tickets[0], lambda v: v.state == "running")
    assert [host.service.poll(t, "me").ahead for t in tickets] == [0, 1, 2]
    assert host.service.running() == tickets[0]
    assert host.service.n_waiting() == 2
    host.hold.set()
    for ticket in tickets:
        host.until(ticket, lambda v: v.state == "done")
    assert [worker.spec for worker in host.workers] == specs
    assert [kept.id for kept in host.service.results()] == tickets[::-1]
    assert host.service.running() is None


def test_a_fresh_result_is_shared_and_an_old_one_is_not(host: Host) -> None:
    host.hold.set()
    first = host.service.join(MeasureSpec(), "me")
    host.until(first, lambda v: v.state == "done")
    assert host.service.join(MeasureSpec(), "you") == first
    assert host.service.join(MeasureSpec(), "you", again=True) != first
    host.time.now_s += FRESH_S + 1
    assert host.service.join(MeasureSpec(), "you") != first


def test_results_are_kept_with_their_age(host: Host) -> None:
    host.hold.set()
    ticket = host.service.join(MeasureSpec(), "me")
    host.until(ticket, lambda v: v.state == "done")
    host.time.now_s += 90
    (kept,) = host.service.results()
    assert kept.age_s == pytest.approx(90)
    assert kept.result.conditions.torch
    assert host.service.poll(ticket, "me").age_s == pytest.approx(90)


def test_a_run_that_nobody_watches_is_stopped(host: Host) -> None:
    ticket = host.service.join(MeasureSpec(), "me")
    host.until(ticket, lambda v: v.n_steps == 2)
    host.time.now_s += SILENT_AFTER_S + 1
    assert host.workers[0].stopped.wait(PATIENCE_S)
    view = host.until(ticket, lambda v: v.ended)
    assert (view.state, view.why) == ("stopped", "nobody watched it any more")
    assert host.service.results() == ()


def test_leaving_stops_a_run_only_when_nobody_else_watches(host: Host) -> None:
    ticket = host.service.join(MeasureSpec(), "me")
    host.service.poll(ticket, "you")
    host.until(ticket, lambda v: v.n_steps == 2)
    host.service.leave(ticket, "me")
    assert host.service.poll(ticket, "you").state == "running"
    host.service.leave(ticket, "you")
    assert host.workers[0].stopped.wait(PATIENCE_S)


def test_the_one_who_asked_can_stop_it_whoever_watches(host: Host) -> None:
    ticket = host.service.join(MeasureSpec(), "teacher")
    host.until(ticket, lambda v: v.n_steps == 2, "class")
    host.service.stop(ticket, "class")
    assert host.service.poll(ticket, "class").state == "running"
    host.service.stop(ticket, "teacher")
    assert host.workers[0].stopped.wait(PATIENCE_S)
    view = host.until(ticket, lambda v: v.ended, "class")
    assert (view.state, view.why) == ("stopped", "whoever asked for it stopped it")


def test_two_who_asked_must_both_stop_it(host: Host) -> None:
    first = host.service.join(MeasureSpec(), "me")
    waiting = host.service.join(MeasureSpec(n_steps=5), "me")
    assert host.service.join(MeasureSpec(n_steps=5), "you") == waiting
    host.service.stop(waiting, "me")
    assert host.service.poll(waiting, "you").state == "queued"
    host.service.stop(waiting, "you")
    assert host.service.poll(waiting, "class").state == "stopped"
    assert host.service.poll(first, "me").state != "stopped"
    host.service.stop(999, "me")


def test_leaving_the_queue_frees_the_place(host: Host) -> None:
    host.service.join(MeasureSpec(), "me")
    second = host.service.join(MeasureSpec(n_steps=5), "you")
    third = host.service.join(MeasureSpec(n_steps=6), "me")
    host.service.leave(second, "you")
    assert host.service.poll(second, "you").state == "stopped"
    assert host.service.poll(third, "me").ahead == 1
    host.service.leave(999, "me")


def test_a_waiting_ticket_that_nobody_polls_is_dropped(host: Host) -> None:
    first = host.service.join(MeasureSpec(), "me")
    host.until(first, lambda v: v.state == "running")
    second = host.service.join(MeasureSpec(n_steps=5), "you")
    host.time.now_s += SILENT_AFTER_S - 1
    host.service.poll(first, "me")
    host.time.now_s += 2
    host.hold.set()
    host.until(first, lambda v: v.ended)
    assert host.until(second, lambda v: v.ended).state == "stopped"
    assert len(host.workers) == 1


def test_a_failure_is_told_and_the_next_one_runs(host: Host) -> None:
    host.events[-1] = {"event": "error", "message": "out of memory"}
    host.hold.set()
    failed = host.service.join(MeasureSpec(), "me")
    view = host.until(failed, lambda v: v.ended)
    assert (view.state, view.why) == ("failed", "out of memory")
    again = host.service.join(MeasureSpec(), "me")
    assert again != failed
    host.until(again, lambda v: v.ended)


@pytest.mark.parametrize("event", [{"event": "device", "device": {}}, {"event": "read"}])
def test_an_unexpected_event_fails_the_ticket_not_the_queue(host: Host, event: Event) -> None:
    host.events.insert(0, event)
    ticket = host.service.join(MeasureSpec(), "me")
    view = host.until(ticket, lambda v: v.ended)
    assert view.state == "failed"
    assert "unexpected" in view.why
    assert host.workers[0].stopped.is_set()


def test_a_process_that_cannot_start_fails_the_ticket(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(spec: MeasureSpec) -> FakeWorker:
        raise OSError("no more processes")

    monkeypatch.setattr(host.service, "_start", refuse)
    view = host.until(host.service.join(MeasureSpec(), "me"), lambda v: v.ended)
    assert "no more processes" in view.why


def test_a_run_that_takes_too_long_is_stopped(result: MeasureResult) -> None:
    host = Host(result, caps=Caps(max_run_s=5))
    ticket = host.service.join(MeasureSpec(), "me")
    host.until(ticket, lambda v: v.n_steps == 2)
    host.time.now_s += 5.5
    assert "longer than the 5 s" in host.until(ticket, lambda v: v.ended).why
    host.service.close()


def test_closing_ends_everything_and_refuses_more(host: Host) -> None:
    running = host.service.join(MeasureSpec(), "me")
    host.until(running, lambda v: v.state == "running")
    waiting = host.service.join(MeasureSpec(n_steps=3), "me")
    host.service.close()
    assert host.workers[0].stopped.is_set()
    for ticket in (running, waiting):
        assert host.service.poll(ticket, "me").state == "stopped"
    with pytest.raises(ValueError, match="shutting down"):
        host.service.join(MeasureSpec(), "me")


def test_a_full_queue_says_so(result: MeasureResult) -> None:
    host = Host(result, caps=Caps(max_queue=2))
    first = host.service.join(MeasureSpec(n_steps=1), "me")
    host.until(first, lambda v: v.state == "running")
    for n_steps in (2, 3):
        host.service.join(MeasureSpec(n_steps=n_steps), "me")
    with pytest.raises(ValueError, match="queue of measurements is full"):
        host.service.join(MeasureSpec(n_steps=4), "me")
    host.service.close()


def test_a_hundred_visits_leave_no_thread_and_few_tickets(host: Host) -> None:
    host.hold.set()
    for visit in range(100):
        ticket = host.service.join(MeasureSpec(n_steps=1 + visit), "me")
        host.until(ticket, lambda v: v.ended)
    host.service.close()
    assert not [t for t in threading.enumerate() if t.name == "measure"]
    assert len(host.service.results()) == KEPT_RESULTS


def test_an_unknown_ticket_is_gone(host: Host) -> None:
    view = host.service.poll(12345, "me")
    assert (view.state, view.ended) == ("gone", True)


@pytest.mark.parametrize(
    ("caps", "spec", "message"),
    [
        (Caps(mode="off"), MeasureSpec(kind="probe"), "switched off"),
        (Caps(mode="light"), MeasureSpec(), "Weights-heavy measurements are switched off"),
        (Caps(max_weight_bytes=10**9), MeasureSpec(weight_bytes=2 * 10**9), "at most 1 GB"),
        (Caps(max_steps=10), MeasureSpec(n_steps=11), "n_steps must be 1 to 10 here"),
    ],
)
def test_caps_refuse_with_a_sentence(caps: Caps, spec: MeasureSpec, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        caps.allowed(spec)


def test_caps_let_the_light_runs_through_and_cut_an_open_size() -> None:
    light = Caps(mode="light")
    for spec in (MeasureSpec(kind="probe"), MeasureSpec(model="shipped")):
        assert light.allowed(spec) == spec
    assert Caps(max_weight_bytes=10**8).allowed(MeasureSpec()).weight_bytes == 10**8


def test_a_deployment_may_cap_probe_and_threads() -> None:
    prefix = "ONE_NEW_ROW_MEASURE"
    caps = Caps.from_environment({f"{prefix}_MAX_PROBE_BYTES": "1000000", f"{prefix}_THREADS": "1"})
    assert caps.allowed(MeasureSpec()).n_threads == 1
    assert caps.allowed(MeasureSpec()).probe_bytes == 1_000_000
    assert caps.allowed(MeasureSpec(probe_bytes=500_000)).probe_bytes == 500_000
    assert Caps().allowed(MeasureSpec()).probe_bytes is None


def test_caps_come_from_the_environment() -> None:
    caps = Caps.from_environment(
        {"ONE_NEW_ROW_MEASURE": "light", "ONE_NEW_ROW_MEASURE_MAX_BYTES": "500000000"}
    )
    assert (caps.mode, caps.max_weight_bytes, caps.max_queue) == ("light", 500_000_000, 32)
    assert Caps.from_environment({}) == Caps()
    with pytest.raises(ValueError, match="ONE_NEW_ROW_MEASURE must be one of"):
        Caps.from_environment({"ONE_NEW_ROW_MEASURE": "yes"})
    with pytest.raises(ValueError, match="MAX_QUEUE must be a whole number"):
        Caps.from_environment({"ONE_NEW_ROW_MEASURE_MAX_QUEUE": "-1"})


class CountingCounters:
    """Counts how often the driver is asked."""

    def __init__(self) -> None:
        self.samples, self.closed = 0, 0

    def sample(self) -> tuple[()]:
        self.samples += 1
        return ()

    def close(self) -> None:
        self.closed += 1


def test_the_sampler_asks_twice_a_second_and_lets_go() -> None:
    time, counters = FakeTime(), CountingCounters()

    def opened(_: DeviceInfo) -> GpuCounters | None:
        return counters  # type: ignore[return-value]

    sampler = Sampler(cpu_device(), 1, open_counters=opened, now_s=time)
    for _ in range(10):
        sampler.tick()
        time.now_s += EVERY_S / 5
    assert counters.samples == 2
    sampler.close()
    assert counters.closed == 1


def test_a_cpu_says_why_it_has_no_counters() -> None:
    sampler = Sampler(cpu_device(), 1)
    sampler.tick()
    assert all("no such counter" in reading.why for reading in sampler.readings)
    sampler.close()
