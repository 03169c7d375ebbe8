.DEFAULT_GOAL := help
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
T ?= tests

.PHONY: help setup demo test check bench up lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	@touch $@

setup: $(VENV)/ready ## make the virtual environment from the locked, hashed versions

demo: setup ## start everything in a temporary folder and run the whole job on real memories
	$(BIN)/python -m bench.demo

test: setup ## run all tests, or some: make test T=tests/unit
	$(BIN)/python -m pytest $(T)

check: setup ## lint, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup ## measure the claims of the README and write bench/results/*.json
	$(BIN)/python -m bench

up: setup ## start Foreword on this machine (Ctrl-C stops it)
	$(BIN)/foreword up

lock: setup ## resolve the dependencies anew, with hashes
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--extra all --extra dev pyproject.toml -o requirements.lock
	for image in shim worker; do \
		$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11 \
			--extra cli --extra embed --extra $$image --constraint requirements.lock pyproject.toml -o ops/$$image.lock; \
	done

clean: ## remove what make made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis bench/results
