"""Options that the app cannot do without, as Streamlit itself reads them."""

from __future__ import annotations

import pytest
from streamlit import config

from .conftest import ROOT


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("runner.postScriptGC", False),  # a full collection after every run: 200x under load
        ("client.showSidebarNavigation", False),
        ("browser.gatherUsageStats", False),
        ("server.fileWatcherType", "none"),
    ],
)
def test_option(option: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    config.get_config_options(force_reparse=True)
    assert config.get_option(option) == value


def test_nothing_but_pages_lies_in_the_pages_folder() -> None:
    from pages.ui.registry import PAGES

    files = {path.name for path in (ROOT / "pages").glob("*.py")}
    assert files == {f"{page.slug}.py" for page in PAGES}


def test_every_page_starts_with_the_guard() -> None:
    for path in (ROOT / "pages").glob("*.py"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
        code = [line for line in lines if not line.startswith(('"""', "from pages.ui.registry"))]
        assert code[0] == "routed()", path
