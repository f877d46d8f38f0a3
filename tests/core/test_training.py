"""The making of the models: the same stories, an honest bound, and a loop that can be stopped."""

import ast
import hashlib
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from core.config import ModelConfig
from core.model.checkpoint import load_model
from core.model.training.card import Abilities, Report
from core.model.training.chooser import Chooser
from core.model.training.data import PackedStories, pack_stories
from core.model.training.heads import score_previous_token
from core.model.training.loop import TrainingRun, train
from core.model.training.measures import HeldOut, held_out
from core.model.training.probes import copy_probes, lookup_probes, pronoun_probes, token_at
from core.model.training.recipe import RECIPES, Recipe
from core.model.training.ship import ship, shipped_model
from core.model.training.stories import (
    PROMPT_SEED,
    TEST_SEED,
    VALIDATION_SEED,
    tell_stories,
    tell_story,
)
from core.model.training.template import expand, parse
from core.model.training.tokenization import train_tokenizer

ROOT = Path(__file__).parents[2]
MICRO = ModelConfig(
    n_layers=1,
    d_model=32,
    n_heads=2,
    n_kv_heads=1,
    head_dim=16,
    d_ff=48,
    vocab_size=300,
    max_seq_len=32,
)
# SHA-256 of the stories of seeds 0 to 99; it changes only when the grammar does, and then the
# shipped models have to be trained again.
PINNED = "7b304aeec14b549341ac331c58c1d90b7430a6c03323196a59a350ab5e09a5ec"
LONG = replace(MICRO, max_seq_len=512)
RECIPE = Recipe("storyteller", MICRO, n_steps=20, learning_rate=2e-2, n_stories=20, batch_size=4)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([story.text for story in tell_stories(0, 50)], MICRO.vocab_size)


@pytest.fixture(scope="module")
def data(tokenizer: Tokenizer) -> PackedStories:
    return pack_stories(tokenizer, MICRO, 0, RECIPE.n_stories)


def test_a_hundred_stories_are_the_pinned_ones() -> None:
    text = "\n\n".join(story.text for story in tell_stories(0, 100))
    assert hashlib.sha256(text.encode()).hexdigest() == PINNED


def test_a_seed_tells_one_story() -> None:
    assert tell_story(5) == tell_story(5)
    assert len({tell_story(seed).text for seed in range(50)}) == 50


def test_training_seeds_stay_away_from_the_held_out_ones() -> None:
    for recipe in RECIPES.values():
        assert recipe.n_stories < VALIDATION_SEED < TEST_SEED < PROMPT_SEED


def test_stories_are_plain_sentences() -> None:
    for story in tell_stories(0, 200):
        assert not set(story.text) & set("[]{}|")
        assert "  " not in story.text
        assert story.text[-1] in '.!"'
        assert story.nats > 0


# ---- the bound -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "probabilities"),
    [
        ("[a|b]", {"a": 1 / 2, "b": 1 / 2}),
        ("[a|a|b]", {"a": 2 / 3, "b": 1 / 3}),
        ("[a|||]", {"a": 1 / 4, "": 3 / 4}),
        ("[a|[b|c]]", {"a": 1 / 2, "b": 1 / 4, "c": 1 / 4}),
        ("x[a|b][c|d]", {"xac": 1 / 4, "xad": 1 / 4, "xbc": 1 / 4, "xbd": 1 / 4}),
    ],
)
def test_nats_are_the_log_of_the_probability(
    template: str, probabilities: dict[str, float]
) -> None:
    for seed in range(40):
        chooser = Chooser(seed)
        text = expand(template, chooser)
        assert chooser.nats == pytest.approx(-math.log(probabilities[text]))


def test_choices_come_as_often_as_their_nats_say() -> None:
    counts: Counter[str] = Counter()
    nats: dict[str, float] = {}
    for seed in range(4000):
        chooser = Chooser(seed)
        word = chooser.pick_zipf(["first", "second", "third", "fourth"])
        counts[word] += 1
        nats[word] = chooser.nats
    assert sum(math.exp(-value) for value in nats.values()) == pytest.approx(1)
    for word, value in nats.items():
        assert counts[word] / 4000 == pytest.approx(math.exp(-value), abs=0.03)  # 4 sigma
    assert counts.most_common()[0][0] == "first"


def test_a_choice_that_is_not_taken_costs_nothing() -> None:
    taken = {expand("[a|[b|c|d|e]]", chooser := Chooser(seed)): chooser.nats for seed in range(60)}
    assert taken["a"] == pytest.approx(math.log(2))
    assert taken["b"] == pytest.approx(math.log(2) + math.log(4))


def test_samples_without_repeats_count_what_is_left() -> None:
    chooser = Chooser(1)
    assert sorted(chooser.sample("abc", 3)) == ["a", "b", "c"]
    assert chooser.nats == pytest.approx(math.log(6))


@pytest.mark.parametrize("template", ["[a|b", "a]", "[a[b]"])
def test_an_unclosed_template_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="close each bracket"):
        parse(template)


# ---- rows and probes -------------------------------------------------------------------------


def test_rows_start_at_the_start_of_a_story(data: PackedStories, tokenizer: Tokenizer) -> None:
    rows = data.draw(64, torch.Generator().manual_seed(0))
    assert rows.shape == (64, MICRO.max_seq_len + 1)
    assert (rows[:, 0] == MICRO.bos_id).all()
    first = tokenizer.decode(data.rows(torch.tensor([0]))[0].tolist())
    assert tell_story(0).text.startswith(first)


def test_too_few_stories_for_a_row_are_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="n_stories must fill a row"):
        pack_stories(tokenizer, replace(MICRO, max_seq_len=5000), 0, 1)


def test_probes_point_at_their_clue() -> None:
    for probe in copy_probes(20, unseen_letters=True):
        line = probe.text[probe.line_start :][: probe.line_len]
        assert probe.text[probe.copy_start :] == line + '."'
    for answer_probe in pronoun_probes(20, invented=True):
        species = "girl" if answer_probe.answer == " She" else "boy"
        assert answer_probe.text[answer_probe.clue :].startswith(species)
    for answer_probe in lookup_probes(20, backward=True):
        assert answer_probe.text[answer_probe.clue :].startswith(answer_probe.answer[1:] + " has")
    for answer_probe in lookup_probes(20):
        assert answer_probe.text[answer_probe.clue - 1 :].startswith(answer_probe.answer + " ")


def test_token_positions_count_the_start_token(tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode("ab")
    assert token_at(encoding, 0) == 1
    with pytest.raises(ValueError, match="inside the text"):
        token_at(encoding, 2)


# ---- the loop --------------------------------------------------------------------------------


def test_a_stopped_run_goes_on_as_if_it_had_not_been(data: PackedStories, tmp_path: Path) -> None:
    recipe = replace(RECIPE, n_steps=6)
    through = train(TrainingRun.start(recipe), data, data, tmp_path / "a.pt")

    stopped = tmp_path / "b.pt"
    train(TrainingRun.start(recipe), data, data, stopped, stop_at=3)
    resumed = TrainingRun.load(recipe, stopped)
    assert resumed.step == 3
    train(resumed, data, data, stopped)

    for name, parameter in through.parameters.items():
        assert torch.equal(parameter, resumed.parameters[name]), name
    assert resumed.log[-1] == through.log[-1]


def test_another_recipe_is_not_taken_up(data: PackedStories, tmp_path: Path) -> None:
    file = tmp_path / "run.pt"
    train(TrainingRun.start(RECIPE), data, data, file, stop_at=1)
    with pytest.raises(ValueError, match="another recipe"):
        TrainingRun.load(replace(RECIPE, learning_rate=1e-3), file)


def test_the_loss_falls_within_20_steps(data: PackedStories, tmp_path: Path) -> None:
    losses: list[float] = []
    run = TrainingRun.start(RECIPE)
    train(run, data, data, tmp_path / "run.pt", report=lambda now: losses.append(now.train_loss))
    assert losses[0] == pytest.approx(math.log(MICRO.vocab_size), abs=0.2)  # knows nothing yet
    assert losses[-1] < losses[0] - 1


# ---- measuring and shipping ------------------------------------------------------------------


def test_an_untrained_model_scores_as_it_must(tokenizer: Tokenizer) -> None:
    """With all query weights 0 every row is uniform, so the score is the mean of 1 / (t + 1)."""
    run = TrainingRun.start(replace(RECIPE, config=LONG))
    with torch.no_grad():
        run.parameters["model.layers.0.self_attn.q_proj.weight"].zero_()
    scores = score_previous_token(shipped_model(run), tokenizer, 1)
    probe = copy_probes(1)[0]
    encoding = tokenizer.encode(probe.text)
    rows = [
        row
        for start in (probe.line_start, probe.copy_start)
        for row in range(token_at(encoding, start), token_at(encoding, start + probe.line_len))
    ]
    expected = sum(1 / (row + 1) for row in rows) / len(rows)
    assert scores.tolist() == [pytest.approx([expected, expected])]


def test_padding_changes_no_loss(tokenizer: Tokenizer) -> None:
    model = shipped_model(TrainingRun.start(replace(RECIPE, config=LONG)))
    together = held_out(model, tokenizer, n_stories=6)
    alone = [held_out(model, tokenizer, 1, TEST_SEED + index) for index in range(6)]
    assert together.n_tokens == sum(one.n_tokens for one in alone)
    mean = sum(one.loss * one.n_tokens for one in alone) / together.n_tokens
    assert together.loss == pytest.approx(mean, rel=1e-5)


def test_a_shipped_folder_loads(data: PackedStories, tokenizer: Tokenizer, tmp_path: Path) -> None:
    run = train(TrainingRun.start(RECIPE), data, data, tmp_path / "run.pt", stop_at=2)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    model = shipped_model(run)
    report = Report(
        HeldOut(loss=2.0, bound=1.0, n_tokens=10, n_stories=1),
        Abilities(0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.125),
    )
    ship(run, report, tmp_path / "tokenizer.json", [2, 3], tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.config == MICRO
    for (name, shipped), (_, measured) in zip(
        loaded.transformer.weights.named_tensors(), model.weights.named_tensors(), strict=True
    ):
        assert torch.equal(shipped, measured), name
    assert loaded.manifest.untrained_ids == {2, 3}
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "stopped after 2 of 20 steps" in card
    assert "| 25.0% |" in card


def test_the_app_never_imports_the_training_code() -> None:
    training = ROOT / "core" / "model" / "training"
    files = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "core").rglob("*.py")]
    for file in files:
        if training in file.parents or not file.exists():
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
            assert not any(name.startswith("core.model.training") for name in names), file
