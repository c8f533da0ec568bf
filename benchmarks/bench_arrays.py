"""A checked launch with other libraries' arrays as arguments, beside a C++ loop

python benchmarks/bench_arrays.py [--out FOLDER]
"""

import contextlib
import dataclasses
import functools
import importlib.metadata

import bench_launch
import numpy as np
import records

import cupola


class Foreign:
    """An object that offers device memory through ``__cuda_array_interface__`` alone."""

    def __init__(self, array, stream=None):
        self.array, self.stream = array, stream
        self.description = dict(array.__cuda_array_interface__)
        if stream is not None:
            self.description["stream"] = stream.handle

    @property
    def __cuda_array_interface__(self):
        return self.description


def of_cupy(array):
    import cupy

    return cupy.asarray(array.get())


def of_torch(array):
    import torch

    return torch.from_numpy(array.get()).cuda()


@functools.cache
def idle_stream():
    return cupola.Stream()


def of_another_stream(array):
    return Foreign(array, idle_stream())


def cupy_stream():
    """While it is current, CuPy's arrays name it in their interface."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


@dataclasses.dataclass
class Kind:
    """Arrays: how one is made, of which package; the goal of a launch; what is entered for it."""

    make: object
    package: str = None
    goal: str = None
    around: object = contextlib.nullcontext


KINDS = {
    "cupola arrays": Kind(lambda array: array, goal="ratio <= 1.10"),
    "objects with __cuda_array_interface__": Kind(Foreign),
    "such objects that name another, idle stream": Kind(of_another_stream),
    "CuPy arrays": Kind(of_cupy, "cupy-cuda13x", "ratio <= 1.25"),
    "CuPy arrays that name another, idle stream": Kind(
        of_cupy, "cupy-cuda13x", "ratio <= 1.6", cupy_stream
    ),
    "torch tensors": Kind(of_torch, "torch", "ratio <= 1.25"),
}


def run():
    """Nanoseconds a launch and the ratio to C++; libraries that are not there are printed."""
    n, grid, block = bench_launch.N, bench_launch.GRID, bench_launch.BLOCK
    arrays = [cupola.to_device(np.arange(n, dtype=np.float32)) for _ in range(3)]
    kernel = cupola.shipped_kernels()["saxpy"]
    floor = bench_launch.floor_calls(kernel, *arrays)

    def cpp():
        elapsed = floor(bench_launch.BATCH)
        cupola.Device().synchronize()
        return elapsed

    calls, goals, checks = {"C++ loop over cuLaunchKernel": cpp}, {}, []
    for name, kind in KINDS.items():
        try:
            x, y, out = [kind.make(array) for array in arrays]
            around = kind.around()
            version = " " + importlib.metadata.version(kind.package) if kind.package else ""
        except Exception as error:  # each library has its own way to say that there is no GPU
            print(f"{name}: not measured, {type(error).__name__}: {error}")
            continue

        def call(x=x, y=y, out=out):
            kernel[grid, block](2.0, x, y, out, n)

        def calling(call=call, around=around):
            with around:
                return bench_launch.timed(call)

        what = f"kernel[grid, block](...) with {name}{version}"
        calls[what], goals[what] = calling, kind.goal
        checks.append(out)
    rows = bench_launch.interleaved(calls, goals=goals)
    expected = np.float32(2) * np.arange(n, dtype=np.float32) + np.arange(n, dtype=np.float32)
    for out in checks:
        np.testing.assert_array_equal(cupola.asarray(out).get(), expected)
    return rows


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
