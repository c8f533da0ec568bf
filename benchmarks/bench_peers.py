"""Host cost of the same launch by CuPy, cuda.core and ctypes, beside cupola's

python benchmarks/bench_peers.py [--out FOLDER]
"""

import ctypes
import importlib.metadata
from functools import partial

import bench_launch
import numpy as np
import records

import cupola

SOURCE = """
extern "C" __global__ void axpy(float a, const float* x, const float* y, float* out, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"""


def of_cupy(x, y, out, n):
    import cupy

    kernel = cupy.RawKernel(SOURCE, "axpy")
    a, count = np.float32(2), np.uint64(n)
    arrays = [cupy.asarray(array.get()) for array in (x, y, out)]
    grid, block = (bench_launch.GRID,), (bench_launch.BLOCK,)
    return lambda: kernel(grid, block, (a, *arrays, count))


def cuda_core_kernel():
    """cuda.core's launch, the kernel, its configuration, and the class of devices."""
    try:
        from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    except ImportError:
        from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch

    device = Device()
    device.set_current()
    capability = "".join(str(part) for part in device.compute_capability)
    program = Program(SOURCE, code_type="c++", options=ProgramOptions(arch=f"sm_{capability}"))
    form = "ptx" if cupola.driver.info().kind.startswith("cpu") else "cubin"
    kernel = program.compile(form).get_kernel("axpy")
    return launch, kernel, LaunchConfig(grid=bench_launch.GRID, block=bench_launch.BLOCK), Device


def of_cuda_core(x, y, out, n):
    launch, kernel, config, device = cuda_core_kernel()
    stream = device().create_stream()
    a, count = np.float32(2), np.uint64(n)
    pointers = [array.address for array in (x, y, out)]
    return lambda: launch(stream, config, kernel, a, *pointers, count)


def of_ctypes(x, y, out, n):
    driver = ctypes.CDLL(cupola.driver.info().path)
    kernel = cupola.shipped_kernels()["saxpy"]
    function, stream = ctypes.c_void_p(kernel.handle), ctypes.c_void_p(1)

    def call():
        values = (
            ctypes.c_float(2.0),
            ctypes.c_uint64(x.address),
            ctypes.c_uint64(y.address),
            ctypes.c_uint64(out.address),
            ctypes.c_uint64(n),
        )
        pointers = (ctypes.c_void_p * 5)(*[ctypes.addressof(value) for value in values])
        g, b = bench_launch.GRID, bench_launch.BLOCK
        driver.cuLaunchKernel(function, g, 1, 1, b, 1, 1, 0, stream, pointers, None)

    return call


PEERS = {
    "ctypes, packing each time": (of_ctypes, None),
    "CuPy RawKernel": (of_cupy, "cupy-cuda13x"),
    "cuda.core launch": (of_cuda_core, "cuda-core"),
}


def run():
    """Nanoseconds a launch, medians; peers that are not installed are printed."""
    n = bench_launch.N
    x = cupola.to_device(np.arange(n, dtype=np.float32))
    y = cupola.to_device(np.ones(n, dtype=np.float32))
    out = cupola.empty_like(x)
    kernel = cupola.shipped_kernels()["saxpy"]
    grid, block = bench_launch.GRID, bench_launch.BLOCK
    calls = {"cupola kernel[grid, block](...)": lambda: kernel[grid, block](2.0, x, y, out, n)}
    for name, (make, package) in PEERS.items():
        try:
            version = " " + importlib.metadata.version(package) if package else ""
            calls[name + version] = make(x, y, out, n)
        except ImportError as error:
            print(f"{name}: not measured, {error}")
    timed = {name: partial(bench_launch.timed, call) for name, call in calls.items()}
    return bench_launch.interleaved(timed)


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
