# Two commands do all the set-up: `make demo` and `make test`.
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
PYTEST_ARGS ?= -n auto --dist loadfile

.PHONY: demo test lint bench docs clean

demo: $(VENV)/runtime
	$(BIN)/incrowd demo

test: $(VENV)/development
	@sh scripts/install_debian_packages.sh wordnet-base chromium postgresql-15 openssl openjdk-17-jre-headless
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/development
	$(BIN)/python benchmarks/partition_speed.py
	$(BIN)/python benchmarks/growth.py

docs: $(VENV)/development
	$(BIN)/python scripts/make_cli_reference.py

clean:
	rm -rf $(VENV) incrowd-demo dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/runtime: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("incrowd needs Python 3.11 or newer; run make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || sh scripts/install_debian_packages.sh python3-venv
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/development: $(VENV)/runtime
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[gateway,spark]' --group dev
	@touch $@
