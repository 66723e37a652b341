# Everything a newcomer types. Needs Python 3.11 or later, make and git; nothing else.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PEERS  := .bench-venv
STAMP  := $(VENV)/.handrail-installed
PIP     = -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PYTEST  = $(BIN)/python -m pytest -n auto --maxprocesses 8

MARKS  ?= not torture
SANDBOX_TESTS := tests/host/sandbox tests/host/supervisor tests/host/snapshots tests/host/processes/test_landlock.py tests/spec tests/cli tests/mcp

.PHONY: help setup demo test test-sandbox check coverage bench torture features docs clean

help:
	@echo "make demo      see Handrail at work on a small sample project"
	@echo "make test      all checks and all tests"
	@echo "make check     lint, format, types and layers only"
	@echo "make bench     figures beside their limits and two peers (BENCH='--quick')"
	@echo "make torture   kills, fuzz and races at full length"
	@echo "make coverage  which branches the tests take"
	@echo "make features  the state of every feature, finding and threat, with its tests"
	@echo "make docs      write the generated pages of docs/ anew"
	@echo "make setup     the virtual environment in $(VENV); the others do it by themselves"

setup: $(STAMP)

# pip is brought up first: the one that ships with Python 3.11 knows no dependency groups.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Handrail needs Python 3.11 or later; try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) --upgrade pip
	$(BIN)/python $(PIP) --build-constraint constraints.txt --group dev --editable '.[syntax]'
	@touch $@

demo: setup
	@$(BIN)/handrail demo

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(PYTEST)

# Everything that meets the sandbox; .ci/run repeats it with bubblewrap hidden.
test-sandbox: setup
	$(PYTEST) -m "$(MARKS)" $(SANDBOX_TESTS)

coverage: setup
	$(PYTEST) --cov --cov-report=term-missing:skip-covered

torture: setup
	$(PYTEST) -m torture

features: setup
	@$(BIN)/python scripts/features.py

docs: setup
	$(BIN)/python scripts/generate_docs.py

# The measures live in an environment of their own, so that peers never decide our versions.
$(PEERS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python $(PIP) --upgrade pip
	$(PEERS)/bin/python $(PIP) --build-constraint constraints.txt --editable '.[mcp]'
	@touch $@

# Without the peers everything is measured but their columns; tried again at the next run.
bench: $(PEERS)/.installed
	@test $(PEERS)/.peers -nt bench/requirements.txt \
	  || { $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement bench/requirements.txt --editable . && touch $(PEERS)/.peers; } \
	  || echo "the peers could not be installed: measured without them"
	@env -u PYTHONDONTWRITEBYTECODE $(PEERS)/bin/python -m bench $(BENCH)

clean:
	rm -rf $(VENV) $(PEERS) build dist demo-workspace .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
