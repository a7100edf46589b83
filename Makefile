# The commands for people and for CI. Every one of them makes the .venv it needs.
#   make run          start Sluice: web, worker and beat in one process, on 127.0.0.1:8000
#   make test         run the tests; those that need Postgres and Redis only with DATABASE_URL
#   make quick        the core's, which need no database, server or browser: a few minutes at most on two cores
#   make smoke        a few of them, for another Python: make smoke PYTHON=python3.13 VENV=/tmp/venv
#   make check        lint, formatting, types, import directions, migrations, Django's own checks
#   make docs         write the policy's settings into .env.example and docs/operators.md
#   make bench        what calls cost beside peers; make bench ARGS="--gate" fails if they cost more than before
#   make mutation     seed bugs into the code that guards the promises; write those that no test finds to docs/mutation.md
#   make conformance  the official MCP conformance suites and the Inspector over every transport (needs npm)
#   make cluster      the production topology as local processes (needs Postgres and Redis)

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
MUTATION := $(VENV)/mutation
SUITES := tests/conformance
CLIENTS := tests/e2e/typescript
# A file's tests share its servers, and files are begun in the order of tests/conftest.py. A process that ends, because of a
# test that hangs or crashes, is not replaced: the next one would begin with the same test.
PROCESSES := --numprocesses auto --dist loadfile --no-loadscope-reorder --max-worker-restart 0
# Each process would compile all test files anew, half a minute of its time, where an image says to keep no bytecode.
test quick smoke: export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test quick smoke check docs bench mutation conformance cluster lock clean
.DEFAULT_GOAL := run

run: $(VENV)/.run
	@exec $(BIN)/python manage.py serve

# Tests that need Postgres and Redis run where these are what is tested. An `-m` in ARGS takes the place of this one.
PASS := $(if $(DATABASE_URL),,-m "not cluster")

# Where npm is missing, or fetches nothing, the tests say at their end what they skipped.
test: $(VENV)/.dev $(if $(shell command -v npm),$(CLIENTS)/node_modules/.installed)
	@$(BIN)/python -m pytest $(PROCESSES) $(PASS) $(ARGS)

# For the inner loop. Files that start programs of their own are left to `make test`, as are the laws of tests/properties.
quick: $(VENV)/.dev
	@$(BIN)/python -m pytest $(PROCESSES) -m "not stores and not cluster" $(ARGS) tests/context_protection tests/gateway tests/telemetry \
		--ignore tests/gateway/connectors/mcp_servers --ignore tests/gateway/test_data_directory.py

# What another Python could make different: every import, the core, a server and a client's call.
smoke: $(VENV)/.dev
	@$(BIN)/python -m pytest $(PROCESSES) -m "not stores and not cluster" $(ARGS) tests/test_imports.py \
		tests/context_protection --ignore tests/context_protection/core/results --ignore tests/context_protection/core/test_texts.py \
		"tests/e2e/test_clients.py::test_an_account_is_read_through_the_official_sdk"

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check --fail-level WARNING
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file /dev/null

docs: $(VENV)/.dev
	@$(BIN)/python -m tests.settings_reference

bench: $(VENV)/.dev
	@$(BIN)/python -m benchmarks $(ARGS)

# About an hour on two cores, so not a part of CI.
mutation: $(MUTATION)/.installed
	@PYTHONPATH=$(MUTATION) $(BIN)/python -m mutmut run --max-children $$(nproc)
	@PYTHONPATH=$(MUTATION):. $(BIN)/python -m tests.mutation

conformance: $(VENV)/.dev $(SUITES)/node_modules/.installed
	@$(BIN)/python -m tests.conformance $(ARGS)

cluster: $(VENV)/.run
	@exec $(BIN)/python manage.py cluster $(ARGS)

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Sluice needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Install python3.11 and python3.11-venv, or name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Making $(VENV) …"
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/.run: $(VENV)/.python requirements.lock requirements-ctok.lock
	@echo "Installing what Sluice needs (about a minute, once) …"
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --require-hashes --no-deps --ignore-requires-python -r requirements-ctok.lock
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.lock
	@echo "Installing what the tests need …"
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

$(MUTATION)/.installed: $(VENV)/.dev requirements-mutation.lock
	@echo "Installing what seeds bugs …"
	@$(PIP) --require-hashes --target $(MUTATION) --upgrade -r requirements-mutation.lock
	@touch $@

# The scripts of packages are not run.
NPM_CI := npm ci --ignore-scripts --no-fund --no-audit --loglevel=error

$(CLIENTS)/node_modules/.installed: $(CLIENTS)/package.json $(CLIENTS)/package-lock.json
	@echo "Installing the clients of the Node world (once) …"
	@cd $(CLIENTS) && $(NPM_CI) && touch node_modules/.installed || echo "npm could not install them; tests go on without" >&2

# The suites come with the Node that they need.
$(SUITES)/node_modules/.installed: $(SUITES)/package.json $(SUITES)/package-lock.json
	@command -v npm >/dev/null || { echo "The conformance suites need npm. On Debian and Ubuntu: apt install npm" >&2; exit 1; }
	@echo "Installing the conformance suites (half a minute, once) …"
	@cd $(SUITES) && $(NPM_CI)
	@touch $@

# Locks carry hashes and no addresses; needs `pip install uv`.
lock:
	uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-header --no-annotate -o requirements.lock pyproject.toml
	uv pip compile --quiet --extra dev --generate-hashes --universal --python-version 3.11 --no-header --no-annotate -o requirements-dev.lock pyproject.toml
	uv pip compile --quiet --extra otel --generate-hashes --universal --python-version 3.11 --no-header --no-annotate -o requirements-otel.lock pyproject.toml
	uv pip compile --quiet --extra anthropic --generate-hashes --universal --python-version 3.11 --no-header --no-annotate -o requirements-anthropic.lock pyproject.toml
	echo "fastmcp==4.1.6" | uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-header --no-annotate -o requirements-peers.lock -
	echo "mutmut>=3.8,<4" | uv pip compile --quiet --constraints requirements-dev.lock --generate-hashes --universal --python-version 3.11 --no-header --no-annotate -o requirements-mutation.lock -

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
