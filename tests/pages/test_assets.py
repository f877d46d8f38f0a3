"""Component scripts: joined from modules, valid, and each name defined once."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from pages.ui import assets

ENTRIES = [("newrow", "mountNewRow"), ("store", "mountCarrier"), ("address", "mountAddress")]
MODULES = sorted(path.stem for path in (assets.ASSETS / "js").glob("*.mjs"))
_NAME = re.compile(r"^(?:export\s+)?(?:async\s+)?(?:function|class|const|let)\s+([\w$]+)", re.M)


@pytest.mark.parametrize(("entry", "function"), ENTRIES)
def test_joined_script_is_a_valid_module(entry: str, function: str, tmp_path: Path) -> None:
    script = tmp_path / f"{entry}.mjs"
    script.write_text(assets.script(entry, function), encoding="utf-8")
    checked = subprocess.run(["node", "--check", script], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(("entry", "function"), ENTRIES)
def test_joined_script_has_one_default_export_and_no_import(entry: str, function: str) -> None:
    lines = assets.script(entry, function).splitlines()
    assert [line for line in lines if line.startswith("export")] == [f"export default {function}"]
    assert not [line for line in lines if line.startswith("import")]


@pytest.mark.parametrize("entry", ["newrow", "player"])
def test_no_name_is_defined_twice(entry: str) -> None:
    sources = [assets.read(f"js/{name}.mjs") for name in assets.modules(entry)]
    names = Counter(name for source in sources for name in _NAME.findall(source))
    assert [name for name, times in names.items() if times > 1] == []


def test_modules_come_after_what_they_import() -> None:
    order = assets.modules("newrow")
    assert order[-1] == "newrow"
    assert order.index("draw") < order.index("run") < order.index("attention")


def test_another_form_of_import_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "js/odd.mjs").write_text('import * as a from "./b.mjs"\n', encoding="utf-8")
    monkeypatch.setattr(assets, "ASSETS", tmp_path)
    with pytest.raises(ValueError, match="must import as"):
        assets.script.__wrapped__("odd", None)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_is_valid_without_its_comments(name: str, tmp_path: Path) -> None:
    script = tmp_path / f"{name}.mjs"
    source = assets.read(f"js/{name}.mjs")
    script.write_text(assets.bare(source, name), encoding="utf-8")
    checked = subprocess.run(["node", "--check", script], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert len(assets.bare(source, name)) < 0.9 * len(source)


@pytest.mark.parametrize(
    "line",
    [
        'const a = "// kept /* kept */"',
        "const b = /\\/\\/|\\/\\*/.test(a) // kept",
        "const c = `http://${a}/*` /* kept */",
    ],
)
def test_comment_marks_behind_code_stay(line: str) -> None:
    assert assets.bare(f"{{\n  // gone\n  {line}\n}}") == f"{{\n{line}\n}}"


def test_comments_that_start_a_line_go_and_code_behind_them_stays() -> None:
    source = "/**\n * Why `so`.\n * // more\n */\n  /** @type {any} */ (a).b()\n/* x */ // y\n"
    assert assets.bare(source) == "(a).b()"


@pytest.mark.parametrize("source", ["const a = `one\n  two`", "/* never"])
def test_what_cannot_be_stripped_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"js/odd\.mjs must"):
        assets.bare(source, "odd")


def test_the_stage_script_stays_small() -> None:
    assert len(assets.script("newrow", "mountNewRow")) < 95_000
