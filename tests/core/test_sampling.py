"""Sampling: four-token distributions by hand, the cases, ties, the order and the draw."""

import math

import pytest
import torch

from core.decode.sampling import (
    choose,
    distribution,
    draw,
    greedy_id,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    new_generator,
    stages,
    temperature_probs,
)
from core.decode.settings import SamplingSettings


def kept(mask: torch.Tensor) -> list[int]:
    return mask.nonzero().flatten().tolist()


def renormalised(probs: list[float], mask: torch.Tensor) -> list[float]:
    left = torch.tensor(probs, dtype=torch.float64)[mask]
    return (left / left.sum()).tolist()


@pytest.mark.parametrize(
    ("probs", "top_p", "expected", "weights"),
    [
        pytest.param(
            [0.42, 0.25, 0.18, 0.1, 0.05],
            0.8,
            [0, 1, 2],
            [0.494118, 0.294118, 0.211765],
            id="SA-01 crosses the line",
        ),
        pytest.param(
            [0.5, 0.25, 0.125, 0.125], 0.75, [0, 1], [0.666667, 0.333333], id="SA-01 exact"
        ),
        pytest.param(
            [0.1, 0.05, 0.42, 0.18, 0.25],
            0.8,
            [2, 3, 4],
            [0.494118, 0.211765, 0.294118],
            id="SA-01 unsorted",
        ),
    ],
)
def test_top_p_keeps_the_token_that_crosses_the_line(probs, top_p, expected, weights):
    mask = keep_top_p(torch.tensor(probs, dtype=torch.float64), top_p)
    assert kept(mask) == expected
    assert renormalised(probs, mask) == pytest.approx(weights, abs=1e-6)


@pytest.mark.parametrize(
    ("logits", "temperature", "expected"),
    [
        pytest.param(torch.tensor([12.0, 11.5, -3.0]), 0, [1, 0, 0], id="SA-03 zero"),
        pytest.param(torch.tensor([12.0, 11.5, -3.0]), 0.0001, [1, 0, 0], id="SA-03 tiny"),
        pytest.param(
            torch.tensor([12.0, 11.5, -3.0]), 0.1, [0.993307, 0.006693, 0.0], id="SA-03 low"
        ),
        pytest.param(torch.tensor([12.0, 11.5, -3.0]).half(), 0.0001, [1, 0, 0], id="SA-03 half"),
        pytest.param(torch.tensor([12.0, 11.5, -3.0]), 1e-320, [1, 0, 0], id="subnormal"),
        pytest.param(torch.tensor([0.0, 0.0]), 1e300, [0.5, 0.5], id="huge"),
    ],
)
def test_temperature(logits, temperature, expected):
    assert temperature_probs(logits, temperature).tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("temperature", -0.5, "temperature must be a finite number of at least 0, got -0.5"),
        ("temperature", math.nan, "temperature must be a finite number of at least 0, got nan"),
        ("temperature", math.inf, "temperature must be a finite number of at least 0, got inf"),
        ("top_k", -1, "top_k must be a whole number of at least 0, got -1"),
        ("top_k", 2.5, "top_k must be a whole number of at least 0, got 2.5"),
        ("top_p", 0.0, "top_p must be above 0 and at most 1, got 0.0"),
        ("top_p", 1.1, "top_p must be above 0 and at most 1, got 1.1"),
        ("top_p", math.nan, "top_p must be above 0 and at most 1, got nan"),
        ("min_p", -0.1, "min_p must be from 0 to 1, got -0.1"),
        ("min_p", True, "min_p must be from 0 to 1, got True"),
        ("seed", -1, "seed must be a whole number from 0 to 2\\*\\*63 - 1, got -1"),
        ("seed", 2**63, "seed must be a whole number from 0 to 2\\*\\*63 - 1"),
    ],
)
def test_sa_03_bad_settings_are_refused_with_their_range(setting, value, message):
    with pytest.raises(ValueError, match=message):
        SamplingSettings(**{setting: value})


def test_sa_05_top_k_ties_go_to_the_lowest_ids():
    probs = torch.softmax(torch.tensor([2.0, 1.0, 1.0, 1.0, 0.5]), 0)
    assert kept(keep_top_k(probs, 2)) == [0, 1]


def test_sa_05_top_1_of_a_tie_draws_the_lowest_id_every_time():
    settings = SamplingSettings(temperature=1.0, top_k=1)
    generator = new_generator(settings)
    logits = torch.tensor([3.0, 3.0, 1.0])
    assert {choose(logits, settings, generator) for _ in range(50)} == {0}


@pytest.mark.parametrize("top_k", [50, 27, 0])
def test_sa_05_top_k_of_the_whole_vocabulary_filters_nothing(top_k):
    probs = torch.softmax(torch.linspace(-2, 2, 27), 0)
    assert int(keep_top_k(probs, top_k).sum()) == 27


def test_min_p_is_relative_to_the_likeliest():
    probs = torch.tensor([0.5, 0.3, 0.125, 0.075], dtype=torch.float64)
    assert kept(keep_min_p(probs, 0.25)) == [0, 1, 2]
    assert kept(keep_min_p(probs, 1.0)) == [0]
    assert kept(keep_min_p(probs, 0.0)) == [0, 1, 2, 3]


def test_the_order_by_hand():
    # p = 8/16, 4/16, 3/16, 1/16. top_k 3 leaves 8, 4, 3 of 15; the mass before the third is
    # 12/15 = 0.8, so top_p 0.75 drops it: 8, 4 of 12. min_p 0.6 then keeps ids of at least
    # 0.6 * 2/3 = 0.4: the first alone. Without the renormalisation top_p would keep all three.
    logits = torch.tensor([8.0, 4.0, 3.0, 1.0]).log()
    settings = SamplingSettings(temperature=1.0, top_k=3, top_p=0.75, min_p=0.6)
    found = {stage.name: (stage.n_kept, stage.probs.tolist()) for stage in stages(logits, settings)}
    assert list(found) == ["temperature", "top_k", "top_p", "min_p"]
    assert found["temperature"][1] == pytest.approx([0.5, 0.25, 0.1875, 0.0625])
    assert found["top_k"] == (3, pytest.approx([8 / 15, 4 / 15, 3 / 15, 0]))
    assert found["top_p"] == (2, pytest.approx([2 / 3, 1 / 3, 0, 0]))
    assert found["min_p"] == (1, pytest.approx([1, 0, 0, 0]))


def test_temperature_comes_before_the_filters():
    logits = torch.tensor([8.0, 4.0, 3.0, 1.0]).log()
    hot = distribution(logits, SamplingSettings(temperature=2.0, top_p=0.45))
    # At temperature 2 the weights are the square roots: 2.828, 2, 1.732, 1 of 7.560; the mass
    # before the second is 0.374, so it is kept; at temperature 1 it is 0.5.
    assert hot.tolist() == pytest.approx([0.585786, 0.414214, 0, 0], abs=1e-6)
    plain = distribution(logits, SamplingSettings(temperature=1.0, top_p=0.45))
    assert plain.tolist() == [1, 0, 0, 0]


def test_greedy_takes_the_lowest_id_of_a_tie():
    assert greedy_id(torch.tensor([1.0, 5.0, 5.0, 5.0])) == 1


def test_draws_follow_the_distribution_and_the_seed():
    logits = torch.tensor([8.0, 4.0, 3.0, 1.0]).log()
    settings = SamplingSettings(temperature=1.0, top_k=3, seed=11)
    first, again = new_generator(settings), new_generator(settings)
    ids = [choose(logits, settings, first) for _ in range(6000)]
    assert ids[:200] == [choose(logits, settings, again) for _ in range(200)]
    shares = [ids.count(i) / len(ids) for i in range(4)]
    # Four standard deviations of a share of 6,000 draws are at most 0.026.
    assert shares == pytest.approx([8 / 15, 4 / 15, 3 / 15, 0], abs=0.026)
    assert ids.count(3) == 0


def test_a_draw_takes_one_uniform_number_and_never_an_impossible_id():
    generator = torch.Generator().manual_seed(5)
    probs = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    assert {draw(probs, generator) for _ in range(100)} == {1}
    uniforms = torch.Generator().manual_seed(5)
    for _ in range(100):
        torch.rand((), dtype=torch.float64, generator=uniforms)
    assert torch.equal(generator.get_state(), uniforms.get_state())
