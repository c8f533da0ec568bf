"""The Mandelbrot kernel beside the same loop in scalar C++, 1024 x 1024, 256 iterations."""

import ctypes
import json
import os
import statistics
import subprocess
import sys
import time

import floor
import numpy as np

SIZE, ITERATIONS, BOUND, ROUNDS = 1024, 256, 2.0, 7


def lattice():
    return np.linspace(-2, 2, SIZE, dtype=np.float32)


def of_cpp(library):
    """Seconds of the scalar loop, and its picture."""
    points, graph = lattice(), np.empty((SIZE, SIZE), np.float32)
    start = time.perf_counter()
    library.floor_mandelbrot(
        points.ctypes.data_as(ctypes.c_void_p),
        graph.ctypes.data_as(ctypes.c_void_p),
        ITERATIONS,
        BOUND * BOUND,
        SIZE,
    )
    return time.perf_counter() - start, graph


class Device:
    """A process that runs the kernel with a number of worker threads of the CPU device.

    `full`: without the kernel's shortcut for points whose orbits never leave.
    """

    def __init__(self, threads=None, full=False):
        environment = {**os.environ, "CUPOLA_BENCH_FULL": "1" if full else ""}
        if threads:
            environment["CUPOLA_CPU_THREADS"] = str(threads)
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def seconds(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer["seconds"], answer["inside"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve():
    """Answers each line with the kernel's seconds, by events."""
    import cupola

    points = cupola.to_device(lattice())
    graph = cupola.empty((SIZE, SIZE), np.float32)
    start, stop = cupola.Event(), cupola.Event()

    def launch():
        cupola.mandelbrot(lattice=points, iterations=ITERATIONS, bound=BOUND, out=graph)

    if os.environ.get("CUPOLA_BENCH_FULL"):
        import bench_kernels

        full = bench_kernels.compiled()["mandelbrot_full"]
        grid = bench_kernels.blocks(SIZE * SIZE // 4)
        launch = full.prepare(grid, 256, points, graph, ITERATIONS, BOUND * BOUND, SIZE)
    for _ in sys.stdin:
        start.record()
        launch()
        stop.record()
        stop.synchronize()
        inside = float(graph.get().sum())
        print(json.dumps({"seconds": stop.elapsed_since(start), "inside": inside}), flush=True)


def run(cpu):
    """Seconds and ratios to the scalar loop, the median of interleaved rounds."""
    scalar, vectorised = floor.build(floor.SCALAR), floor.build()
    ways = {
        "C++ -O3 -fno-tree-vectorize, 1 thread": lambda: of_cpp(scalar),
        "C++ -O3, 1 thread": lambda: of_cpp(vectorised),
    }
    devices = {}
    if cpu:
        devices = {f"CPU device, {n} thread(s)": Device(n) for n in (1, 2)}
        devices["CPU device, 1 thread, every step computed"] = Device(1, full=True)
    else:
        devices = {"GPU": Device(), "GPU, every step computed": Device(full=True)}
    times = {name: [] for name in [*ways, *devices]}
    for round_ in range(ROUNDS + 1):
        inside = set()
        for name, way in ways.items():
            elapsed, graph = way()
            times[name].append(elapsed)
            inside.add(float(graph.sum()))
        for name, device in devices.items():
            elapsed, count = device.seconds()
            times[name].append(elapsed)
            inside.add(count)
        assert len(inside) == 1, f"the pictures differ: {inside}"
        if round_ == 0:
            for values in times.values():
                values.clear()
    for device in devices.values():
        device.close()
    base = times["C++ -O3, 1 thread"]
    return [
        {
            "what": name,
            "ms": statistics.median(values) * 1e3,
            "ratio": statistics.median(v / b for v, b in zip(values, base, strict=True)),
        }
        for name, values in times.items()
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        import cupola

        for row in run(cupola.driver.info().kind == "cpu"):
            print(row)
