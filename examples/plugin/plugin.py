# examples/plugin/plugin.py - what two .pyx files add to cupola, built and used.
"""Builds decay.pyx and bare.pyx by `cythonize -i`, and holds what they do against NumPy.

python examples/plugin/plugin.py [--elements N] [--steps N]
"""

import argparse
import importlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

import cupola

HERE = pathlib.Path(__file__).parent


def build(*names):
    """The modules, by `cythonize -i` in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="cupola-plugin-")
    sources = [f"{name}.pyx" for name in names]
    for source in sources:
        shutil.copy(HERE / source, folder)
    command = [sys.executable, "-m", "Cython.Build.Cythonize", "-i", *sources]
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}")
    sys.path.insert(0, folder)
    modules = [importlib.import_module(name) for name in names]
    shutil.rmtree(folder)
    return modules


def by_numpy(x, rate, dt, steps):
    """The same steps, rounded as the kernel rounds."""
    a = np.float32(-rate * dt)
    for _ in range(steps):
        x = a * x + x
    return x


def by_python(x, rate, dt, steps):
    """The same launches from Python, for their cost."""
    saxpy = cupola.shipped_kernels()["saxpy"]
    arrays = x.copy(), cupola.empty_like(x)
    grid = max(1, -(-x.size // 256))
    launches = [
        saxpy.prepare(grid, 256, -rate * dt, one, one, other, x.size)
        for one, other in (arrays, arrays[::-1])
    ]
    for step in range(steps):
        launches[step % 2]()
    return arrays[steps % 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1000)
    given = parser.parse_args()
    decay, bare = build("decay", "bare")

    x = np.linspace(1, 2, given.elements, dtype=np.float32)
    wanted = by_numpy(x, 0.5, 0.001, given.steps)
    there = cupola.to_device(x)
    print(f"{given.steps} steps of {given.elements} elements on {cupola.Device().name}")
    for name, function in (("decay.pyx", decay.decayed), ("Python", by_python)):
        function(there, 0.5, 0.001, given.steps)  # the costs of the first call
        start = time.perf_counter()
        out = function(there, 0.5, 0.001, given.steps)
        cupola.Device().synchronize()
        seconds = time.perf_counter() - start
        assert np.array_equal(out.get(), wanted)
        print(f"{name}: {seconds / given.steps * 1e6:.1f} us a step, bit-equal with NumPy")

    y = decay.growing(cupola.to_device(x), np.full(3, 1.0))
    assert np.array_equal(y.get(), 8 * x)
    try:
        decay.growing(y, np.array([1e300]))
    except cupola.ArgumentError as error:
        print(f"refused: {error}")

    values = x.copy()
    bare.scale(values, 3.0)
    assert np.array_equal(values, np.float32(3) * x)
    print("bare.pyx: allocated, launched and freed by the driver's functions alone")


if __name__ == "__main__":
    main()
