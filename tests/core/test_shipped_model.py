"""The models in assets/: whole, small, as good as the card says, and plain Llama to others."""

import hashlib
import json
import re
from functools import cache

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, LlamaForCausalLM

from core.config import DRAFT, STORYTELLER
from core.model.checkpoint import load_model
from core.model.manifest import DRAFT_FOLDER, MODEL_FOLDER
from core.model.training.heads import PATTERNS, Pattern
from core.model.training.measures import (
    HeldOut,
    agreement,
    answer_accuracy,
    copy_accuracy,
    held_out,
)
from core.model.training.probes import copy_probes, lookup_probes, pronoun_probes
from core.model.training.recipe import RECIPES
from core.model.training.stories import PROMPT_SEED, tell_story
from core.model.transformer import Transformer

FOLDERS = {"storyteller": MODEL_FOLDER, "draft": DRAFT_FOLDER}
NOT_HASHED = {"manifest.json", "README.md"}

PROMPTS = [
    "Once upon a time, there was a little girl named Zolimo. One night, Zolimo heard a noise."
    " Bang, bang!",
    'Zolimo and Tavu played the copy game. Zolimo said, "Kadu, mipo, red, fox." Tavu said, "',
    "Tom has a red ball. Mia has a blue kite. Ben has a green hat. What does Mia have? Mia has a",
    "Once upon a time, there was a little girl named",
    "The capital of France is",
    "a",
    "   ",
    "12 + 34 = 46\n\n\tdef f(x): return x",
    "é 你好 😀",
    *[tell_story(PROMPT_SEED + index).text[: 60 * (index + 1)] for index in range(13)],
]


@cache
def model(name: str) -> Transformer:
    return load_model(FOLDERS[name]).transformer


@cache
def peer(name: str) -> LlamaForCausalLM:
    return AutoModelForCausalLM.from_pretrained(
        FOLDERS[name], dtype=torch.float32, attn_implementation="eager", local_files_only=True
    )


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(MODEL_FOLDER / "tokenizer.json"))


@pytest.fixture(scope="module")
def loss(tokenizer: Tokenizer) -> HeldOut:
    return held_out(model("storyteller"), tokenizer, n_stories=400)


# ---- the files -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FOLDERS)
def test_files_are_the_ones_of_the_manifest(name: str) -> None:
    files = json.loads((FOLDERS[name] / "manifest.json").read_text())["files"]
    assert set(files) == {path.name for path in FOLDERS[name].iterdir()} - NOT_HASHED
    for file, promised in files.items():
        content = (FOLDERS[name] / file).read_bytes()
        assert len(content) == promised["bytes"]
        assert hashlib.sha256(content).hexdigest() == promised["sha256"]


@pytest.mark.parametrize(
    ("name", "config", "most_bytes"),
    [("storyteller", STORYTELLER, 2.5e6), ("draft", DRAFT, 0.5e6)],
)
def test_shapes_and_sizes(name: str, config: object, most_bytes: float) -> None:
    assert model(name).config == config
    assert sum(path.stat().st_size for path in FOLDERS[name].iterdir()) < most_bytes


def test_both_models_share_one_tokenizer(tokenizer: Tokenizer) -> None:
    ours, drafts = (folder / "tokenizer.json" for folder in (MODEL_FOLDER, DRAFT_FOLDER))
    assert ours.read_bytes() == drafts.read_bytes()
    assert tokenizer.token_to_id("<|bos|>") == STORYTELLER.bos_id
    assert tokenizer.token_to_id("<|end|>") == STORYTELLER.end_id
    assert tokenizer.get_vocab_size() == STORYTELLER.vocab_size


@pytest.mark.parametrize("name", FOLDERS)
def test_the_card_tells_of_the_whole_recipe(name: str) -> None:
    card = (FOLDERS[name] / "README.md").read_text(encoding="utf-8")
    manifest = json.loads((FOLDERS[name] / "manifest.json").read_text())
    assert manifest["steps"] == RECIPES[name].n_steps
    assert "Provisional" not in card
    assert f"{RECIPES[name].n_steps:,} steps" in card


# ---- what the storyteller can do ---------------------------------------------------------------


def test_the_loss_is_near_the_entropy_of_the_grammar(loss: HeldOut) -> None:
    # Below the bound would mean that test stories leaked or that the nats are counted wrongly.
    assert 0.97 <= loss.ratio <= 1.10


def test_the_card_states_the_loss(loss: HeldOut) -> None:
    card = (MODEL_FOLDER / "README.md").read_text(encoding="utf-8")
    stated = [float(value) for value in re.findall(r"nats per token \| ([\d.]+) \|", card)]
    assert stated == [pytest.approx(loss.loss, abs=1e-3), pytest.approx(loss.bound, abs=1e-4)]


@pytest.mark.parametrize("unseen", [False, True])
def test_it_copies_words_it_cannot_know(tokenizer: Tokenizer, unseen: bool) -> None:
    probes = copy_probes(60, unseen=unseen)
    assert copy_accuracy(model("storyteller"), tokenizer, probes) >= 0.97


@pytest.mark.parametrize("invented", [False, True])
def test_it_finds_the_pronoun(tokenizer: Tokenizer, invented: bool) -> None:
    probes = pronoun_probes(80, invented=invented)
    assert answer_accuracy(model("storyteller"), tokenizer, probes) >= 0.95


def test_it_looks_up_who_has_what(tokenizer: Tokenizer) -> None:
    assert answer_accuracy(model("storyteller"), tokenizer, lookup_probes(120)) >= 0.90


def test_the_draft_guesses_what_the_storyteller_says(tokenizer: Tokenizer) -> None:
    agreed = agreement(model("storyteller"), model("draft"), tokenizer, n_prompts=12, n_tokens=80)
    assert agreed.alpha >= 0.7
    assert agreed.same_argmax >= 0.7


# ---- its heads ---------------------------------------------------------------------------------

LEAST_SCORES = {"previous token": 0.8, "induction": 0.7, "first-token sink": 0.25}


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_the_recorded_heads_do_what_their_sentence_says(
    tokenizer: Tokenizer, pattern: Pattern
) -> None:
    recorded = json.loads((MODEL_FOLDER / "heads.json").read_text(encoding="utf-8"))["heads"]
    entry = next(head for head in recorded if head["name"] == pattern.name)
    scores = pattern.score(model("storyteller"), tokenizer, 40)
    score = float(scores[entry["layer"], entry["head"]])
    assert score == pytest.approx(float(scores.max()), abs=0.02)  # the best one, or next to it
    assert entry["score"] == pytest.approx(score, abs=0.08)  # recorded over another sample
    assert min(score, entry["score"]) >= LEAST_SCORES.get(pattern.name, 0.3)
    assert entry["sentence"] == pattern.sentence


# ---- the same model elsewhere ------------------------------------------------------------------


def test_enough_prompts_are_compared() -> None:
    assert len(set(PROMPTS)) == len(PROMPTS) >= 20


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("prompt", PROMPTS, ids=range(len(PROMPTS)))
@torch.no_grad()
def test_transformers_computes_the_same(tokenizer: Tokenizer, prompt: str, name: str) -> None:
    ids = torch.tensor([[0, *tokenizer.encode(prompt).ids][: STORYTELLER.max_seq_len]])
    ours = model(name).full_pass(ids, record=True)
    theirs = peer(name)(ids, output_attentions=True, use_cache=False)
    assert (ours.logits - theirs.logits).abs().max() <= 1e-3
    for layer, attentions in zip(ours.layers, theirs.attentions, strict=True):
        assert (layer.attn_weights - attentions).abs().max() <= 1e-4


@pytest.mark.parametrize("name", FOLDERS)
def test_the_cached_path_computes_the_same(tokenizer: Tokenizer, name: str) -> None:
    ids = torch.tensor([[0, *tokenizer.encode(PROMPTS[0]).ids]])
    kv_cache = model(name).new_cache()
    half = ids.shape[1] // 2
    logits = [model(name).prefill(ids[:, :half], kv_cache).logits]
    for position in range(half, ids.shape[1]):
        logits.append(model(name).decode_step(ids[:, position : position + 1], kv_cache).logits)
    assert (torch.cat(logits, 1) - model(name).full_pass(ids).logits).abs().max() <= 1e-4
