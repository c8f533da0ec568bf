# examples/ptx_by_hand/ptx_by_hand.py - one picture in five ways, one table.
"""A .ptx file made by nvcc, loaded and launched by cupola, and by the wrapper in driver.py.

python examples/ptx_by_hand/ptx_by_hand.py

Each way runs in a process of its own. "Cold" is its first picture: it loads the driver and the
kernel. "Warm" is the median of those that follow. Importing Python and NumPy is in neither.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).parent
PTX = HERE / "mandelbrot.ptx"
SIZE, ITERATIONS, BOUND, WARM = 512, 256, 2.0, 10
BLOCK = 256
GRID = SIZE * SIZE // BLOCK


def lattice():
    return np.linspace(-2, 2, SIZE, dtype=np.float32)


def by_numpy():
    sys.path.insert(0, str(HERE.parent))
    from ctypes_launcher import by_numpy

    return by_numpy


def by_library():
    """Example 1: libcupola.so's C function through ctypes."""
    sys.path.insert(0, str(HERE.parent))
    from ctypes_launcher import mandelbrot

    return mandelbrot


def by_cupola_ptx():
    """The PTX file through cupola: the arguments are checked against what the PTX declares."""
    import cupola

    kernel = cupola.load(PTX)["mandelbrot"]
    points = cupola.to_device(lattice())
    graph = cupola.empty((SIZE, SIZE), np.float32)

    def picture():
        kernel[GRID, BLOCK](points, graph, ITERATIONS, BOUND**2, SIZE)
        return graph.get()

    return picture


def by_wrapper():
    """The PTX file through driver.py, the ctypes wrapper beside this file."""
    from ctypes import c_float, c_int

    import driver

    driver.Context()
    function = driver.Module(PTX).function("mandelbrot")
    points, graph = driver.Memory(SIZE * 4), driver.Memory(SIZE * SIZE * 4)
    points.set(lattice())
    stream = driver.Stream()
    host = np.empty((SIZE, SIZE), np.float32)

    def picture():
        arguments = [points.address, graph.address]
        arguments += [c_int(ITERATIONS), c_float(BOUND**2), c_int(SIZE)]
        # The kernel has no use for the 10,000 bytes of shared memory that each block gets.
        driver.launch(function, (GRID, 1, 1), (BLOCK, 1, 1), arguments, 10_000, stream)
        stream.synchronize()
        graph.get(host)
        return host

    return picture


def by_shipped_kernel():
    """The kernel that cupola ships, as a function of NumPy arrays."""
    import cupola

    return lambda: cupola.mandelbrot(SIZE, -2, 2, ITERATIONS, BOUND)


WAYS = {
    "NumPy": by_numpy,
    "libcupola.so, ctypes": by_library,
    "mandelbrot.ptx, cupola": by_cupola_ptx,
    "mandelbrot.ptx, ctypes": by_wrapper,
    "cupola.mandelbrot": by_shipped_kernel,
}


def run_one(name, path):
    """In a process of its own: time one way and save its picture."""
    start = time.perf_counter()
    picture = WAYS[name]()
    graph = picture()
    cold, warm = time.perf_counter() - start, []
    for _ in range(2 if name == "NumPy" else WARM):
        start = time.perf_counter()
        graph = picture()
        warm.append(time.perf_counter() - start)
    np.save(path, graph)
    print(json.dumps([cold, statistics.median(warm)]))


def environment(folder):
    """Where CDLL("libcuda.so") finds the driver that cupola has taken."""
    import cupola

    driver = cupola.driver.info()
    if driver.kind == "cpu":
        folder = os.path.dirname(driver.path)
    else:  # a driver without development files has only the name libcuda.so.1
        os.symlink(loaded("libcuda.so"), f"{folder}/libcuda.so")
    paths = [str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(paths)}


def loaded(name):
    """The file behind a library of this process."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        if name in line:
            return line.split(maxsplit=5)[5]
    raise FileNotFoundError(name)


def main():
    table, pictures = [], []
    with tempfile.TemporaryDirectory() as folder:
        variables = environment(folder)
        for name in WAYS:
            path = f"{folder}/picture.npy"
            command = [sys.executable, __file__, name, path]
            done = subprocess.run(
                command, env=variables, stdout=subprocess.PIPE, text=True, check=True
            )
            table.append((name, *json.loads(done.stdout)))
            pictures.append(np.load(path))
    assert all(np.array_equal(pictures[0], other) for other in pictures), "the pictures differ"

    print(f"| {SIZE} x {SIZE} points, {ITERATIONS} iterations | cold, ms | warm, ms |")
    print("| --- | ---: | ---: |")
    for name, cold, warm in table:
        print(f"| {name} | {cold * 1e3:.1f} | {warm * 1e3:.2f} |")
    print(f"\nthe {len(pictures)} pictures are bit-equal, {int(pictures[0].sum())} points inside")


if __name__ == "__main__":
    run_one(*sys.argv[1:]) if len(sys.argv) == 3 else main()
