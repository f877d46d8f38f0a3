"""Make the shipped models: `python -m core.model.training [tokenizer] [train] [ship]`.

Without a step named, all are done in order.  Training goes on where it was stopped; nothing in
the assets folder changes before the last step.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from core.model.training.data import pack_stories
from core.model.training.loop import Progress, TrainingRun, train
from core.model.training.recipe import RECIPES, TOKENIZER_STORIES, Recipe
from core.model.training.ship import measure, ship, shipped_model, untrained_ids
from core.model.training.stories import VALIDATION_SEED, tell_stories
from core.model.training.tokenization import load_tokenizer, train_tokenizer
from core.model.transformer import Transformer

ROOT = Path(__file__).resolve().parents[3]
STEPS = ("tokenizer", "train", "ship")
FOLDERS = {"storyteller": "model", "draft": "draft"}
VALIDATION_STORIES = 300
BAR_CELLS = 24


def make_tokenizer(work: Path) -> None:
    """Train the tokenizer that both models share."""
    vocab_size = next(iter(RECIPES.values())).config.vocab_size
    texts = (story.text for story in tell_stories(0, TOKENIZER_STORIES))
    train_tokenizer(texts, vocab_size).save(str(work / "tokenizer.json"))
    print(f"tokenizer: {vocab_size} pieces from {TOKENIZER_STORIES} stories")


def train_model(recipe: Recipe, work: Path, fresh: bool) -> None:
    """Train one model to the end of its recipe, from where it was stopped unless `fresh`."""
    checkpoint = work / f"{recipe.name}.pt"
    resume = checkpoint.exists() and not fresh
    run = TrainingRun.load(recipe, checkpoint) if resume else TrainingRun.start(recipe)
    print(f"{recipe.name}: {recipe.config.n_params:,} parameters, step {run.step}", flush=True)
    if run.step == recipe.n_steps:
        return
    tokenizer = load_tokenizer(work / "tokenizer.json")
    data = pack_stories(tokenizer, recipe.config, 0, recipe.n_stories)
    held_out = pack_stories(tokenizer, recipe.config, VALIDATION_SEED, VALIDATION_STORIES)
    print(f"{recipe.name}: {len(data.tokens):,} tokens of {recipe.n_stories:,} stories", flush=True)
    train(run, data, held_out, checkpoint, report=progress_bar(recipe.name))


def ship_models(work: Path, assets: Path) -> None:
    """Measure both models and put them into the assets folder, as far as they are trained.

    Raises: ValueError if one has not been trained at all
    """
    for name in RECIPES:
        if not (work / f"{name}.pt").exists():
            raise ValueError(f"{work} must hold {name}.pt to ship it: do the step train first")
    tokenizer_file = work / "tokenizer.json"
    tokenizer = load_tokenizer(tokenizer_file)
    untrained = untrained_ids(tokenizer)
    target: Transformer | None = None
    for recipe in RECIPES.values():
        run = TrainingRun.load(recipe, work / f"{recipe.name}.pt")
        model = shipped_model(run)
        report = measure(model, tokenizer, target=target)
        folder = assets / FOLDERS[recipe.name]
        ship(run, report, tokenizer_file, untrained, folder)
        print(f"{folder}: {run.step} steps\n{report}", flush=True)
        target = model


def progress_bar(name: str) -> Callable[[Progress], None]:
    """Draw one line that moves on a terminal, or one line per validation elsewhere."""
    on_terminal = sys.stdout.isatty()
    first: list[Progress] = []

    def report(now: Progress) -> None:
        first.append(now) if not first else None
        steps = max(1, now.step - first[0].step)
        step_s = (now.elapsed_s - first[0].elapsed_s) / steps
        cells = now.step * BAR_CELLS // now.n_steps
        line = (
            f"{name} [{'#' * cells}{'.' * (BAR_CELLS - cells)}] {now.step}/{now.n_steps}"
            f"  loss {now.train_loss:.3f}  {step_s:.2f} s/step"
            f"  {(now.n_steps - now.step) * step_s / 60:.1f} min left"
        )
        if now.validation_loss is not None:
            print(f"\r{line}  held out {now.validation_loss:.4f} nats/token", flush=True)
        elif on_terminal:
            print(f"\r{line}", end="", flush=True)

    return report


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m core.model.training", description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="step", help=f"of {', '.join(STEPS)}")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "model")
    parser.add_argument("--assets", type=Path, default=ROOT / "assets")
    parser.add_argument("--model", choices=sorted(RECIPES), help="only this one")
    parser.add_argument("--fresh", action="store_true", help="do not take up a stopped run")
    parser.add_argument("--threads", type=int, default=1)
    parsed = parser.parse_args(arguments)
    for step in parsed.steps:
        if step not in STEPS:
            parser.error(f"step must be one of {', '.join(STEPS)}, got {step!r}")
    return parsed


def main(arguments: list[str] | None = None) -> None:
    """Do the steps asked for."""
    options = parse_arguments(arguments)
    torch.set_num_threads(options.threads)
    options.work.mkdir(parents=True, exist_ok=True)
    steps = options.steps or STEPS
    recipes = [RECIPES[options.model]] if options.model else list(RECIPES.values())
    if "tokenizer" in steps and (options.fresh or not (options.work / "tokenizer.json").exists()):
        make_tokenizer(options.work)
    if "train" in steps:
        for recipe in recipes:
            train_model(recipe, options.work, options.fresh)
    if "ship" in steps:
        ship_models(options.work, options.assets)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
