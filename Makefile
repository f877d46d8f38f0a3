# The front door: every task of the project has its target here.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
PORT ?= 8501

.DEFAULT_GOAL := help
.PHONY: help run test test-core test-pages test-js test-browser check fix bench model screenshots clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(VENV)/run.stamp: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/dev.stamp: requirements.txt requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ $(VENV)/run.stamp

run: $(VENV)/run.stamp  ## install what is missing and open the app
	$(BIN)/python -m streamlit run app.py --server.port $(PORT)

test: check test-js test-core test-pages test-browser  ## install what is missing and run every check and test

check: $(VENV)/dev.stamp  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-core: $(VENV)/dev.stamp  ## properties, golden values, doctests
	$(BIN)/python -m pytest core tests/core

test-pages: $(VENV)/dev.stamp  ## every page without a browser
	$(BIN)/python -m pytest pages tests/pages

test-js:  ## JavaScript helpers, with node's own test runner
	node --test tests/js/*.test.mjs

test-browser: $(VENV)/dev.stamp  ## every page in a real browser
	scripts/install_chromium
	# Two browsers starve each other on two busy cores: what fails beside another runs once more alone.
	$(BIN)/python -m pytest tests/browser -n 2 || $(BIN)/python -m pytest tests/browser --last-failed

fix: $(VENV)/dev.stamp  ## format and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/dev.stamp  ## speed as ratios measured in one run
	scripts/install_chromium
	$(BIN)/python -m benchmarks

model: $(VENV)/dev.stamp  ## train the storyteller and its draft, resuming where it stopped
	$(BIN)/python -m core.model.training
	$(BIN)/python -m core.decode.record_default

screenshots: $(VENV)/dev.stamp  ## draw the pictures of the app in docs/pictures
	scripts/install_chromium
	$(BIN)/python -m scripts.screenshots

clean:  ## remove what the targets made, but for the virtual environment
	rm -rf build test-results .pytest_cache .mypy_cache .ruff_cache .hypothesis
