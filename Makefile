# Every target works on a fresh clone; those that need the environment make it first.

PYTHON ?= python3
VENV   ?= .venv
# More options for pip, for instance where to find the CPU build of torch.
PIP_OPTIONS ?=

BIN   := $(VENV)/bin
READY := $(VENV)/ready
TEST  := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup run chat host test test-slow lint type bless golden-check bench clean

help:  ## Say what each target does.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(READY)  ## Make .venv with every version pinned by constraints.txt.

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(PIP_OPTIONS) -c constraints.txt -e '.[dev,nvrtc,clang,plot,serve]'
	@touch $@

run: setup  ## Run a CUDA dot product inside a language model: it prints 32.
	$(BIN)/qgc run examples/dot.cu --block 3 a=1,2,3 b=4,5,6 out=0 --engine hf --check

# Where the widened host and the merged model are kept; 5.5 GB.
CHAT ?= $(or $(QGC_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/qgc)/chat

chat: $(CHAT)/merged/qgc.json  ## Put a GPU into the language model of host/ and talk with it.
	$(BIN)/qgc chat $(CHAT)/merged

$(CHAT)/merged/qgc.json: host/model.safetensors | $(READY)
	@mkdir -p $(CHAT)
	$(BIN)/qgc widen host -o $(CHAT)/wide --shape small
	rm -rf $(CHAT)/merged
	$(BIN)/qgc build --base $(CHAT)/wide -o $(CHAT)/merged

host: setup  ## Train the small language model of host/ from scratch, on one CPU thread.
	$(BIN)/python -m qgc.host.train -o host
	$(BIN)/python -m qgc.host.evaluate host -o host/scores.json

test: setup  ## The fast tests, with branch coverage.
	$(TEST) -n auto --dist loadfile --cov --cov-report=term:skip-covered

test-slow: setup  ## Whole traces through stock transformers, and long fuzzing.
	HYPOTHESIS_PROFILE=slow $(TEST) -m slow --durations=20

lint: setup  ## Style and formatting.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: setup  ## Strict types.
	$(BIN)/mypy

bless: setup  ## Rewrite golden/ with what the code prints now; review it with git diff.
	$(TEST) -m 'golden and not slow' --bless -q

golden-check: setup  ## Rewrite golden/ and docs/ under two hash seeds; fail if a committed file changes.
	@for seed in 1 2; do \
	    PYTHONHASHSEED=$$seed $(TEST) -m 'golden and not slow' --bless -q || exit 1; \
	    changed=$$(git status --porcelain golden docs) && [ -z "$$changed" ] \
	        || { echo "changed under hash seed $$seed:"; echo "$$changed"; exit 1; }; \
	done

bench: setup  ## Measure; write benchmarks/latest.json.
	$(BIN)/qgc bench -o benchmarks/latest.json

clean:  ## Remove .venv and everything that tools left behind.
	rm -rf $(VENV) build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache *.egg-info
