"""Pipelines over two devices beside one

python benchmarks/bench_pipeline_devices.py [--out FOLDER] [--rounds N]

The work of each kernel is chosen by its time on one device, so that copies are a small part of it.
The last pipeline is bound by its copies. It needs nvcc.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import records

import cupola
from cupola import Chunk
from cupola.build import toolkit

# Each repeats its work as often as it is told.
SOURCE = r"""
#define KERNEL(name, T, work)                                                               \
    extern "C" __global__ void name(const T* x, T* out, unsigned n, unsigned steps) {       \
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                           \
        if (i >= n) return;                                                                 \
        T value = x[i];                                                                     \
        for (unsigned k = 0; k < steps; ++k) work;                                          \
        out[i] = value;                                                                     \
    }
KERNEL(fused, float, value = value * 0.999f + 0.25f)
KERNEL(logistic, double, value = 3.7 * value * (1.0 - value))
KERNEL(hashed, unsigned, { value ^= value << 13; value ^= value >> 17; value ^= value << 5; })
"""
KERNELS = {"fused": np.float32, "logistic": np.float64, "hashed": np.uint32}
CHUNKS = 32
GOAL = "value >= 1.8"


def compiled(folder):
    (folder / "kernels.cu").write_text(SOURCE)
    target = folder / "kernels.ptx"
    command = [toolkit.find().nvcc, "-ptx", "-arch=compute_75", "-o", target, folder / "kernels.cu"]
    subprocess.run(command, check=True)
    return cupola.load(target)


def pinned(count, dtype):
    """An input and an output of the host, page-locked."""
    x, out = cupola.empty_pinned(count, dtype), cupola.empty_pinned(count, dtype)
    numbers = np.random.default_rng(1).random(count)
    x[:] = numbers if x.dtype.kind == "f" else numbers * 2**32
    return x, out


def steps_for(kernel, x, seconds):
    """How much work makes the kernel take so long over all elements, on one device."""
    length = len(x) // CHUNKS
    here, there = cupola.to_device(x[:length]), cupola.empty(length, x.dtype)
    grid, steps = -(-length // 256), 64
    while True:
        kernel[grid, 256](here, there, length, steps)  # loads it
        cupola.Device().synchronize()
        start = time.perf_counter()
        kernel[grid, 256](here, there, length, steps)
        cupola.Device().synchronize()
        took = (time.perf_counter() - start) * CHUNKS
        if took > seconds / 4 or steps > 1 << 20:
            return max(1, round(steps * seconds / took))
        steps *= 4


def in_turns(ways, rounds, check):
    """Seconds by way, one for each round; the first round is not counted."""
    seconds = {name: [] for name in ways}
    for round_ in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if round_:
                seconds[name].append(time.perf_counter() - start)
            else:
                check(name)
    return seconds


def rows_of(what, seconds, goal):
    """Both times, and how much faster two devices are."""
    rows = records.titled(what, records.medians(seconds, "ms"))
    one, two = seconds.values()
    speed = statistics.median(a / b for a, b in zip(one, two, strict=True))
    return [*rows, records.Row(f"{what}: speed of two devices over one", speed, "x", goal=goal)]


def run(rounds):
    cpu = cupola.driver.info().kind == "cpu"
    goal = None if cpu else GOAL
    both = list(cupola.devices()[:2])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        module = compiled(Path(folder))
    count, seconds = (1 << 20, 0.2) if cpu else (1 << 26, 0.6)

    def measured(what, call, out, goal):
        results = []

        def check(name):
            results.append(out.copy())
            if not out.any() or not np.array_equal(results[0], out):
                sys.exit(f"{what}: the result of {name} differs from that of one device")
            out[:] = 0

        ways = {"one device": lambda: call(both[:1]), "two devices": lambda: call(both)}
        return rows_of(what, in_turns(ways, rounds, check), goal)

    for name, dtype in KERNELS.items():
        x, out = pinned(count, dtype)
        kernel = module[name]
        steps = steps_for(kernel, x, seconds)
        rows += measured(
            f"{name}, bound by the kernel",
            lambda devices, kernel=kernel, x=x, out=out, steps=steps: cupola.pipeline(
                kernel, x, out, arguments=(x, out, Chunk.length, steps),
                chunk=count // CHUNKS, devices=devices, staging=True,
            ),
            out,
            goal,
        )  # fmt: skip
    x, out = pinned(count, np.float32)
    saxpy = cupola.shipped_kernels()["saxpy"]
    rows += measured(
        "saxpy, bound by the copies",
        lambda devices: cupola.pipeline(
            saxpy, x, out, arguments=(2.0, x, x, out, Chunk.length),
            chunk=count // CHUNKS, devices=devices, staging=True,
        ),
        out,
        None,
    )  # fmt: skip
    return rows


if __name__ == "__main__":
    parser = records.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if len(cupola.devices()) < 2:
        sys.exit("two devices are needed: on the CPU device, set CUPOLA_CPU_DEVICES=2")
    name, about = records.cupola_device()
    records.publish(
        options.out, __file__, __doc__, run(options.rounds),
        device=f"2 x {name}", extra=about,
    )  # fmt: skip
