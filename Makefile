# Two commands matter: `make demo` and `make test`. Both set up .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test lint bench docs ui site clean

help:
	@echo "make demo   install and run the paired demo (evgrid demo)"
	@echo "make test   install .[dev], then ruff, mypy, import-linter, documents, pytest"
	@echo "make lint   the checks without pytest"
	@echo "make bench  how fast the world is on this machine"
	@echo "make docs   write docs/reference from the code"
	@echo "make ui     build the command center (Node.js 20)"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[oracle]"
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	@touch $@ $(VENV)/.base

demo: $(VENV)/.base
	$(BIN)/evgrid demo

bench: $(VENV)/.base
	$(BIN)/evgrid bench world

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/gen_docs.py --check
	$(BIN)/python tools/write_results.py --check
	$(BIN)/python tools/lock.py --check
	$(BIN)/evgrid plan document --all --check

test: lint
	$(BIN)/python -m pytest

ui:
	npm --prefix web ci --no-audit --no-fund
	npm --prefix web run build

docs: $(VENV)/.dev
	$(BIN)/python tools/gen_docs.py
	$(BIN)/evgrid plan document --all

site: $(VENV)/.dev
	$(BIN)/python -m mkdocs build --strict

clean:
	rm -rf $(VENV) build dist
