"""Putting a trained model into its assets folder, measured and hashed."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from core.model.checkpoint import weights_to_bytes
from core.model.manifest import CONFIG_FILE, MANIFEST_FILE, TOKENIZER_FILE, WEIGHTS_FILE
from core.model.training.card import Abilities, Report, model_card
from core.model.training.heads import FoundHead, find_heads
from core.model.training.loop import TrainingRun
from core.model.training.measures import (
    agreement,
    answer_accuracy,
    copy_accuracy,
    held_out,
)
from core.model.training.probes import copy_probes, lookup_probes, pronoun_probes
from core.model.training.recipe import TOKENIZER_STORIES
from core.model.training.stories import tell_stories
from core.model.transformer import Transformer

HEADS_FILE = "heads.json"
CARD_FILE = "README.md"
N_PROBES = 200


def shipped_model(run: TrainingRun) -> Transformer:
    """The model as it ships: weights rounded to float16, computed in float32."""
    rounded = run.weights().to(torch.float16, "cpu").to(torch.float32, "cpu")
    return Transformer(run.recipe.config, rounded)


@torch.no_grad()
def measure(
    model: Transformer, tokenizer: Tokenizer, *, target: Transformer | None = None
) -> Report:
    """Measure everything that the card reports; a draft is compared with its target."""
    abilities = Abilities(
        copy_invented=copy_accuracy(model, tokenizer, copy_probes(N_PROBES)),
        copy_unseen=copy_accuracy(model, tokenizer, copy_probes(N_PROBES, unseen=True)),
        copy_unseen_letters=copy_accuracy(
            model, tokenizer, copy_probes(N_PROBES, unseen_letters=True)
        ),
        pronoun_known=answer_accuracy(model, tokenizer, pronoun_probes(N_PROBES, invented=False)),
        pronoun_invented=answer_accuracy(model, tokenizer, pronoun_probes(N_PROBES, invented=True)),
        lookup=answer_accuracy(model, tokenizer, lookup_probes(N_PROBES)),
        lookup_backward=answer_accuracy(model, tokenizer, lookup_probes(N_PROBES, backward=True)),
    )
    loss = held_out(model, tokenizer)
    if target is None:
        return Report(loss, abilities, heads=tuple(find_heads(model, tokenizer)))
    return Report(loss, abilities, agreement=agreement(target, model, tokenizer))


def untrained_ids(tokenizer: Tokenizer) -> list[int]:
    """The ids that occur in none of the stories that the tokenizer was trained on."""
    texts = [story.text for story in tell_stories(0, TOKENIZER_STORIES)]
    seen = {0, 1}.union(*(encoding.ids for encoding in tokenizer.encode_batch(texts)))
    return sorted(set(range(tokenizer.get_vocab_size())) - seen)


def ship(
    run: TrainingRun, report: Report, tokenizer_file: Path, untrained: list[int], folder: Path
) -> None:
    """Write all files of a model folder; the manifest, which makes them valid, comes last."""
    config = run.recipe.config
    generation = {"bos_token_id": config.bos_id, "eos_token_id": config.end_id}
    files = {
        CONFIG_FILE: as_json(config.to_hf()),
        "generation_config.json": as_json(generation),
        WEIGHTS_FILE: weights_to_bytes(run.weights()),
        TOKENIZER_FILE: tokenizer_file.read_bytes(),
    }
    if report.heads:
        files[HEADS_FILE] = heads_json(report.heads)
    manifest = {
        "format": 1,
        "name": run.recipe.name,
        "steps": run.step,
        "untrained_ids": untrained,
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    card = model_card(run, report, len(untrained))
    (folder / CARD_FILE).write_text(card, encoding="utf-8")
    (folder / MANIFEST_FILE).write_bytes(as_json(manifest))


def heads_json(heads: tuple[FoundHead, ...]) -> bytes:
    """The found heads and the scores of all heads, one head a line."""
    lines = ",\n".join("  " + json.dumps(asdict(head), ensure_ascii=False) for head in heads)
    return f'{{"format": 1, "heads": [\n{lines}\n]}}\n'.encode()


def as_json(value: Any) -> bytes:
    """Readable JSON, short lists of numbers on one line."""
    lists = {f"@{key}@": item for key, item in value.items() if isinstance(item, list)}
    marked = {k: f"@{k}@" if isinstance(v, list) else v for k, v in value.items()}
    text = json.dumps(marked, indent=2)
    for mark, item in lists.items():
        text = text.replace(f'"{mark}"', json.dumps(item))
    return (text + "\n").encode()
