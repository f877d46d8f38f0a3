"""Generation: one record per token, the reason it stops, the limits of the context."""

import pytest
import torch

from core.decode.generate import FUSED, Decoder, generate
from core.decode.settings import SamplingSettings
from core.model.transformer import DEFAULT_OPTIONS

GREEDY = SamplingSettings()


def ids_of(results):
    return [result.token_id for result in results]


def test_greedy_equals_recomputing_everything(shipped):
    ids = shipped.tokenizer.encode("Once upon a time, there was a little girl named")
    expected = list(ids)
    with torch.inference_mode():
        for _ in range(30):
            logits = shipped.transformer.full_pass(torch.tensor([expected])).logits
            expected.append(int(logits[0, -1].argmax()))
    for options in ({}, {"options": DEFAULT_OPTIONS}):  # fused, and written out
        results = list(generate(shipped.transformer, ids, GREEDY, 30, **options))
        assert ids_of(results) == expected[len(ids) :]


def test_the_prefill_chooses_the_first_token_and_every_step_one_more(random_model):
    results = list(generate(random_model, [0, 5, 6], GREEDY, 4, ignore_end=True))
    assert [result.position for result in results] == [3, 4, 5, 6]
    assert [result.n_new for result in results] == [3, 1, 1, 1]
    assert [result.context_len for result in results] == [3, 4, 5, 6]
    assert [result.stop_reason for result in results] == [None, None, None, "steps"]
    assert all(result.logits.shape == (1024,) and result.elapsed_s > 0 for result in results)


def test_the_end_token_stops_unless_it_is_ignored(random_model, ends_after):
    results = list(generate(ends_after(random_model, 3), [0, 5], GREEDY, 10))
    assert ids_of(results) == [7, 7, 7, random_model.config.end_id]
    assert results[-1].stop_reason == "end"
    going_on = generate(ends_after(random_model, 3), [0, 5], GREEDY, 10, ignore_end=True)
    assert len(list(going_on)) == 10


def test_an_end_token_in_the_prompt_does_not_stop(random_model, ends_after):
    ids = [0, 5, random_model.config.end_id]
    assert len(list(generate(ends_after(random_model, 9), ids, GREEDY, 2))) == 2


def test_mc_02_a_full_context_stops_and_names_the_limit(tiny_model):
    assert tiny_model.config.max_seq_len == 64
    results = list(generate(tiny_model, [0] * 63, GREEDY, 10, ignore_end=True))
    assert len(results) == 1
    assert results[0].stop_reason == "context"
    (asked_for_one,) = generate(tiny_model, [0] * 63, GREEDY, 1, ignore_end=True)
    assert asked_for_one.stop_reason == "steps"
    decoder = Decoder(tiny_model, [0] * 60, GREEDY, ignore_end=True)
    while decoder.stop_reason is None:
        decoder.advance()
    assert len(decoder.tokens) == 64
    with pytest.raises(ValueError, match="the run has stopped, reason: context"):
        decoder.advance()


@pytest.mark.parametrize("n_tokens", [0, 64, 70])
def test_mc_02_prompts_without_room_are_refused(tiny_model, n_tokens):
    with pytest.raises(ValueError, match=f"a prompt must have 1 to 63 tokens, got {n_tokens}"):
        generate(tiny_model, [0] * n_tokens, GREEDY, 1)


def test_no_tokens_are_refused(tiny_model):
    with pytest.raises(ValueError, match="n_new must be at least 1, got 0"):
        generate(tiny_model, [0], GREEDY, 0)


def test_a_seed_repeats_a_run_and_runs_do_not_share_anything(shipped):
    ids = shipped.tokenizer.encode("Once upon a time, there was a little girl named")
    hot = SamplingSettings(temperature=1.0, seed=3)
    alone = ids_of(generate(shipped.transformer, ids, hot, 20, ignore_end=True))
    first, second = (
        Decoder(shipped.transformer, ids, hot, options=FUSED, ignore_end=True) for _ in range(2)
    )
    both = [(first.advance().token_id, second.advance().token_id) for _ in range(20)]
    assert both == [(token, token) for token in alone]
    other = SamplingSettings(temperature=1.0, seed=4)
    assert ids_of(generate(shipped.transformer, ids, other, 20, ignore_end=True)) != alone


def test_temperature_0_takes_no_random_number(random_model):
    decoder = Decoder(random_model, [0, 9], GREEDY, ignore_end=True)
    before = decoder._generator.get_state()
    decoder.advance()
    assert torch.equal(decoder._generator.get_state(), before)
