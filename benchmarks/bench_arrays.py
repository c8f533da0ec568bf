"""A checked launch with arrays of others among its arguments, beside the C++ floor."""

import importlib.metadata
from functools import partial

import bench_launch
import numpy as np

import cupola


class Foreign:
    """What offers device memory in the least way there is."""

    def __init__(self, array):
        self.array = array
        self.description = dict(array.__cuda_array_interface__)

    @property
    def __cuda_array_interface__(self):
        return self.description


def of_cupy(array):
    import cupy

    return cupy.asarray(array.get())


def of_torch(array):
    import torch

    return torch.from_numpy(array.get()).cuda()


KINDS = {
    "cupola arrays": (lambda array: array, None),
    "objects with __cuda_array_interface__": (Foreign, None),
    "CuPy arrays": (of_cupy, "cupy-cuda13x"),
    "torch tensors": (of_torch, "torch"),
}


def run():
    """Nanoseconds a launch and the ratio to C++; libraries that are not there are named so."""
    n, grid, block = bench_launch.N, bench_launch.GRID, bench_launch.BLOCK
    arrays = [cupola.to_device(np.arange(n, dtype=np.float32)) for _ in range(3)]
    kernel = cupola.shipped_kernels()["saxpy"]
    floor = bench_launch.floor_calls(kernel, *arrays)

    def cpp():
        elapsed = floor(bench_launch.BATCH)
        cupola.Device().synchronize()
        return elapsed

    calls, rows, checks = {"C++ loop over cuLaunchKernel": cpp}, [], []
    for kind, (make, package) in KINDS.items():
        try:
            x, y, out = [make(array) for array in arrays]
            version = " " + importlib.metadata.version(package) if package else ""
        except Exception as error:  # each library has its own way to say that there is no GPU
            rows.append({"what": f"{kind}: not measured, {type(error).__name__}: {error}"})
            continue

        def call(x=x, y=y, out=out):
            kernel[grid, block](2.0, x, y, out, n)

        calls[f"kernel[grid, block](...) with {kind}{version}"] = partial(bench_launch.timed, call)
        checks.append(out)
    rows += bench_launch.interleaved(calls)
    expected = np.float32(2) * np.arange(n, dtype=np.float32) + np.arange(n, dtype=np.float32)
    for out in checks:
        np.testing.assert_array_equal(cupola.asarray(out).get(), expected)
    return rows


if __name__ == "__main__":
    for row in run():
        print(row)
