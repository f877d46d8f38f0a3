"""The settings of a run: one frozen record, read from the address first, kept for the session.

The address is read once, when a session begins, and every value that has to be dropped is
named. From then on the session owns the settings, on every page, and the address follows
(see ``address.py``), so neither a page change nor the browser's Back button loses them.
The step belongs to its page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from core.config import STORYTELLER
from core.cost.catalog import find_accelerator, find_model
from core.cost.checks import MAX_BATCH, MAX_CONTEXT
from core.cost.dtypes import DEFAULT_GROUP_SIZE
from core.decode.settings import SamplingSettings
from core.decode.sweep_settings import DTYPES as SWEEP_DTYPES
from core.decode.sweep_settings import MAX_ROWS
from core.decode.trace_file import DEFAULT_PROMPT
from core.model.token_text import readable_text
from pages.ui import plan_options
from pages.ui.text import shortened

DTYPES = ("float32", "bfloat16")
MAX_STEPS = STORYTELLER.max_seq_len - 1
MAX_TEMPERATURE = 2.0
MAX_SEED = 2**31 - 1
GROUP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Group sizes of int4 in an address; whether one divides the rows of a matrix is asked there."""
URL_PROMPT_CHARS = 2000
"""The last characters of a prompt that an address carries: more than a full context."""

_FOREIGN = ("embed", "utm_")


@dataclass(frozen=True)
class RunSettings:
    """What a learner chose for a run and for how to look at it.

    ``layer`` and ``head`` choose the picture only. ``steps`` is how many cached decode steps
    the run may take. ``same_order`` makes both paths add in the same order.

    What the weight sweep shows: ``matrix``, its ``weights`` precision and ``group_size``, how
    many ``rows`` go through it, the ``position`` of the token whose row comes first (-1 for the
    newest), and how many columns have been read.

    What is planned: ``model`` on ``devices`` of ``accelerator``, for ``batch`` requests of
    ``context`` tokens, with a ``price`` per device and hour and a standing ``power`` in watts,
    0 for none given; ``compare`` draws other numbers of K/V heads beside the model's own.
    """

    prompt: str = DEFAULT_PROMPT
    layer: int = 0
    head: int = 0
    steps: int = 64
    seed: int = 0
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    dtype: str = "float32"
    same_order: bool = False
    matrix: str = "up"
    weights: str = "bfloat16"
    group_size: int = DEFAULT_GROUP_SIZE
    rows: int = 1
    position: int = -1
    columns: int = 0
    model: str = plan_options.DEFAULT_MODEL
    accelerator: str = plan_options.DEFAULT_ACCELERATOR
    devices: int = 1
    context: int = 8192
    batch: int = 1
    weight_dtype: str = "published"
    kv_dtype: str = "16bit"
    block_size: int = 16
    reserve_gb: float = 0.0
    price: float = 0.0
    power: float = 0.0
    compare: bool = False

    @property
    def sampling(self) -> SamplingSettings:
        """The part that decides how a token is chosen."""
        return SamplingSettings(self.temperature, self.top_k, self.top_p, self.min_p, self.seed)

    @property
    def sampling_label(self) -> str:
        """A few words for the sampling button, such as ``greedy`` or ``T 0.8 · top-k 20``."""
        if self.sampling.is_greedy:
            return "greedy"
        parts = [f"T {self.temperature:g}"]
        parts += [f"top-k {self.top_k}"] if self.top_k else []
        parts += [f"top-p {self.top_p:g}"] if self.top_p < 1 else []
        parts += [f"min-p {self.min_p:g}"] if self.min_p else []
        return " · ".join(parts)


@dataclass(frozen=True)
class Dropped:
    """A value in the address that could not be used, with the rule and what is used instead."""

    name: str
    given: str
    rule: str
    used: str

    def __str__(self) -> str:
        return f"{self.name} = {self.given} was dropped: {self.rule}. Using {self.used}."


@dataclass(frozen=True)
class Address:
    """What an address asked for: the settings, the page's step, lecture mode, what was dropped."""

    settings: RunSettings
    step: int = 0
    lecture: bool = False
    dropped: tuple[Dropped, ...] = ()


def _whole(low: int, high: int | None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None
        if value is None or value < low or (high is not None and value > high):
            upper = f"at least {low}" if high is None else f"from {low} to {high}"
            raise ValueError(f"it must be a whole number {upper}")
        return value

    return parse


def _real(low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = (
            float(text)
            if re.fullmatch(r"-?[0-9]{0,9}\.?[0-9]{1,18}(e-?[0-9]{1,2})?", text)
            else None
        )
        if value is None or not low <= value <= high:
            raise ValueError(f"it must be a number from {low:g} to {high:g}")
        return value

    return parse


def _one_of(options: Mapping[str, Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        if text not in options:
            raise ValueError(f"it must be {' or '.join(options)}")
        return options[text]

    return parse


def _prompt(text: str) -> str:
    if not text:
        raise ValueError("it must hold at least one character")
    return text


def _model(text: str) -> str:
    return text if text == plan_options.OWN_MODEL else find_model(text).name


_SWITCH = _one_of({"1": True, "0": False})

_PARSERS: dict[str, Callable[[str], Any]] = {
    "prompt": _prompt,
    "layer": _whole(0, STORYTELLER.n_layers - 1),
    "head": _whole(0, STORYTELLER.n_heads - 1),
    "steps": _whole(1, MAX_STEPS),
    "seed": _whole(0, MAX_SEED),
    "temperature": _real(0, MAX_TEMPERATURE),
    "top_k": _whole(0, None),
    "top_p": _real(0.01, 1),
    "min_p": _real(0, 1),
    "dtype": _one_of({name: name for name in DTYPES}),
    "same_order": _SWITCH,
    "matrix": _one_of({name: name for name in STORYTELLER.matrices()}),
    "weights": _one_of({name: name for name in SWEEP_DTYPES}),
    "group_size": _one_of({str(n): n for n in GROUP_SIZES}),
    "rows": _whole(1, MAX_ROWS),
    "position": _whole(-1, STORYTELLER.max_seq_len - 1),
    "columns": _whole(0, max(d_out for _, d_out in STORYTELLER.matrices().values())),
    "model": _model,
    "accelerator": lambda text: find_accelerator(text).name,
    "devices": _one_of({str(n): n for n in plan_options.DEVICES}),
    "context": _whole(1, MAX_CONTEXT),
    "batch": _whole(1, MAX_BATCH),
    "weight_dtype": _one_of({name: name for name in plan_options.WEIGHT_DTYPES}),
    "kv_dtype": _one_of({name: name for name in plan_options.CACHE_DTYPES}),
    "block_size": _one_of({str(n): n for n in plan_options.BLOCK_SIZES}),
    "reserve_gb": _real(0, plan_options.MAX_RESERVE_GB),
    "price": _real(0, plan_options.MAX_PRICE),
    "power": _real(0, plan_options.MAX_POWER_W),
    "compare": _SWITCH,
}


def parse_address(query: Mapping[str, str], defaults: RunSettings) -> Address:
    """Read settings from an address; what cannot be used is dropped and named.

    >>> parse_address({"layer": "2", "head": "9"}, RunSettings()).settings.layer
    2
    >>> str(parse_address({"head": "9"}, RunSettings()).dropped[0])
    'head = “9” was dropped: it must be a whole number from 0 to 3. Using 0.'
    """
    dropped: list[Dropped] = []

    def read(name: str, parse: Callable[[str], Any], default: Any) -> Any:
        if name not in query:
            return default
        try:
            return parse(query[name])
        except ValueError as rule:
            dropped.append(Dropped(name, _quoted(query[name]), str(rule), _shown(default)))
            return default

    values = {name: read(name, parse, getattr(defaults, name)) for name, parse in _PARSERS.items()}
    settings = replace(defaults, **values)
    step = read("step", _whole(0, settings.steps), 0)
    lecture = read("lecture", _SWITCH, False)
    for name in query:
        if name not in (*_PARSERS, "step", "lecture") and not name.startswith(_FOREIGN):
            rule = "no setting has that name"
            dropped.append(Dropped(_quoted(name), _quoted(query[name]), rule, "the rest"))
    return Address(settings, step, lecture, tuple(dropped))


def to_query(
    settings: RunSettings, defaults: RunSettings | None, step: int = 0, lecture: bool = False
) -> dict[str, str]:
    """Return what an address needs to bring back this state; ``defaults`` are left out.

    >>> to_query(RunSettings(layer=2, same_order=True), RunSettings(), step=3)
    {'layer': '2', 'same_order': '1', 'step': '3'}
    """
    query: dict[str, str] = {}
    for name, value in asdict(settings).items():
        if defaults is None or value != getattr(defaults, name):
            query[name] = _as_text(value)
    if "prompt" in query:
        query["prompt"] = query["prompt"][-URL_PROMPT_CHARS:]
    if step:
        query["step"] = str(step)
    if lecture:
        query["lecture"] = "1"
    return query


def checked(name: str, value: Any, fallback: Any) -> Any:
    """Return a widget's value if it is allowed, else ``fallback``: a browser may send anything.

    >>> checked("layer", 2, 0), checked("layer", 9, 0), checked("dtype", None, "float32")
    (2, 0, 'float32')
    """
    try:
        return _PARSERS[name](_as_text(value))
    except ValueError:
        return fallback


def field_names() -> tuple[str, ...]:
    """The names of all settings, in order."""
    return tuple(field.name for field in fields(RunSettings))


def address_names() -> tuple[str, ...]:
    """Every name that an address of this app may carry."""
    return (*field_names(), "step", "lecture")


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return repr(value) if isinstance(value, float) else str(value)


def _quoted(text: str) -> str:
    return f"“{shortened(readable_text(text), 40)}”"


def _shown(value: Any) -> str:
    return "the default prompt" if value == DEFAULT_PROMPT else _as_text(value)
