# One command is enough on a fresh machine: every target makes .venv and installs what it needs.
#   make demo    the tour on the built-in toy language pair, and the page it ends in
#   make check   style, types, layers and the fast tests
#   make test    set-up, check and all tests but the slow ones (what CI runs)
#   make slow    learning, soak and other long tests
#   make hooks   check style before every commit
# Another interpreter: make PYTHON=python3.12 test. A fresh start: make clean.

PYTHON ?= python3
BIN := .venv/bin
# The build of the package itself is pinned as well. Compiling only what is then imported halves the work of a set-up.
PIP_INSTALL := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_BUILD_CONSTRAINT=constraints.txt \
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt

# Two cores: two test processes with one thread each.
export OMP_NUM_THREADS = 1
PYTEST := $(BIN)/python -m pytest -n 2

.DELETE_ON_ERROR:
.PHONY: demo check lint test slow hooks clean

demo: .venv/.runtime
	$(BIN)/seqline demo

test: check

check: lint
	$(PYTEST) -m "not slow"

lint: .venv/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-logo

slow: .venv/.dev
	$(PYTEST) -m slow

hooks: .venv/.dev
	git config core.hooksPath .githooks

clean:
	rm -rf .venv

.venv/bin/python:
	$(PYTHON) -m venv .venv

# Both stamps are newer than the two files when the install that they name went through.
.venv/.runtime: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP_INSTALL) --editable '.[pictures,studio]'
	touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP_INSTALL) --editable '.[dev]'
	touch .venv/.runtime $@
