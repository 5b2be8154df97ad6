# Everything sets itself up: a virtual environment in .venv, the pinned tools, this checkout installed in it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help setup demo test test-deep test-clis test-pages lint format docs bench bench-panel bench-suites acceptance clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(READY) ## make .venv with everything in it

$(READY): pyproject.toml requirements-dev.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --requirement requirements-dev.txt
	@$(PIP) install --no-deps --editable .
	@touch $@

demo: $(READY) ## a whole run, offline, on real files
	@$(BIN)/honestone demo

test: $(READY) ## the tests
	$(BIN)/python -m pytest -n auto

test-deep: $(READY) ## the property tests with random examples for MINUTES=5
	$(BIN)/python tools/deep.py --minutes $(or $(MINUTES),5)

test-clis: $(READY) ## the real agent CLIs (from npm) against a loopback model server
	@if ! command -v npm >/dev/null; then echo "skipped: npm is not here"; \
	elif ! timeout 600 tests/clis/install.sh; then echo "skipped: npm could not install the agent CLIs"; \
	else HONESTONE_TEST_CLIS=1 $(BIN)/python -m pytest tests/clis; fi

test-pages: $(READY) ## the HTML page in a headless Chromium (from the Debian package)
	@if ! command -v chromium >/dev/null && ! { command -v apt-get >/dev/null && timeout 600 sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium'; }; \
	then echo "skipped: chromium is not here and could not be installed"; \
	else $(BIN)/python -m pytest tests/pages; fi

lint: $(READY) ## style, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

format: $(READY) ## put the code into the common form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY) ## write the generated pages again
	$(BIN)/python tools/docs.py

bench: $(READY) ## speed, as ratios in one run
	$(BIN)/python bench/speed.py

bench-panel: $(READY) ## what judged evaluation costs beside the least it can cost
	$(BIN)/python bench/panel.py

bench-suites: $(READY) ## what running 5,000 cases costs beside the bare loop
	$(BIN)/python bench/suites.py

acceptance: $(READY) ## the acceptance scripts beside this checkout, where they are there
	@if [ -d ../shared/acceptance ]; then HONESTONE_BIN=$(CURDIR)/$(BIN) ../shared/acceptance/run $(NAMES); \
	else echo "skipped: ../shared/acceptance is not here"; fi

clean: ## remove what was made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache dist build
