"""Model files that are missing or altered: one clear message, never a traceback."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.decode import trace_file
from core.model import checkpoint, manifest
from pages.ui import caching

from .conftest import OpenPage, mounted, shown_html, status


@pytest.fixture
def model_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_server: None) -> Path:
    """A copy of the model that the app uses in place of the shipped one."""
    folder = tmp_path / "model"
    shutil.copytree(manifest.MODEL_FOLDER, folder)
    defaults = checkpoint.load_model.__defaults__
    assert defaults is not None
    monkeypatch.setattr(checkpoint.load_model, "__defaults__", (folder, *defaults[1:]))
    monkeypatch.setattr(caching, "MODEL_FOLDER", folder)
    return folder


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def test_missing_weights_leave_the_recorded_run_and_name_the_file(
    model_folder: Path, open_page: OpenPage
) -> None:
    (model_folder / "model.safetensors").unlink()
    app = open_page("new_row")
    assert mounted(app)["run"]["payload"]["recorded"] is True
    app.text_input(key="run_prompt").set_value("Tom went home.")
    next(b for b in app.button if b.label == "Run").click().run()
    assert not app.exception, app.exception
    assert "model.safetensors is missing. Run `make model`" in status(app)
    assert mounted(app)["run"]["payload"]["recorded"] is True


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_an_altered_file_is_named(name: str, model_folder: Path, open_page: OpenPage) -> None:
    damage(model_folder / name)
    app = open_page("new_row", prompt="Tom went home.")
    text = "\n".join(shown_html(app))
    assert f"{name} was altered" in text
    assert "make model" in text
    assert "Traceback" not in text


def test_truncated_weights_are_named(model_folder: Path, open_page: OpenPage) -> None:
    file = model_folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    assert "is truncated" in status(open_page("new_row", prompt="Tom went home."))


@pytest.mark.usefixtures("fresh_server")
def test_a_missing_recording_is_replaced_by_the_live_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_page: OpenPage
) -> None:
    missing = tmp_path / "default.npz"
    monkeypatch.setattr(trace_file.load_trace, "__defaults__", (missing,))
    app = open_page("new_row")
    assert mounted(app)["run"]["payload"]["recorded"] is False


@pytest.mark.usefixtures("fresh_server")
def test_without_recording_and_model_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_folder: Path, open_page: OpenPage
) -> None:
    monkeypatch.setattr(trace_file.load_trace, "__defaults__", (tmp_path / "default.npz",))
    (model_folder / "model.safetensors").unlink()
    app = open_page("new_row")
    assert "model.safetensors is missing" in status(app)
    assert "run" not in mounted(app)
