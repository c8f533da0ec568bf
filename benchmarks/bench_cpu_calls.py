"""Calls of the CPU device: an empty kernel, and a megabyte of PTX

python benchmarks/bench_cpu_calls.py [--out FOLDER]

The PTX is that of the tests' kernels from CUB's headers, over and over under other names until
it is 1 MiB. Read as a whole is what CUDA_MODULE_LOADING=EAGER asks for.
"""

import ctypes
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import records

import cupola.paths
from cupola.build import toolkit

SOURCE = Path(__file__).parents[1] / "tests" / "ptx" / "toolkit" / "cub.cu"
ENTRY = re.compile(r"^(?=(?:\.visible |\.weak )?\.entry )", re.MULTILINE)
EMPTY = b".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry empty() { ret; }\n"
LAUNCHES, LOADS = 20000, 9


def megabyte(folder):
    compiled = folder / "cub.ptx"
    command = [toolkit.find().nvcc, "-std=c++17", "-ptx", "-arch=compute_75", "-o", compiled]
    subprocess.run([*command, "-diag-suppress=177,20054", SOURCE], check=True)
    head, *kernels = ENTRY.split(compiled.read_text())
    text, size, turn = [head], len(head), 0
    while size < 1 << 20:
        for kernel in kernels:
            name = re.search(r"\.entry (\w+)", kernel).group(1)
            text.append(kernel.replace(name, f"{name}_{turn}"))
            size += len(text[-1])
        turn += 1
    return "".join(text).encode()


class Device:
    def __init__(self):
        self.library = ctypes.CDLL(os.fspath(cupola.paths.cpu_driver()))
        context = ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxSetCurrent", context)

    def __call__(self, name, *arguments):
        if code := getattr(self.library, name)(*arguments):
            sys.exit(f"{name} returned {code}")

    def load(self, text, call="cuModuleLoadData"):
        out, rest = ctypes.c_void_p(), (None, None, 0) * 2 if "Library" in call else ()
        start = time.perf_counter()
        self(call, ctypes.byref(out), text, *rest)
        return out, time.perf_counter() - start


def launches(device):
    """Microseconds of a call, of a launch behind others, and of a launch with a synchronization.

    The last figure is the floor: an almost empty driver function called by ctypes.
    """
    function = ctypes.c_void_p()
    module, _ = device.load(EMPTY)
    device("cuModuleGetFunction", ctypes.byref(function), module, b"empty")
    sizes = [ctypes.c_uint(n) for n in (1, 1, 1, 32, 1, 1, 0)]
    arguments, call = (function, *sizes, None, None, None), device.library.cuLaunchKernel
    wait, out = device.library.cuCtxSynchronize, ctypes.c_int()
    nothing, version = device.library.cuDriverGetVersion, ctypes.byref(out)
    rows = []
    for _ in range(LOADS):
        start = time.perf_counter()
        for _ in range(LAUNCHES):
            call(*arguments)
        called = time.perf_counter()
        wait()
        done = time.perf_counter()
        for _ in range(LAUNCHES // 4):
            call(*arguments)
            wait()
        waited = time.perf_counter()
        for _ in range(LAUNCHES):
            nothing(version)
        end = time.perf_counter()
        rows.append(
            ((called - start) / LAUNCHES, (done - start) / LAUNCHES,
             (waited - done) / (LAUNCHES // 4), (end - waited) / LAUNCHES)
        )  # fmt: skip
    return [1e6 * statistics.median(column) for column in zip(*rows, strict=True)]


def loads(device, text, call):
    """Milliseconds of the first load, and the median."""
    unload = call.replace("LoadData", "Unload")
    times = []
    for _ in range(LOADS):
        loaded, took = device.load(text, call)
        times.append(took)
        device(unload, loaded)
    return 1e3 * times[0], 1e3 * statistics.median(times)


def run():
    with tempfile.TemporaryDirectory() as folder:
        text = megabyte(Path(folder))
    device = Device()
    call, through, waited, nothing = launches(device)
    rows = [
        records.Row("the call that launches an empty kernel", call, "us", goal="value <= 5"),
        records.Row(f"from launch to launch, with {LAUNCHES} queued", through, "us"),
        records.Row("an empty kernel, launched and waited for", waited, "us"),
        records.Row("a call that reads a number, for the share of ctypes", nothing, "us"),
    ]
    size = f"{len(text) / 2**20:.2f} MiB of PTX"
    for mode in ("LAZY", "EAGER"):
        os.environ["CUDA_MODULE_LOADING"] = mode
        for name in ("cuModuleLoadData", "cuLibraryLoadData"):
            first, median = loads(device, text, name)
            what = f"{name} of {size}, {mode}"
            rows.append(records.Row(f"{what}, the first", first, "ms"))
            rows.append(records.Row(f"{what}, median", median, "ms", goal="value <= 50"))
    return rows


if __name__ == "__main__":
    os.environ["CUPOLA_DRIVER"] = "cpu"
    records.main(__file__, __doc__, run)
