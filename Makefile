.DEFAULT_GOAL := help
PYTHON ?= python3
CONSTRAINTS ?= constraints.txt
SWEEP ?= encodings
ARGS ?=
FOLDER ?= outputs/sweeps/$(SWEEP)
SEEDS ?= 5
BIN := .venv/bin
export TOKENIZERS_PARALLELISM ?= false
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: help setup sweep train test test-fast check bench report power dashboard gallery table clean

help:       ## show this
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*## "} {printf "  make %-11s %s\n", substr($$1, 1, index($$1, ":") ? index($$1, ":") - 1 : length($$1)), $$2}'

setup: .venv/.ready  ## install everything into .venv (CONSTRAINTS= for the newest versions, such as CUDA builds of torch)

.venv/.ready: pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 11) <= v < (3, 14) else "Python %d.%d is not supported: install 3.11, 3.12 or 3.13 and run make PYTHON=python3.12 with its name." % v[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (a few minutes, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[dev]'
	@touch $@

sweep: setup  ## train and evaluate every encoding; SWEEP=smoke for another of sweeps/, ARGS="seed=0,1 encoding=rope,alibi"
	@$(BIN)/python -m train sweeps=$(SWEEP) $(ARGS)

train: setup  ## one run: make train ARGS="encoding=alibi"
	@$(BIN)/python -m train $(ARGS)

test: setup check  ## all tests
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto $(ARGS)

test-fast: setup  ## the tests that start no processes
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m "not slow" $(ARGS)

check: setup  ## formatting, lint, types
	@$(BIN)/ruff format --check --quiet . || { echo "Not formatted: run .venv/bin/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy

bench: setup  ## measure speed, write docs/benchmarks.*; ARGS="--only train,evaluate,lightning,sweep"
	@OMP_NUM_THREADS=1 $(BIN)/python -m sweeps.bench $(ARGS)

report: setup  ## rebuild tables and figures: make report FOLDER=outputs/sweeps/encodings
	@$(BIN)/python -m sweeps.report $(FOLDER) $(ARGS)

power: setup  ## the smallest difference that SEEDS seeds can show, from the results in FOLDER
	@$(BIN)/python -m sweeps.report.power $(FOLDER) --seeds $(SEEDS)

dashboard: setup  ## the curves in the terminal (wandb leet), or the saved workspace online
	@$(BIN)/python -m sweeps.dashboard $(ARGS)

gallery: setup  ## a picture of every method: outputs/gallery/index.html
	@$(BIN)/python -m sweeps.gallery $(ARGS)

table: setup  ## the table of encodings, written into README.md
	@$(BIN)/python -m models.encodings --write README.md

clean:      ## delete all results, trained models and prepared data
	rm -rf outputs
