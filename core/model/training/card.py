"""The model card: what the model was made of, how well it does, what it cannot do."""

from dataclasses import dataclass

from core.model.training.heads import FoundHead
from core.model.training.loop import TrainingRun
from core.model.training.measures import Agreement, HeldOut
from core.model.training.recipe import TOKENIZER_STORIES
from core.model.training.stories import PLOTS, PROMPT_SEED, TEST_SEED


@dataclass(frozen=True)
class Abilities:
    """Shares of probes answered rightly, 0 to 1."""

    copy_invented: float
    copy_unseen: float
    copy_unseen_letters: float
    pronoun_known: float
    pronoun_invented: float
    lookup: float
    lookup_backward: float


@dataclass(frozen=True)
class Report:
    """Everything measured on the shipped (float16) weights of one model."""

    held_out: HeldOut
    abilities: Abilities
    heads: tuple[FoundHead, ...] = ()
    agreement: Agreement | None = None


def model_card(run: TrainingRun, report: Report, n_untrained_ids: int) -> str:
    """Write the card in Markdown."""
    sections = [
        _summary(run),
        _data(run, n_untrained_ids),
        _recipe(run),
        _figures(report),
        _heads(report),
        _limits(report),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _summary(run: TrainingRun) -> str:
    config = run.recipe.config
    size = (
        f"{config.n_params:,} parameters: {config.n_layers} layers, width {config.d_model}, "
        f"{config.n_heads} query and {config.n_kv_heads} key/value heads of {config.head_dim}, "
        f"SwiGLU {config.d_ff}, RMSNorm, rotary positions, one table for input and output, "
        f"{config.vocab_size:,} pieces, context {config.max_seq_len}."
    )
    early = ""
    if run.step < run.recipe.n_steps:
        early = f"\n\n**Provisional: stopped after {run.step} of {run.recipe.n_steps} steps.**"
    roles = {
        "storyteller": "A tiny language model that tells children's stories, small enough to show"
        " every number of every decode step.",
        "draft": "The storyteller's small sibling: it guesses ahead in speculative decoding.",
    }
    return (
        f"# {run.recipe.name.capitalize()}\n\n{roles[run.recipe.name]}{early}\n\n{size}\n\n"
        "The files follow the Hugging Face Llama layout, so\n"
        "`transformers.AutoModelForCausalLM.from_pretrained` loads this folder. Weights are\n"
        "stored in float16 and meant to be computed in float32. Start sequences with `<|bos|>`."
    )


def _data(run: TrainingRun, n_untrained_ids: int) -> str:
    return (
        "## Data\n\n"
        f"Stories told by the grammar in `core/model/training/`: seeds 0 to "
        f"{run.recipe.n_stories - 1:,}, written for this project, no text from anywhere else.\n"
        f"Byte-level BPE trained on the first {TOKENIZER_STORIES:,} of them; {n_untrained_ids} of "
        f"{run.recipe.config.vocab_size:,} pieces\n"
        "(mostly single bytes) occur in none of those, so nothing was learnt about them."
    )


def _recipe(run: TrainingRun) -> str:
    recipe = run.recipe
    precision = "bfloat16 autocast" if recipe.bfloat16 else "float32"
    tokens = run.step * recipe.batch_size * recipe.config.max_seq_len
    table = "\n".join(
        f"| {step} | {train:.3f} | {validation:.4f} |"
        for step, train, validation in _thinned(run.log)
    )
    return (
        "## Recipe\n\n"
        f"Muon for the matrices (weight decay {recipe.muon_weight_decay}) and AdamW "
        f"(betas {recipe.adamw_betas}) for embedding and norms,\n"
        f"peak learning rate {recipe.learning_rate}, gradient norm at most "
        f"{recipe.max_grad_norm}, warm-up {recipe.warmup_share:.0%}, flat to "
        f"{recipe.flat_share:.0%}, then linear to {recipe.last_share:.0%}.\n"
        f"{run.step:,} steps of {recipe.batch_size} rows of {recipe.config.max_seq_len} tokens "
        f"= {tokens / 1e6:.1f} million tokens, {precision}, one thread, seed {recipe.seed}:\n"
        f"{run.elapsed_s / 60:.0f} minutes (measured, on a machine shared with other work).\n"
        "`make model` does it again; another processor rounds otherwise and gives other weights.\n"
        "\n| step | loss of the batch | held out |\n|---|---|---|\n" + table + "\n\n"
        "Losses in nats per token; held out: fixed rows of validation stories."
    )


def _thinned(log: list[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    """Keep the early entries, every fifth later one, and the last."""
    return [e for i, e in enumerate(log) if i < 5 or (i + 1) % 5 == 0 or i == len(log) - 1]


def _figures(report: Report) -> str:
    held_out, can = report.held_out, report.abilities
    rows = [
        ("loss on unseen stories, nats per token", f"{held_out.loss:.4f}"),
        ("entropy of the grammar (upper bound), nats per token", f"{held_out.bound:.4f}"),
        ("loss / bound", f"{held_out.ratio:.3f}"),
        ("copying invented words, tokens right", f"{can.copy_invented:.1%}"),
        ("the same, words longer than any in training", f"{can.copy_unseen:.1%}"),
        ("the same, letters that no invented word had", f"{can.copy_unseen_letters:.1%}"),
        ("She or He, known names", f"{can.pronoun_known:.1%}"),
        ("She or He, invented names", f"{can.pronoun_invented:.1%}"),
        ('colour after "Mia has a", three facts', f"{can.lookup:.1%}"),
        ('name after "Who has the kite?", three facts', f"{can.lookup_backward:.1%}"),
    ]
    if report.agreement:
        agreed = report.agreement
        rows += [
            ("alpha against the storyteller: mean of sum min(p, q)", f"{agreed.alpha:.3f}"),
            ("same greedy choice as the storyteller", f"{agreed.same_argmax:.1%}"),
        ]
    table = "\n".join(f"| {what} | {value} |" for what, value in rows)
    return (
        f"## Figures\n\nMeasured on these files in float32; {held_out.n_stories} stories "
        f"({held_out.n_tokens:,} tokens) with seeds from {TEST_SEED:,},\n"
        f"probes and prompts with seeds from {PROMPT_SEED:,}.\n\n"
        "| what | measured |\n|---|---|\n" + table
    )


def _heads(report: Report) -> str:
    if not report.heads:
        return ""
    table = "\n".join(
        f"| {h.name} | layer {h.layer}, head {h.head} | {h.score:.2f} | {h.measure} |"
        for h in report.heads
    )
    return (
        "## Heads\n\nFound by score; layers and heads count from 0; `heads.json` has the scores "
        "of all.\n\n| pattern | head | score | what the score is |\n|---|---|---|---|\n" + table
    )


def _limits(report: Report) -> str:
    guesses = (
        ""
        if report.heads
        else ("- Alone it tells poor stories: it is made to guess the storyteller's easy tokens.\n")
    )
    return (
        "## What it cannot do\n\n"
        f"- It knows {len(set(PLOTS))} plots and the few hundred words in them, and no facts:\n"
        '  after "The capital of France is" it goes on with a story.\n'
        "- It cannot look up backward: who has the kite, after three facts? "
        f"{report.abilities.lookup_backward:.0%} right, chance 33%.\n"
        "- It copies words of its stories' kind; it does not copy sequences of random tokens.\n"
        "- Positions from 256 on were never trained, nor any script but plain English.\n"
        f"{guesses}"
        "- The text was made for showing how decoding works, not for children to read."
    )
