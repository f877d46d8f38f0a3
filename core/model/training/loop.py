"""The training loop: seeded, resumable, on the very transformer that the app runs.

Hidden matrices are trained with Muon, the embedding and the norms with AdamW.
Sources: Jordan et al. 2024 (Muon), Loshchilov and Hutter 2019 (AdamW).
"""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from core.config import ModelConfig
from core.model.training.data import PackedStories
from core.model.training.recipe import Recipe
from core.model.transformer import ForwardOptions, Transformer
from core.model.weights import Weights

FUSED = ForwardOptions(fused=True)
EMBEDDING_STD = 0.02
MATRIX_GAIN = 0.8
VALIDATION_ROWS = 64


@dataclass(frozen=True)
class Progress:
    """Where a run stands. Losses in nats per token."""

    step: int
    n_steps: int
    train_loss: float
    validation_loss: float | None
    elapsed_s: float


@dataclass
class TrainingRun:
    """The state of a run: parameters under Hugging Face names, optimisers, random state, log."""

    recipe: Recipe
    parameters: dict[str, Tensor]
    optimizers: list[torch.optim.Optimizer]
    generator: torch.Generator
    step: int = 0
    elapsed_s: float = 0.0
    log: list[tuple[int, float, float]] = field(default_factory=list)  # step, train, validation

    @staticmethod
    def start(recipe: Recipe) -> "TrainingRun":
        """Start a run from seeded random weights."""
        parameters = initial_parameters(recipe.config, recipe.seed)
        generator = torch.Generator().manual_seed(recipe.seed + 1)
        return TrainingRun(recipe, parameters, make_optimizers(recipe, parameters), generator)

    def weights(self) -> Weights:
        """The parameters as the weights of the model, gradients included."""
        return Weights.from_named_tensors(self.recipe.config, self.parameters)

    def save(self, path: Path) -> None:
        """Write everything that the next step depends on; the old file stays until the end."""
        state = {
            "recipe": asdict(self.recipe),
            "parameters": {name: p.detach() for name, p in self.parameters.items()},
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "generator": self.generator.get_state(),
            "step": self.step,
            "elapsed_s": self.elapsed_s,
            "log": self.log,
        }
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        os.replace(partial, path)

    @staticmethod
    def load(recipe: Recipe, path: Path) -> "TrainingRun":
        """Take up a saved run.

        Raises: ValueError if the file was written under another recipe
        """
        state: dict[str, Any] = torch.load(path, weights_only=True)
        if state["recipe"] != asdict(recipe):
            raise ValueError(f"{path} was written under another recipe; pass --fresh to start anew")
        run = TrainingRun.start(recipe)
        with torch.no_grad():
            for name, parameter in run.parameters.items():
                parameter.copy_(state["parameters"][name])
        for optimizer, saved in zip(run.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        run.generator.set_state(state["generator"])
        run.step, run.elapsed_s = state["step"], state["elapsed_s"]
        run.log = [tuple(entry) for entry in state["log"]]
        return run


def initial_parameters(config: ModelConfig, seed: int) -> dict[str, Tensor]:
    """Draw the first weights; what feeds the residual stream starts smaller, by sqrt(2 L)."""
    generator = torch.Generator().manual_seed(seed)
    parameters = {}
    for name, like in Weights.random(config).named_tensors():
        if like.dim() == 1:
            value = torch.ones_like(like)
        else:
            std = EMBEDDING_STD if "embed" in name else MATRIX_GAIN * config.d_model**-0.5
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                std /= (2 * config.n_layers) ** 0.5
            value = torch.empty(like.shape).normal_(0.0, std, generator=generator)
        parameters[name] = value.requires_grad_()
    return parameters


def make_optimizers(recipe: Recipe, parameters: dict[str, Tensor]) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for the rest."""
    hidden = [p for name, p in parameters.items() if p.dim() == 2 and "layers" in name]
    rest = [p for name, p in parameters.items() if not (p.dim() == 2 and "layers" in name)]
    return [
        torch.optim.Muon(
            hidden,
            lr=recipe.learning_rate,
            weight_decay=recipe.muon_weight_decay,
            adjust_lr_fn="match_rms_adamw",
        ),
        torch.optim.AdamW(
            rest, lr=recipe.learning_rate, betas=recipe.adamw_betas, weight_decay=0.0
        ),
    ]


def next_token_loss(model: Transformer, rows: Tensor) -> Tensor:
    """Mean cross-entropy of each row's tokens given those before them.

    Shapes: rows (B, T + 1) -> ()
    Units:  nats per token
    """
    logits = model.full_pass(rows[:, :-1], options=FUSED).logits.float()  # (B, T, V)
    return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


def train_step(run: TrainingRun, data: PackedStories) -> float:
    """Do one step; return its loss in nats per token."""
    recipe = run.recipe
    for optimizer in run.optimizers:
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate_at(run.step)
    rows = data.draw(recipe.batch_size, run.generator)
    with torch.autocast("cpu", torch.bfloat16, enabled=recipe.bfloat16):
        loss = next_token_loss(Transformer(recipe.config, run.weights()), rows)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(run.parameters.values(), recipe.max_grad_norm)
    for optimizer in run.optimizers:
        optimizer.step()
        optimizer.zero_grad()
    run.step += 1
    return loss.item()


@torch.no_grad()
def validation_loss(run: TrainingRun, held_out: PackedStories, batch_size: int = 16) -> float:
    """Mean loss over fixed rows that the run is not trained on, in float32."""
    model = Transformer(run.recipe.config, run.weights())
    indices = torch.arange(min(VALIDATION_ROWS, len(held_out.starts)))
    losses = [
        next_token_loss(model, held_out.rows(part)) * len(part)
        for part in torch.split(indices, batch_size)
    ]
    return float(sum(losses) / len(indices))


def train(
    run: TrainingRun,
    data: PackedStories,
    held_out: PackedStories,
    checkpoint: Path,
    *,
    stop_at: int | None = None,
    validate_every: int = 100,
    save_every: int = 250,
    report: Callable[[Progress], None] = lambda progress: None,
) -> TrainingRun:
    """Train to the end of the recipe (or to step `stop_at`), saving and reporting on the way."""
    last = run.recipe.n_steps if stop_at is None else min(stop_at, run.recipe.n_steps)
    while run.step < last:
        started = time.perf_counter()
        loss = train_step(run, data)
        validation = None
        if run.step % validate_every == 0 or run.step == last:
            validation = validation_loss(run, held_out)
            run.log.append((run.step, loss, validation))
        run.elapsed_s += time.perf_counter() - started
        report(Progress(run.step, run.recipe.n_steps, loss, validation, run.elapsed_s))
        if run.step % save_every == 0 or run.step == last:
            run.save(checkpoint)
    return run
