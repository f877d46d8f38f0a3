"""Settings from the address: read first, dropped by name, brought back exactly."""

from __future__ import annotations

import pytest

from pages.ui.settings import RunSettings, address_names, parse_address, to_query

NONSENSE = {
    "prompt": "",
    "layer": "9",
    "head": "-1",
    "steps": "0",
    "seed": "1e3",
    "temperature": "-0.5",
    "top_k": "many",
    "top_p": "nan",
    "min_p": "1.5",
    "dtype": "float64",
    "same_order": "yes",
    "matrix": "w",
    "weights": "int3",
    "group_size": "48",
    "rows": "1e40",
    "position": "256",
    "columns": "-1",
    "model": "Llama 99",
    "accelerator": "abacus",
    "devices": "3",
    "context": "1e12",
    "batch": "2.5",
    "weight_dtype": "int3",
    "kv_dtype": "q5",
    "block_size": "0",
    "reserve_gb": "-1",
    "price": "free",
    "power": "inf",
    "compare": "maybe",
    "step": "9" * 5000,
    "lecture": "<script>",
}


def test_the_table_of_nonsense_is_complete() -> None:
    assert set(NONSENSE) == set(address_names())


def test_every_nonsense_value_is_dropped_and_named() -> None:
    asked = parse_address(NONSENSE, RunSettings())
    assert asked.settings == RunSettings()
    assert (asked.step, asked.lecture) == (0, False)
    assert [item.name for item in asked.dropped] == list(NONSENSE)
    for item in asked.dropped:
        assert len(str(item)) < 200


@pytest.mark.parametrize("name", NONSENSE)
def test_one_bad_value_leaves_the_others(name: str) -> None:
    good = {"layer": "2", "head": "1", "seed": "7", "temperature": "0.8", "step": "3"}
    asked = parse_address({**good, name: NONSENSE[name]}, RunSettings())
    assert [item.name for item in asked.dropped] == [name]
    kept = {key: value for key, value in good.items() if key != name}
    clean = parse_address(kept, RunSettings())
    assert (asked.settings, asked.step) == (clean.settings, clean.step)


def test_sa_03_negative_temperature_is_refused_with_the_rule() -> None:
    (dropped,) = parse_address({"temperature": "-0.5"}, RunSettings()).dropped
    assert str(dropped) == (
        "temperature = “-0.5” was dropped: it must be a number from 0 to 2. Using 0.0."
    )


@pytest.mark.parametrize("top_k", ["0", "50", "1024", "5000"])
def test_sa_05_top_k_may_be_off_or_beyond_the_vocabulary(top_k: str) -> None:
    asked = parse_address({"top_k": top_k}, RunSettings())
    assert asked.settings.top_k == int(top_k)
    assert asked.dropped == ()


def test_an_unknown_name_is_named_but_foreign_ones_are_left_alone() -> None:
    asked = parse_address({"promt": "x", "embed": "true", "utm_source": "mail"}, RunSettings())
    assert [str(item) for item in asked.dropped] == [
        "“promt” = “x” was dropped: no setting has that name. Using the rest."
    ]


@pytest.mark.parametrize(
    "settings",
    [
        RunSettings(),
        RunSettings(prompt='x<b>&"$5 *i* #h\n\t 🤗', layer=3, head=2, steps=9, seed=2**31 - 1),
        RunSettings(
            matrix="lm_head", weights="int4", group_size=64, rows=512, position=0, columns=9
        ),
        RunSettings(temperature=0.7, top_k=5, top_p=0.9, min_p=0.05, dtype="bfloat16"),
        RunSettings(same_order=True, temperature=0.1 + 0.2),
        RunSettings(prompt="   "),
    ],
)
@pytest.mark.parametrize("spelled_out", [False, True])
def test_an_address_brings_the_state_back(settings: RunSettings, spelled_out: bool) -> None:
    query = to_query(settings, None if spelled_out else RunSettings(), step=4, lecture=True)
    asked = parse_address(query, RunSettings())
    assert (asked.settings, asked.step, asked.lecture, asked.dropped) == (settings, 4, True, ())


def test_the_address_of_the_defaults_is_empty() -> None:
    assert to_query(RunSettings(), RunSettings()) == {}


def test_a_long_prompt_keeps_its_end_in_the_address() -> None:
    query = to_query(RunSettings(prompt="a" * 5000 + "the end"), RunSettings())
    assert len(query["prompt"]) == 2000
    assert query["prompt"].endswith("the end")
