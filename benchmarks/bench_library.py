"""Cost of a library of 500 kernels for a program that launches one of them

python benchmarks/bench_library.py [--out FOLDER]

Each time is that of a fresh process, which has a context and has launched a kernel of another image
before: from the files, with the manifest, to the result of one kernel. The image has machine code
for the device, where that is a GPU, and PTX.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import records

import cupola
from cupola.build import executor, image, toolkit
from cupola.build.architectures import Architectures

ROUNDS = 9
MANY = 500
KERNEL = """
extern "C" __global__ void k%(number)d(float a, const float* __restrict__ x, const float* y,
                                       float* out, unsigned n) {
    __shared__ float tile[128];
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x %% 128] = i < n ? x[i] : 0.0f;
    __syncthreads();
    float sum = %(number)d.0f;
    for (unsigned j = 0; j < 16; ++j) sum = sum * a + tile[(threadIdx.x + j) %% 128];
    if (i < n) out[i] = sum + y[i] / a;
}
"""
PROGRAM = """
import ctypes, sys, time
import numpy as np
import cupola
cupola.saxpy(2.0, np.ones(4, np.float32), np.ones(4, np.float32))
x, out = cupola.ones(32, np.float32), cupola.zeros(32, np.float32)
x.get()
if sys.argv[3] == "driver":  # only driver calls, on bytes already in memory
    data, module, kernel = open(sys.argv[1], "rb").read(), ctypes.c_void_p(), ctypes.c_void_p()
    driver, name = ctypes.CDLL(cupola.driver.info().path), sys.argv[2].encode()
    start = time.perf_counter()
    assert driver.cuModuleLoadData(ctypes.byref(module), data) == 0
    loaded = time.perf_counter()
    assert driver.cuModuleGetFunction(ctypes.byref(kernel), module, name) == 0
    print(loaded - start, time.perf_counter() - start)
    sys.exit()
start = time.perf_counter()
module = cupola.load(sys.argv[1])
loaded = time.perf_counter()
module[sys.argv[2]][1, 32](a=1.0, x=x, y=x, out=out, n=32)
first = out.get()[0]
done = time.perf_counter()
assert first == int(sys.argv[2][1:]) + 17, first
print(loaded - start, done - start)
"""


def library(folder, count):
    """The image of so many kernels, with its manifest beside it."""
    source = folder / f"library_{count}.cu"
    source.write_text("".join(KERNEL % {"number": n} for n in range(count)))
    cubins = ()
    if cupola.driver.info().kind == "cuda":
        major, minor = cupola.Device().compute_capability
        cubins = (10 * major + minor,)
    made, manifest = Path(f"library_{count}.fatbin"), Path(f"library_{count}.json")
    executor.run(
        image.steps(toolkit.find(), Architectures(cubins), [Path(source.name)], made, manifest,
                    folder),
        folder,
    )  # fmt: skip
    return folder / made


def once(path, kernel, way):
    """Seconds until it was loaded, and until the kernel's result, or the kernel, was there."""
    command = [sys.executable, "-c", PROGRAM, path, kernel, way]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [float(number) for number in answer.split()]


def run():
    """Milliseconds, medians of fresh processes; the difference is that of the medians."""
    with tempfile.TemporaryDirectory(prefix="cupola-library-") as name:
        folder = Path(name)
        libraries = {1: (library(folder, 1), "k0"), MANY: (library(folder, MANY), f"k{MANY // 2}")}
        ways = [(way, count) for way in ("cupola", "driver") for count in libraries]
        times = {which: [] for which in ways}
        for _ in range(ROUNDS):
            for way, count in ways:
                times[way, count].append(once(*libraries[count], way))
    rows, whole = [], {}
    for (way, count), pairs in times.items():
        loaded, done = (statistics.median(values) * 1e3 for values in zip(*pairs, strict=True))
        what = f"library of {count} kernel{'s' if count > 1 else ''}, "
        what += {"cupola": "", "driver": "the driver's calls alone, "}[way]
        rows.append(records.Row(f"{what}loaded", loaded, "ms"))
        whole[way, count] = done
        if way == "cupola":
            rows.append(records.Row(f"{what}one launched and its result", done, "ms"))
    for way in ("cupola", "driver"):
        what = f"{MANY} over 1" + ("" if way == "cupola" else ", the driver's calls alone")
        goal = "value <= 5" if way == "cupola" else None
        rows.append(records.Row(what, whole[way, MANY] - whole[way, 1], "ms", goal=goal))
    return rows


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
