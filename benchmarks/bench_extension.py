"""Host cost of a launch from a downstream .pyx, beside a C++ loop over cuLaunchKernel

python benchmarks/bench_extension.py [--out FOLDER]
"""

import functools
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_launch
import numpy as np
import records

import cupola

SOURCE = Path(__file__).with_name("extension.pyx")
# Launches whose arguments change have goals only for the counts of instructions.py.
GOALS = {
    "Launch.queue(stream)": "ratio <= 1.01",
    "Launch.queue(None)": "ratio <= 1.01",
    "cuLaunchKernel of cupola.driver": "ratio <= 1.01",
}


@functools.cache
def module():
    """extension.pyx, by `cythonize -i`."""
    folder = Path(tempfile.mkdtemp(prefix="cupola-extension-"))
    shutil.copy(SOURCE, folder)
    command = [sys.executable, "-m", "Cython.Build.Cythonize", "-i", SOURCE.name]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (made,) = folder.glob("extension*.so")
    spec = importlib.util.spec_from_file_location("extension", made)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    shutil.rmtree(folder)
    return loaded


def ways(kernel, x, y, out):
    """Functions that launch so many times, by what they are called."""
    extension = module()
    grid, block, n = bench_launch.GRID, bench_launch.BLOCK, bench_launch.N
    launch = kernel.prepare(grid, block, 2.0, x, y, out, n)
    stream = cupola.Stream.current()
    addresses = (x.address, y.address, out.address, n)
    return {
        "Launch.queue(stream)": lambda count: extension.queue(launch, stream, count),
        "Launch.queue(None)": lambda count: extension.queue(launch, None, count),
        "Launch.set_float, queue": lambda count: extension.queue_changed(launch, stream, count),
        "Kernel.put_*, launch_packed": lambda count: extension.packed(
            kernel, *addresses, stream, count
        ),
        "cuLaunchKernel of cupola.driver": lambda count: extension.by_driver(
            kernel, *addresses, stream, count
        ),
    }


def timed(calls, count):
    """Seconds of so many launches; the device's work is waited for outside."""
    start = time.perf_counter()
    calls(count)
    elapsed = time.perf_counter() - start
    cupola.Device().synchronize()
    return elapsed


def run():
    """Nanoseconds a launch and the ratio to the C++ loop, the median of interleaved rounds."""
    x = cupola.to_device(np.arange(bench_launch.N, dtype=np.float32))
    y = cupola.to_device(np.ones(bench_launch.N, dtype=np.float32))
    out = cupola.empty_like(x)
    kernel = cupola.shipped_kernels()["saxpy"]
    floor = bench_launch.floor_calls(kernel, x, y, out)

    def cpp(count):
        elapsed = floor(count)
        cupola.Device().synchronize()
        return elapsed

    batch = bench_launch.BATCH
    calls = {"C++ loop over cuLaunchKernel": functools.partial(cpp, batch)}
    for name, way in ways(kernel, x, y, out).items():
        calls[name] = functools.partial(timed, way, batch)
    return bench_launch.interleaved(calls, goals=GOALS)


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
