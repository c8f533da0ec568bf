"""Coverage of kernels on the CPU device: the time of launches with counters, beside without

python benchmarks/bench_coverage.py [--out FOLDER]

Each kernel runs in a process of its own, with CUPOLA_CPU_COVERAGE and without, three times each.
The figure is the smallest processor time of a launch, so other programs disturb it little. nvcc
compiles the kernels with -lineinfo.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import records

SOURCE = """
extern "C" __global__ void saxpy(float* y, const float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += 2.f * x[i];
}
extern "C" __global__ void divergent(float* y, const float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i];
    for (int k = 0; k < i % 32; ++k) {
        if (v > 1.f)
            v *= 0.5f;
        else
            v += 0.75f;
    }
    y[i] = v;
}
extern "C" __global__ void sums(float* y, const float* x, int n) {
    __shared__ float part[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.f;
    for (unsigned half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = part[0];
}
"""
PROGRAM = """
import sys, time
import numpy as np, cupola
image, name, launches = sys.argv[1], sys.argv[2], int(sys.argv[3])
n = 1 << 18
x, y = cupola.ones(n, np.float32), cupola.zeros(n, np.float32)
kernel = cupola.load(image)[name]
def run():
    for _ in range(launches):
        kernel[n // 256, 256](y, x, n)
    cupola.Device().synchronize()
run()
start = time.process_time()
run()
print(time.process_time() - start)
"""
KERNELS = {"saxpy": 40, "divergent": 4, "sums": 10}
MODES = ("interpret", "compile")


def seconds(image, name, mode, counts):
    environment = {**os.environ, "CUPOLA_CPU_MODE": mode}
    if counts:
        environment["CUPOLA_CPU_COVERAGE"] = str(counts)
    launches = KERNELS[name] * (10 if mode == "compile" else 1)
    command = [sys.executable, "-c", PROGRAM, image, name, str(launches)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout) / launches


def run():
    rows = []
    with tempfile.TemporaryDirectory() as place:
        source, image = Path(place) / "kernels.cu", Path(place) / "kernels.ptx"
        source.write_text(SOURCE)
        nvcc = ["nvcc", "-ptx", "-lineinfo", "-arch=compute_75", "-o", image, source]
        subprocess.run(nvcc, check=True)
        for mode in MODES:
            for name in KERNELS:
                pairs = [
                    [
                        seconds(image, name, mode, counts)
                        for counts in (None, Path(place) / "counts")
                    ]
                    for _ in range(3)
                ]
                without, counted = (min(column) * 1e6 for column in zip(*pairs, strict=True))
                rows.append(
                    records.Row(
                        f"{name}, {mode}, counted",
                        counted,
                        "us",
                        floor="without coverage",
                        floor_value=without,
                        ratio=counted / without,
                        goal="ratio <= 3",
                    )
                )
    return rows


if __name__ == "__main__":
    os.environ["CUPOLA_DRIVER"] = "cpu"
    records.main(__file__, __doc__, run)
