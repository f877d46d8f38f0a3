"""What a reader takes away: a page that plays offline, the rows, the run, a link."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest

from core.decode.trace import Run
from core.model.checkpoint import LoadedModel, load_model
from core.model.transformer import Transformer
from pages.ui import caching, export, source, take_away
from pages.ui.settings import RunSettings

HOSTILE = '</script><script>w()</script> <b>y</b> & "q" {{js}} {{payload}} $5 *i* \u2028'


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return load_model()


def session_run(model: LoadedModel, prompt: str) -> caching.SessionRun:
    run = Run(model, prompt)
    return caching.SessionRun((prompt,), 8, run.extend(3), run)


class _Scripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.addresses: list[str] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open = tag == "script"
        if self._open:
            self.scripts.append((dict(attrs), ""))
        self.addresses += [str(v) for k, v in attrs if k in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)


def player(model: LoadedModel, prompt: str) -> str:
    run = session_run(model, prompt)
    return export.player_html(*take_away.offline(run, RunSettings(layer=1, head=2)))


def test_offline_page_holds_a_hostile_prompt_as_data_only(model: LoadedModel) -> None:
    html = player(model, HOSTILE)
    parser = _Scripts()
    parser.feed(html)
    (data_attrs, data), (code_attrs, code) = parser.scripts
    assert data_attrs["type"] == "application/json"
    assert code_attrs["type"] == "module"
    assert "<script>w()" not in code
    payloads = json.loads(data)["payloads"]
    run = next(p for key, p in payloads.items() if not key.endswith(":proof"))
    assert run["steps"][0]["text"][0][0].startswith('</script><script>w()</script> <b>y</b> & "q"')
    assert "<b>y</b>" not in html


def test_offline_page_needs_no_network(model: LoadedModel) -> None:
    html = player(model, "Tom has a red ball.")
    parser = _Scripts()
    parser.feed(html)
    assert parser.addresses == []
    assert not re.search(r"url\(\s*['\"]?https?:", html)
    assert "@import" not in html


def test_offline_page_brings_the_proof(model: LoadedModel) -> None:
    payloads, view = take_away.offline(session_run(model, "Tom has"), RunSettings())
    assert set(payloads) == {view["run"], f"{view['run']}:proof"}


def test_csv_is_the_triangle_of_the_head(model: LoadedModel) -> None:
    trace = session_run(model, '=1+1 Tom, "red"').trace
    rows = list(csv.DictReader(io.StringIO(take_away.rows_csv(trace, 2, 1))))
    assert len(rows) == trace.n_rows * (trace.n_rows + 1) // 2
    last = [row for row in rows if int(row["query_position"]) == trace.n_rows - 1]
    assert sum(float(row["weight"]) for row in last) == pytest.approx(1, abs=1e-4)
    assert {row["phase"] for row in last} == {"decode"}
    scale = trace.config.head_dim**-0.5
    for row in rows:
        assert float(row["scaled_score"]) == pytest.approx(
            float(row["q_dot_k"]) * scale, rel=1e-4, abs=1e-6
        )
        assert not row["query_token"].startswith(("=", "+", "-", "@"))


def test_json_is_what_the_headless_command_prints(model: LoadedModel) -> None:
    run = session_run(model, "Tom has a red ball.")
    found = json.loads(take_away.run_json(run))
    assert found["schema_version"] == 1
    assert found["model_sha256"] == run.trace.model_sha256
    assert len(found["tokens"]) == run.trace.n_prompt + 3 + 1
    assert [step["position"] for step in found["steps"]] == [
        run.trace.n_prompt + i for i in range(3)
    ]


def test_the_code_shown_is_the_code_that_ran() -> None:
    import inspect

    from core.model import attention

    shown = source.source_of("core.model.attention", "attend")
    assert shown == inspect.getsource(attention.attend).rstrip("\n")
    method = inspect.unwrap(Transformer.decode_step)
    assert source.source_of("core.model.transformer", "Transformer.decode_step").endswith(
        inspect.getsource(method).rstrip("\n").split("def decode_step", 1)[1]
    )


def test_an_unknown_name_has_no_source() -> None:
    with pytest.raises(ValueError, match="defines no 'nothing'"):
        source.source_of("core.model.attention", "nothing")
