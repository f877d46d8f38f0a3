"""What to measure: weights, batch, context, steps, precision, device, as one row of choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from core.config import STORYTELLER, ModelConfig
from core.cost.config_text import ConfigError
from core.machine.records import DeviceInfo
from core.machine.spec import BATCH_SWEEP, CONTEXT_SWEEP, DTYPES, MeasureKind, MeasureSpec
from pages.ui import live_words, units
from pages.ui.config_input import read_model
from pages.ui.text import literal_html

SHIPPED = "shipped"
OWN = "config"
ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
BY_BYTES = (128_000_000, 500_000_000, 1_000_000_000, 2_000_000_000, 4_000_000_000)
BY_PARAMETERS = (500_000_000, 1_000_000_000, 3_000_000_000, 7_000_000_000)
BATCHES = (1, 2, 4, 8, 16, 32)
CONTEXTS = (16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384)
STEPS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16_384)
SHARE_OF_FREE = 0.6
"""Sizes beyond this share of the free memory are not offered: caches and the probe need room."""

_PREFIX = "live_"
_OWN_CONFIG = "_live_own_config"
_OWN_PROBLEM = "_live_own_problem"
DEFAULTS: dict[str, Any] = {
    "weights": "b500000000",
    "dtype": "bfloat16",
    "batch": 1,
    "context": 128,
    "steps": 128,
    "device": "auto",
}


@dataclass(frozen=True)
class OwnShape:
    """A dropped-in model: its name, our shape of it."""

    name: str
    config: ModelConfig


def weight_options(device: DeviceInfo | None, dtype: str, heavy: bool = True) -> list[str]:
    """Return the sizes that fit the device, smallest first: ``b`` by bytes, ``p`` by parameters.

    ``heavy`` False leaves the shipped model alone. Without a device yet, sizes up to 1 GB.

    >>> weight_options(DeviceInfo("cpu", "cpu", "", "", None, 2 * 10**9), "bfloat16")
    ['shipped', 'b128000000', 'b500000000', 'b1000000000']
    """
    options = [SHIPPED]
    if not heavy:
        return options
    free = device.memory_free_bytes if device is not None else None
    room = SHARE_OF_FREE * free if free is not None else 1.0e9
    options += [f"b{n}" for n in BY_BYTES if n <= room]
    if device is not None and device.kind != "cpu":
        options += [f"p{n}" for n in BY_PARAMETERS if n * ITEM_BYTES[dtype] <= room]
    if own_shape() is not None:
        options.append(OWN)
    return options


def weight_label(option: str) -> str:
    """Return an option in words.

    >>> weight_label("b500000000"), weight_label("p7000000000")
    ('Weights 500 MB', 'Weights 7 billion')
    """
    if option == SHIPPED:
        return "Shipped model"
    if option == OWN:
        own = own_shape()
        return f"Shape of {own.name}" if own else "Your config.json"
    if option.startswith("p"):
        return f"Weights {units.number(int(option[1:]) / 1e9)} billion"
    return f"Weights {units.decimal_bytes(int(option[1:]), 3)}"


def value(name: str) -> Any:
    """Return a choice as it stands, before or after its widget is drawn."""
    return st.session_state.setdefault(_PREFIX + name, DEFAULTS[name])


def key(name: str) -> str:
    """Return the session key of a choice's widget."""
    return _PREFIX + name


def settings_row(devices: Sequence[DeviceInfo] | None, *, heavy: bool) -> None:
    """Draw the choices; sizes that no longer fit give way to the largest that does."""
    device = chosen_device(devices)
    _device_choice(devices)
    options = weight_options(device, value("dtype"), heavy)
    if value("weights") not in options:
        st.session_state[key("weights")] = options[-1]
    _select("weights", "Weights", options, weight_label, 168)
    _select("batch", "Batch", BATCHES, lambda n: f"Batch {n}", 108)
    _select("context", "Context", CONTEXTS, lambda n: f"Context {units.count(n)}", 142)
    more = f"{units.count(value('steps'))} steps, {SHORT[value('dtype')]}"
    with st.popover(more, key="onr_live_more"):
        _select("steps", "Steps", STEPS, lambda n: f"{units.count(n)} steps", "stretch", True)
        _select("dtype", "Precision", DTYPES, lambda name: name, "stretch", True)
        if heavy:
            st.file_uploader(
                "The shape of your own config.json, filled with random weights",
                key="live_upload",
                on_change=_read,
                help="Only its widths and depth are used.",
            )


def _select(
    name: str,
    label: str,
    options: Sequence[Any],
    words: Callable[[Any], str],
    width: int | Literal["stretch"],
    labelled: bool = False,
) -> None:
    value(name)
    st.selectbox(
        label,
        options,
        format_func=words,
        key=key(name),
        persist_state="session",
        label_visibility="visible" if labelled else "collapsed",
        width=width,
    )


def _device_choice(devices: Sequence[DeviceInfo] | None) -> None:
    """The device in words; a choice where there are several."""
    names = [device.torch_name for device in devices or ()]
    if len(names) < 2:
        words = live_words.device_chip(chosen_device(devices))
        text = literal_html(words)
        chip = f'<p class="onr-device" data-onr="device" title="{text}">{text}</p>'
        with st.container(key="onr_live_device", width="content"):
            st.html(chip)
        return
    found = {device.torch_name: device for device in devices or ()}
    if value("device") not in found:
        st.session_state[key("device")] = names[0]
    _select("device", "Device", names, lambda n: live_words.device_chip(found[n]), 250)


def chosen_device(devices: Sequence[DeviceInfo] | None) -> DeviceInfo | None:
    """Return the device that is measured, or None while the devices are not known."""
    if not devices:
        return None
    wanted = value("device")
    return next((device for device in devices if device.torch_name == wanted), devices[0])


def spec(kind: MeasureKind = "decode") -> MeasureSpec:
    """Return the measurement that the choices ask for.

    Raises: ValueError with a sentence for the page.
    """
    weights, context = value("weights"), value("context")
    config, n_bytes = None, None
    if weights == OWN:
        own = own_shape()
        config = own.config if own is not None else None
    elif weights.startswith("b"):
        n_bytes = int(weights[1:])
    elif weights.startswith("p"):
        n_bytes = int(weights[1:]) * ITEM_BYTES[value("dtype")]
    longest = STORYTELLER.max_seq_len if weights == SHIPPED else None
    if config is not None:
        longest = config.max_seq_len
    if longest is not None and kind != "context sweep" and context > longest:
        raise ValueError(
            f"This model's context is {units.count(longest)} tokens; "
            f"{units.count(context)} cannot be held. Choose a shorter context."
        )
    return MeasureSpec(
        kind=kind,
        model="shipped" if weights == SHIPPED else "heavy",
        device=value("device"),
        weight_bytes=n_bytes,
        config=config,
        dtype=value("dtype"),
        batch_size=value("batch"),
        context_len=context,
        n_steps=value("steps"),
        sweep=sweep_of(kind, longest),
    )


def sweep_of(kind: MeasureKind, longest: int | None) -> tuple[int, ...]:
    """Return the batches or contexts of a sweep, contexts within what the model has.

    >>> sweep_of("context sweep", 256)
    (32, 64, 128, 256)
    """
    if kind == "batch sweep":
        return BATCH_SWEEP
    if kind != "context sweep":
        return ()
    if longest is not None and longest < CONTEXT_SWEEP[2]:
        return tuple(n for n in (longest // 8, longest // 4, longest // 2, longest) if n >= 1)
    return tuple(n for n in CONTEXT_SWEEP if longest is None or n <= longest)


def own_shape() -> OwnShape | None:
    """The reader's own model shape, if one has been read."""
    found: OwnShape | None = st.session_state.get(_OWN_CONFIG)
    return found


def own_problem() -> str:
    """Why the last config could not be used; empty where it could."""
    return str(st.session_state.get(_OWN_PROBLEM, ""))


def _read() -> None:
    file = st.session_state.get("live_upload")
    if file is None:
        return
    try:
        st.session_state[_OWN_CONFIG] = read_own_shape(file.getvalue(), file.name)
    except (ConfigError, ValueError) as error:
        st.session_state[_OWN_PROBLEM] = f"This config cannot be measured: {error}."
        return
    st.session_state[_OWN_PROBLEM] = ""
    st.session_state[key("weights")] = OWN


def read_own_shape(text: bytes, name: str) -> OwnShape:
    """Return the shape that a config's text describes.

    Raises: ConfigError or ValueError with one line for a person
    """
    from core.machine.shape import shape_of

    model = read_model(text, name)
    return OwnShape(model.name, shape_of(model))
