"""What the CPU device takes to launch an empty kernel, and to load a megabyte of PTX.

python benchmarks/bench_cpu_calls.py [--out FILE]

The PTX is that of the tests' kernels from CUB's headers, over and over under other names until
it is 1 MiB. Read as a whole is what CUDA_MODULE_LOADING=EAGER asks for.
"""

import argparse
import ctypes
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_cpu_device import processor

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
    """Microseconds of a call, of a launch with others before it, of one that is waited for; and of
    a call that does next to nothing, as ctypes makes it.
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
    unload = call.replace("LoadData", "Unload")
    times = []
    for _ in range(LOADS):
        loaded, took = device.load(text, call)
        times.append(took)
        device(unload, loaded)
    return f"{1e3 * times[0]:.1f} | {1e3 * statistics.median(times):.1f}"


def measure():
    with tempfile.TemporaryDirectory() as folder:
        text = megabyte(Path(folder))
    device = Device()
    call, through, waited, nothing = launches(device)
    lines = [
        f"# Calls of the CPU device: {processor()}, {len(os.sched_getaffinity(0))} processors",
        "",
        "`benchmarks/bench_cpu_calls.py` made this; medians of nine.",
        "",
        "| an empty kernel, by ctypes | microseconds |",
        "| --- | --- |",
        f"| the call that launches it | {call:.2f} |",
        f"| from launch to launch, with {LAUNCHES} queued | {through:.2f} |",
        f"| launched and waited for | {waited:.2f} |",
        f"| a call that reads a number, for ctypes's part | {nothing:.2f} |",
        "",
        f"| {len(text) / 2**20:.2f} MiB of PTX | first, ms | median, ms |",
        "| --- | --- | --- |",
    ]
    for mode in ("LAZY", "EAGER"):
        os.environ["CUDA_MODULE_LOADING"] = mode
        for name in ("cuModuleLoadData", "cuLibraryLoadData"):
            lines.append(f"| `{name}`, {mode} | {loads(device, text, name)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    answer = measure()
    print(answer)
    if chosen.out:
        chosen.out.write_text(answer)
