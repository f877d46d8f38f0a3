"""TTFT, ITL and TPOT: n tokens have n - 1 gaps, and a burst is several tokens."""

import numpy as np
import pytest

from core.decode.latency import burst_latency, latency, percentiles


def test_la_01_gaps_do_not_hold_the_wait_for_the_first_token():
    measured = latency([0.120, 0.150, 0.179, 0.211, 0.240])
    assert measured.ttft_s == 0.120
    assert measured.itl_s == pytest.approx((0.030, 0.029, 0.032, 0.029))
    assert measured.mean_itl_s == pytest.approx(0.030)
    assert measured.tpot_s == pytest.approx(0.030)


def test_la_01_a_burst_is_several_tokens():
    tpot_s, step_s = burst_latency(0.120, [(0.160, 3), (0.200, 1), (0.240, 4)])
    assert tpot_s == pytest.approx(0.015)
    assert step_s == pytest.approx(0.040)


def test_la_01_one_token_has_no_gap():
    measured = latency([0.120])
    assert (measured.ttft_s, measured.itl_s) == (0.120, ())
    assert measured.tpot_s is None
    assert measured.mean_itl_s is None
    assert burst_latency(0.120, []) == (None, None)
    empty = percentiles([])
    assert (empty.p50, empty.p99, empty.n) == (None, None, 0)


def test_la_01_tokens_are_counted_by_their_ids_not_from_the_text(shipped):
    space = shipped.tokenizer.encode(" ")[1]
    text = shipped.tokenizer.decode([space] * 15)
    assert text == " " * 15
    times_s = [0.1 * (index + 1) for index in range(15)]
    assert latency(times_s).tpot_s == pytest.approx(0.1)
    assert len(latency(times_s).itl_s) + 1 == 15


def test_percentiles_are_those_of_numpy():
    gaps = [i / 1000 for i in range(200, 0, -1)]
    found = percentiles(gaps)
    expected = np.percentile(gaps, [50, 90, 99])
    assert (found.p50, found.p90, found.p99) == pytest.approx(tuple(expected), rel=1e-12)
    assert (found.min, found.n) == (0.001, 200)


def test_impossible_times_are_refused():
    with pytest.raises(ValueError, match="at least one time"):
        latency([])
    with pytest.raises(ValueError, match="must not decrease"):
        latency([0.2, 0.1])
    with pytest.raises(ValueError, match="at least 1 token"):
        burst_latency(0.1, [(0.2, 0)])
