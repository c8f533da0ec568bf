# Makefile - set up, build, show, test and measure cupola; each goal does its own set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# More for pytest, as in `make test PYTEST="-k saxpy --driver=cpu"`.
PYTEST ?=
ONLY ?=
SLICE ?= 0/1
PYTHONS ?=
# Of `make sanitize-threads`: CPython that was configured with --disable-gil and
# --with-thread-sanitizer, and Tools/tsan/suppressions_free_threading.txt of its sources.
TSAN_PYTHON ?=
TSAN_SUPPRESSIONS ?=
RESULTS ?= build/results
# Where finished wheels go, and what they have machine code for.
WHEELS ?= dist
wheel release: export CUPOLA_ARCHITECTURES ?= all
# The Pythons of `make release`, as "cp311 cp312"; all that are found by default.
TAGS ?=
# Packages for `make frameworks`, beside those of the tests; a version as "torch==2.6".
FRAMEWORKS ?= torch
# How long each fuzzer runs.
FUZZ_SECONDS ?= 60
# How many random programs run interpreted and as machine code; some seconds each.
FUZZ_PROGRAMS ?= 100
PROGRAMS ?= 20000

# Show a text, on a terminal in the line of the one before; run a command, and show it and all of
# its output if it fails. Neither may hold an apostrophe.
step = if [ -t 1 ]; then printf "\r\033[K%s" "$(1)"; else echo "$(1)"; fi; command='$(strip $(2))'; \
    output=$$(eval "$$command" 2>&1) || \
    { printf "\n%s\nfailed: %s\n" "$$output" "$$command" >&2; exit 1; }
end_of_line = if [ -t 1 ]; then printf "\r\033[K"; fi

CXX_SOURCES = $(shell find csrc tests $(wildcard examples) benchmarks -name '*.cpp' -o -name '*.hpp' -o \
    -name '*.h' -o -name '*.cu' -o -name '*.cuh')

.DEFAULT_GOAL := build
.PHONY: help demo build docs wheel release sdist collected reproducible test campaigns frameworks example-wheels compiled lint lint-python lint-cython lint-format lint-cpp \
    lint-prose lint-workflows format names bench bench-cpu pycuda-suite array-api aarch64 results gpu gpu-multi fuzz differential sanitize sanitize-threads sweep toolkits \
    pythons clean

help:
	@echo "make build      build cupola in place, in a virtual environment (.venv) that it sets up"
	@echo "make demo       draw the Mandelbrot set in colour into mandelbrot.png"
	@echo "make test       run the tests; PYTEST=\"-k saxpy\" passes options to pytest,"
	@echo "                ONLY=csrc/ptx runs those of a folder"
	@echo "make campaigns  run the tests that build packages, sweep or sample, SLICE=0/4 a quarter of them"
	@echo "make frameworks run the tests of operations with PyTorch, which has gigabytes"
	@echo "make example-wheels  run the tests of the examples' wheels under each set of frameworks"
	@echo "make lint       run the linters; make format applies what they can fix"
	@echo "make docs       build the site in build/docs/html"
	@echo "make names      renew the table of public names and its stub, from __all__ of the modules"
	@echo "make wheel      build a release wheel in dist/, to install with pip"
	@echo "make release    make wheels for each Python, a source distribution and more, and try them"
	@echo "make reproducible  build twice, and compare the bytes"
	@echo "make bench      measure this machine's device; make bench-cpu measures the CPU device"
	@echo "make pycuda-suite  run PyCUDA's own tests, downloaded, against cupola.pycuda"
	@echo "make array-api  run the array API standard's own tests, cloned, against cupola.array_api"
	@echo "make aarch64    cross-build the wheel for aarch64, and test it by emulation (Debian's packages)"
	@echo "make results    write the pages of figures from the records in benchmarks/results"
	@echo "make fuzz       run the fuzzers, FUZZ_SECONDS=60 each"
	@echo "make differential  compare random programs over arrays with NumPy, PROGRAMS=20000 of them"
	@echo "make sanitize   run all tests under AddressSanitizer, UBSan and ThreadSanitizer"
	@echo "make sanitize-threads  run tests of threads without a GIL, TSAN_PYTHON=python3.13t built with it"
	@echo "make compiled   run all tests of PTX and arrays as machine code (hours)"
	@echo "make toolkits   test with nvcc and NVRTC of CUDA 12.4 to 13.5, TOOLKITS=13.5 one of them; downloads them"
	@echo "make pythons    build and test with each Python of this machine, PYTHONS=\"3.12 3.14t\" some of them"
	@echo "make sweep      run millions of calls and random programs (minutes to hours)"
	@echo "make gpu        run everything that needs a GPU, without network"
	@echo "make gpu-multi  run the tests and benchmarks that need two GPUs, without network"
	@echo "make clean      remove what was built"

# An environment for the build, the demo and the tests. The wheels of nvcc and the run-time compiler
# are installed only where the machine has no suitable ones.
$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=...")'
	@test -x $(BIN)/python || { $(call step,setting up $(VENV): 1 of 4 (an environment for $$($(PYTHON) --version)),$(PYTHON) -m venv $(VENV)); }
	@$(call step,setting up $(VENV): 2 of 4 (pip),$(PIP) --upgrade pip)
	@$(call step,setting up $(VENV): 3 of 4 (packages of the build and the tests),\
	    $(PIP) $$($(BIN)/python tools/requirements.py build-system dependencies test plot))
	@$(call step,setting up $(VENV): 4 of 4 (nvcc and the run-time compiler),\
	    $(BIN)/python package/cupola/build/backend.py > $(VENV)/nvcc.txt && \
	    $(PIP) --requirement $(VENV)/nvcc.txt)
	@$(BIN)/python -c 'from cuda.pathfinder import load_nvidia_dynamic_lib as load; load("nvrtc"), load("nvJitLink")' \
	    2>/dev/null || { $(call step,setting up $(VENV): 4 of 4 (the run-time compiler),\
	    $(PIP) $$($(BIN)/python tools/requirements.py compile)); }
	@$(call end_of_line)
	@touch $@

$(VENV)/wheel: $(VENV)/ready
	@$(PIP) $$($(BIN)/python tools/requirements.py wheel)
	@touch $@

$(VENV)/release: $(VENV)/wheel
	@$(PIP) $$($(BIN)/python tools/requirements.py release)
	@touch $@

$(VENV)/lint: $(VENV)/ready
	@echo "installing the linters"
	@$(PIP) $$($(BIN)/python tools/requirements.py lint)
	@touch $@

# Libraries and modules are built in place, step by step, so that progress is seen; pip then only
# points to them.
build: $(VENV)/ready
	@$(BIN)/python setup.py --quiet build_ext --inplace
	@test $(VENV)/installed -nt $(VENV)/ready -a $(VENV)/installed -nt pyproject.toml || { $(call step,installing cupola into $(VENV),\
	    $(PIP) --no-build-isolation --no-deps --editable . && touch $(VENV)/installed); }
	@$(call end_of_line)

# A release, for the oldest systems that it loads on. Every architecture takes minutes.
wheel: $(VENV)/wheel
	@rm -rf build/wheel
	@CUPOLA_PORTABLE=1 $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
	    --no-build-isolation --wheel-dir build/wheel .
	@$(BIN)/python tools/wheel.py build/wheel/*.whl --out $(WHEELS)

# All files of a release in dist/, from the last commit, and a rehearsal of their use.
release: $(VENV)/release
	@$(BIN)/python tools/release.py --out $(WHEELS) $(TAGS)

# The source distribution alone.
sdist: $(VENV)/release
	@$(BIN)/python tools/release.py --out $(WHEELS) --sdist

# The same for files that other machines have made, for the tag of a release.
collected: $(VENV)/release
	@$(BIN)/python tools/release.py --out $(WHEELS) --collected "$(TAG)" $(TAGS)

# Two builds of the last commit, whose bytes must be equal.
reproducible: $(VENV)/release
	@CUPOLA_ARCHITECTURES="$${CUPOLA_ARCHITECTURES:-75}" $(BIN)/python tools/release.py --compare

demo: build
	@$(BIN)/python -m cupola demo

# Without bytecode each process compiles the tests and the package again.
test campaigns: export PYTHONDONTWRITEBYTECODE :=

# Two processes take a file each, one at a time (tests/conftest.py); PYTEST=-n0 is one for all.
# ONLY=csrc/ptx runs the tests of a folder or file, as tests/areas.txt lists them.
test: build
	@tests="$$($(BIN)/python tests/areas.py $(ONLY))" && \
	    $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --campaigns=none \
	    $(PYTEST) $$tests

# The tests that `make test` leaves out; SLICE=K/N is each N-th of their files, from the K-th on.
campaigns: build
	@$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --campaigns=only \
	    --campaign-slice=$(SLICE) $(PYTEST)

# PyTorch is in an environment of its own, one for each set of versions.
frameworks: build
	@there="build/frameworks/$$(echo "$(FRAMEWORKS)" | tr -c "A-Za-z0-9.\n" _)" && \
	    test -e "$$there/ready" || { rm -rf "$$there" && $(PYTHON) -m venv "$$there" && \
	    "$$there/bin/python" -m pip install --quiet --disable-pip-version-check $(FRAMEWORKS) \
	    $$($(BIN)/python tools/requirements.py dependencies test) && touch "$$there/ready"; } && \
	    PYTHONPATH="$(CURDIR)/package" "$$there/bin/python" -m pytest tests/frameworks \
	    tests/test_op_jax.py tests/test_norm.py $(PYTEST)

# One build of the examples' wheels, under NumPy alone, under JAX, and under each PyTorch that
# `make frameworks` has set up.
example-wheels: build
	@there="build/frameworks/numpy" && \
	    test -e "$$there/ready" || { rm -rf "$$there" && $(PYTHON) -m venv "$$there" && \
	    "$$there/bin/python" -m pip install --quiet --disable-pip-version-check pytest ml_dtypes \
	    $$($(BIN)/python tools/requirements.py dependencies) && touch "$$there/ready"; }
	@$(BIN)/python tools/example_wheels.py --out "$(RESULTS)" $(BIN)/python \
	    build/frameworks/*/bin/python

# Hours of a compiler: all that `make test` runs as machine code in slices, one at each commit.
compiled: build
	@CUPOLA_CPU_MODE=compile $(BIN)/python -m pytest -n auto --driver=cpu $(PYTEST) \
	    $$($(BIN)/python -c 'import sys; sys.path.insert(0, "tests"); \
	    from compiled import test_arrays, test_ptx; print(*test_ptx.FILES, *test_arrays.FILES)')

# `make -k lint` goes on after the first that complains.
lint: lint-python lint-cython lint-prose lint-workflows lint-format lint-cpp

lint-python: $(VENV)/lint
	@echo "ruff" && $(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check .

lint-cython: $(VENV)/lint
	@echo "cython-lint" && PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cython-lint pyx

# The words are names, and misspellings that tests need.
lint-prose: $(VENV)/lint
	@echo "prose" && $(BIN)/python tools/prose.py
	@echo "codespell" && git ls-files ':!tests/fuzz/corpus' ':!tests/fuzz/seeds' | xargs $(BIN)/python -m codespell_lib \
	    --ignore-words-list abd,brokem,carryin,flaot,fro,inout,insid,ist,lod,mis,nin,statics,tabel

# Neither asks the network: pins of actions are compared with their comments by a person.
lint-workflows: $(VENV)/lint
	@echo "zizmor" && $(BIN)/zizmor --offline --pedantic --quiet --no-progress .github
	@echo "check-jsonschema" && for pair in github-workflows:.github/workflows/*.yml \
	    github-issue-forms:.github/ISSUE_TEMPLATE/[!c]*.yml dependabot:.github/dependabot.yml \
	    github-issue-config:.github/ISSUE_TEMPLATE/config.yml citation-file-format:CITATION.cff; do \
	    $(BIN)/check-jsonschema --quiet --default-filetype yaml \
	    --builtin-schema vendor.$${pair%%:*} $${pair#*:} || exit 1; done

lint-format: $(VENV)/lint
	@echo "clang-format" && $(BIN)/clang-format --dry-run -Werror $(CXX_SOURCES)

lint-cpp: $(VENV)/lint
	@$(BIN)/python setup.py --quiet compile_commands
	@echo "clang-tidy" && $(BIN)/python tools/tidy.py $(BIN)/clang-tidy

format: $(VENV)/lint
	@$(BIN)/ruff check --quiet --fix-only . && $(BIN)/ruff format --quiet .
	@$(BIN)/clang-format -i $(CXX_SOURCES)

# The table of public names in the package, and its stub.
names: $(VENV)/lint
	@$(BIN)/python tools/public_names.py

# The site, in build/docs/html.
docs: build
	@$(BIN)/python tools/reference.py && $(BIN)/python tools/instructions.py && \
	    $(BIN)/python tools/idea.py && $(BIN)/python tools/gallery.py && \
	    $(BIN)/python tools/docs.py

# Minutes, on a quiet machine: a record of each benchmark.
bench: build
	@$(BIN)/python benchmarks/run.py --out $(RESULTS)

# Those of the CPU device, which are kept.
bench-cpu: build
	@CUPOLA_DRIVER=cpu $(BIN)/python benchmarks/run.py --out benchmarks/results
	@$(MAKE) --no-print-directory results

# PyCUDA's own tests, which are downloaded to build/pycuda-suite.
pycuda-suite: build
	@$(BIN)/python tools/pycuda_suite.py --out $(RESULTS)

# The array API standard's own tests, which are cloned to build/array-api.
array-api: build
	@$(BIN)/python tools/array_api_suite.py --out $(RESULTS)

# The wheel for aarch64, tests of it under qemu, and programs that must leave the same bits here;
# PYTEST="tests/test_launch.py" runs other tests alone.
aarch64: export PYTHONDONTWRITEBYTECODE :=
aarch64: build $(VENV)/wheel
	@$(BIN)/python tools/aarch64.py $(PYTEST)

# docs/performance.md with its pictures, docs/compatibility.md, and tables in other documents, from
# the records.
results: $(VENV)/ready
	@$(BIN)/python tools/results.py

# For a machine without network which has the build requirements: nothing is downloaded.
gpu:
	@PYTHON="$(PYTHON)" tools/gpu.sh "$(RESULTS)"

# The same for two GPUs of one host: a build, then at most 8 minutes.
gpu-multi:
	@$(PYTHON) benchmarks/gpu_multi.py --out "$(RESULTS)"

fuzz: $(VENV)/ready
	@$(BIN)/python tools/fuzz.py --seconds $(FUZZ_SECONDS)

# Operations on arrays of random types, byte orders, alignments and layouts, also in captures.
differential: build
	@cd tests && "$(CURDIR)/$(BIN)/python" differential.py --programs $(PROGRAMS)

# All tests on libraries under AddressSanitizer and UndefinedBehaviorSanitizer; those of threads,
# streams, graphs and memory under ThreadSanitizer, for the driver and for libcupola.so.
sanitize: build
	@$(BIN)/python tools/sanitize.py -- $(PYTEST)
	@CUPOLA_SOAK=full $(BIN)/python -m pytest --driver=cpu tests/sanitizer -k threads

# Tests of threads in a free-threaded Python, with the Cython modules under ThreadSanitizer, too.
sanitize-threads: build
	@$(BIN)/python tools/sanitize.py --interpreter "$(TSAN_PYTHON)" \
	    $(if $(TSAN_SUPPRESSIONS),--suppressions "$(TSAN_SUPPRESSIONS)") -- $(PYTEST)

# Tests with the compilers of other releases of CUDA, and with older ptxas.
toolkits: build
	@$(BIN)/python tools/toolkits.py --slice $(SLICE) $(TOOLKITS)

# A build and a set of tests for each interpreter, in environments of their own; PYTHONS are versions
# or paths.
pythons: $(VENV)/ready
	@$(BIN)/python tools/pythons.py $(PYTHONS)

# Tests that take minutes: millions of calls that must leave nothing behind, on this machine's driver,
# random programs as machine code, and all declarations of PTX against ptxas.
sweep: build
	@CUPOLA_TEST_DECLARATIONS=all $(BIN)/python -m pytest --driver=cpu \
	    tests/ptx/test_declaration_forms.py $(PYTEST)
	@CUPOLA_SOAK=full $(BIN)/python -m pytest tests/soak tests/test_byte_order.py \
	    tests/test_public_headers.py \
	    tests/install/test_install.py::test_wheel_from_a_source_distribution $(PYTEST)
	@mkdir -p build/fuzz && cd tests && programs="$(CURDIR)/build/fuzz/programs.npz" && \
	    python="$(CURDIR)/$(BIN)/python" && \
	    CUPOLA_CPU_MODE=interpret $$python -m ptx.fuzz record $$programs --programs $(FUZZ_PROGRAMS) && \
	    CUPOLA_CPU_MODE=compile $$python -m ptx.fuzz compare $$programs

clean:
	rm -rf build dist $(VENV) package/*.egg-info package/cupola/lib package/cupola/include \
	    package/cupola/*.pxd package/cupola/*/*.pxd package/cupola/*.so package/cupola/*/*.so \
	    mandelbrot.png seahorses.png
