# Makefile - set up, build, show, test and measure cupola; each goal does its own set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Empty: python -m pytest's own choice of driver and tests.
PYTEST ?=

.DEFAULT_GOAL := build
.PHONY: demo build test lint format bench gpu fuzz clean

# An environment with what the build, the tests and the demo need. What brings nvcc in is asked
# for only where the machine has none that suits.
$(VENV)/ready: pyproject.toml
	@echo "setting up $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip
	@$(PIP) $$($(BIN)/python tools/requirements.py build-system dependencies test plot)
	@$(BIN)/python package/cupola/build/backend.py > $(VENV)/nvcc.txt && $(PIP) -r $(VENV)/nvcc.txt
	@touch $@

# The libraries and modules are built in place, step by step, so that progress is seen; pip then
# only has to point to them.
build: $(VENV)/ready
	@$(BIN)/python setup.py --quiet build_ext --inplace
	@test $(VENV)/installed -nt $(VENV)/ready || { \
	    echo "installing cupola into $(VENV) (editable)"; \
	    $(PIP) --no-build-isolation --no-deps --editable . && touch $(VENV)/installed; }

demo: build
	@$(BIN)/python -m cupola mandelbrot --output mandelbrot.png --size 2048

test: build
	@$(BIN)/python -m pytest $(PYTEST)

clean:
	rm -rf build dist $(VENV) package/*.egg-info package/cupola/lib package/cupola/include \
	    package/cupola/*.pxd package/cupola/*.so mandelbrot.png
