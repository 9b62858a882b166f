# Two commands do all the set-up: `make demo` and `make test`.
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
# One more than there are cores: some tests wait for a server. Kernels are compiled before, so that workers do not each do it.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Files go to the workers in the order of tests/conftest.py, longest first.
PYTEST_ARGS ?= -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# APT=no installs no Debian packages; the tests that need them are left out, and named.
APT ?= yes
DEBIAN := APT=$(APT) sh scripts/install_debian_packages.sh
# Some containers forbid bytecode; each of the hundreds of processes that tests start would then parse all sources again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint bench docs clean

demo: $(VENV)/runtime
	$(BIN)/incrowd demo

test: $(VENV)/development
	@$(DEBIAN) \
		"wordnet-base: the packed nouns are compared with WordNet's own files" \
		"chromium: reports and the gateway's page are opened in a real browser" \
		"postgresql-15: the gateway asks a real database" \
		"openssl: makes the certificates for the gateway's TLS tests" \
		"curl: the commands of docs/gateway.md are run as they stand there" \
		"openjdk-17-jre-headless: Spark runs on Java"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
# Types are checked, which takes one core, while kernels are compiled.
	$(BIN)/mypy & types=$$!; $(BIN)/python scripts/compile_kernels.py; compiled=$$?; wait $$types && exit $$compiled
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
	$(BIN)/python scripts/draw_imports.py

clean:
	rm -rf $(VENV) incrowd-demo dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/runtime: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("incrowd needs Python 3.11 or newer; run make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(DEBIAN) "python3-venv: makes the environment .venv"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/development: $(VENV)/runtime
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[gateway,spark,studio]' --group dev
	@touch $@
