#!/usr/bin/env bash
# tools/gpu.sh - build, test, sanitize and measure on a machine with a GPU and without network;
# `make gpu RESULTS=folder`. Each part runs even where another failed; the exit status tells.
set -uo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
results=$(mkdir -p "$1" && cd "$1" && pwd)
site=$PWD/build/gpu/site
status=0

device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | tr -cs '[:alnum:]\n' '-')
revision=${CUPOLA_REVISION:-$(git describe --always --dirty 2>/dev/null || echo unknown)}
if [ -z "$device" ]; then
    echo "no NVIDIA device: nvidia-smi names none" >&2
    exit 1
fi
echo "device $device, revision $revision, results in $results"

# part NAME COMMAND...: run it, keep its output, print how it ended. A part that hangs is ended, so
# that the other parts still run.
part() {
    local name=$1 file=$results/$1-$device-$revision.txt
    shift
    echo "$name"
    if timeout "${CUPOLA_GPU_SECONDS:-300}" "$@" >"$file" 2>&1; then
        tail -n 1 "$file"
    else
        echo "  FAILED with status $?: $file" >&2
        tail -n 15 "$file" >&2
        status=1
        return 1
    fi
}

# Wait for the parts that run side by side.
finish() {
    local job
    for job in $(jobs -p); do
        wait "$job" || status=1
    done
}

rm -rf "$site"
part build "$python" -m pip install --no-build-isolation --no-deps --no-index --target "$site" . ||
    exit 1
# An absolute place outside of the checkout's own package, for every program that follows.
export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH} CUPOLA_OFFLINE=1

# The CPU device has NVIDIA's soname, so a process that loaded it has no other: its own tests run
# apart, here as contracts for NVIDIA's driver. (On the CPU device CI runs them all.)
pytest=("$python" -m pytest -p no:cacheprovider)
CUPOLA_REQUIRE_PEERS=1 part tests "${pytest[@]}" --driver=cuda --ignore=tests/cpu --ignore=tests/ptx --ignore=tests/fuzz &
CUPOLA_TEST_DRIVER=libcuda.so.1 part tests-abi "${pytest[@]}" --driver=cuda tests/cpu tests/ptx &
finish

# Random programs: what they leave here, and on the CPU device.
programs=$results/programs-$device-$revision.npz
CUPOLA_TEST_DRIVER=libcuda.so.1 CUDA_CACHE_DISABLE=1 part programs-recorded \
    env -C tests "$python" -m ptx.fuzz record "$programs" --programs 20000 &&
    part programs-compared env -C tests "$python" -m ptx.fuzz compare "$programs"

sanitizer=$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")
# Calls that fail are how the driver is asked where a parameter list ends and whose an address is;
# cupola checks the result of each, so memcheck reports only what kernels do.
for tool in "memcheck --report-api-errors no" racecheck initcheck synccheck; do
    # shellcheck disable=SC2086 - options are words
    part "sanitizer-${tool%% *}" "$sanitizer" --tool $tool --error-exitcode 1 \
        "$python" tests/sanitizer/shipped.py &
done
# The tests that launch in this process and mean no fault. (initcheck would name every array that
# is copied before it is written, which tests do on purpose.)
launching=(tests/test_{arguments,array,graph,kernel,launch,launch_attributes,shipped,strides}.py)
for tool in "memcheck --report-api-errors no" racecheck synccheck; do
    # shellcheck disable=SC2086 - options are words
    part "sanitizer-tests-${tool%% *}" "$sanitizer" --tool $tool --error-exitcode 1 \
        "${pytest[@]}" --driver=cuda "${launching[@]}" &
done
finish

# Takes minutes, so it runs only on request.
if [ -n "${CUPOLA_GPU_SOAK:-}" ]; then
    CUPOLA_SOAK=full part soak "${pytest[@]}" --driver=cuda tests/soak
fi

# The records go to $results/records; what there is no time for is named.
CUPOLA_REVISION=$revision CUPOLA_GPU_SECONDS=600 \
    part benchmarks "$python" benchmarks/run.py --out "$results/records" --seconds 550
exit $status
