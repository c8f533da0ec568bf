# cupola/tools/command/bench.py - python -m cupola bench.
"""Times launches, copies and kernels of this machine, and the same work in C++."""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable
from typing import Any

from cupola.tools.command.table import table

HELP = "measure launches, copies and kernels on this machine, and compare with C++"
EPILOG = """\
The C++ column is a loop inside libcupola.so that calls the driver directly: cuLaunchKernel with
packed arguments, or cuMemcpyHtoDAsync and cuMemcpyDtoHAsync of page-locked memory, each followed by
a synchronization. A kernel's row is the time from the first launch to the end of the last one,
divided by the number of launches. C++ and cupola alternate. Times are medians over all rounds; a
ratio is the median of the rounds' ratios."""

ROUNDS = 15
BATCH = 200  # launches in a row: fewer than a driver's queue holds

Row = tuple[str, float, float, str]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the output format."""
    parser.add_argument("--json", action="store_true", help="print JSON: seconds and ratios")


def run(options: argparse.Namespace) -> None:
    """Measure, and print the table."""
    import cupola

    info = cupola.driver.info()
    device = cupola.Device()
    rows = [*launches(), *copies(info.kind), *kernels(info.kind)]
    if options.json:
        import json

        names = ("what", "floor", "cupola", "rate")
        print(json.dumps({"device": device.name, "driver": info.path,
                          "rows": [dict(zip(names, row, strict=True)) for row in rows]},
                         indent=1))  # fmt: skip
        return
    print(f"{device.name} through {info.path}, cupola {cupola.__version__}\n")
    text = [["", "C++", "cupola", "ratio", ""]]
    for what, floor, ours, rate in rows:
        text.append([what, duration(floor), duration(ours), f"{ours / floor:.2f}", rate])
    print(table(text))
    print("\nC++: a loop in libcupola.so that calls the driver directly; medians, see --help")


def duration(seconds: float) -> str:
    """The time as text, in s, ms, us or ns."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= factor:
            return f"{seconds / factor:,.2f} {unit}"
    return f"{seconds / 1e-9:,.0f} ns"


class Floor:
    """The loops of cupola/bench.h, on the current stream."""

    def __init__(self) -> None:
        import cupola

        self.library = ctypes.CDLL(cupola.paths.library())
        self.device = cupola.Device().index
        self.stream = cupola.Stream.current().handle
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.library.cupola_bench_launch.argtypes = [
            ctypes.c_int, pointer, pointer, ctypes.c_uint32, ctypes.c_uint32,
            ctypes.POINTER(pointer), ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_double),
        ]  # fmt: skip
        self.library.cupola_bench_copy.argtypes = [
            ctypes.c_int, ctypes.c_uint64, pointer, size, ctypes.c_int, pointer, ctypes.c_int,
            ctypes.POINTER(ctypes.c_double),
        ]  # fmt: skip
        self.library.cupola_last_error.restype = ctypes.c_char_p

    def _seconds(self, name: str, *arguments: Any) -> float:
        from cupola.exceptions import Error

        seconds = ctypes.c_double()
        if getattr(self.library, name)(self.device, *arguments, ctypes.byref(seconds)):
            raise Error(f"{name}: {self.library.cupola_last_error().decode()}")
        return seconds.value

    def launch(
        self, kernel: Any, grid: int, block: int, values: list[Any], count: int, wait: bool
    ) -> float:
        """Seconds a launch; `values` are ctypes objects."""
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        return (
            self._seconds(
                "cupola_bench_launch", kernel.handle, self.stream, grid, block, addresses, count,
                wait,
            )
            / count
        )  # fmt: skip

    def copy(self, array: Any, host: Any, direction: int, count: int) -> float:
        """Seconds a copy between a device array and a page-locked one."""
        return (
            self._seconds(
                "cupola_bench_copy", array.address, host.ctypes.data, host.nbytes, direction,
                self.stream, count,
            )
            / count
        )  # fmt: skip


def pairs(
    floor: Callable[[], float], *ways: Callable[[], float], rounds: int = ROUNDS
) -> list[tuple[float, float]]:
    """For each way: the floor's median, and that median times the median ratio of the rounds."""
    from statistics import median

    taken = []
    for round_ in range(rounds + 1):
        one = [way() for way in (floor, *ways)]
        if round_:  # the first one loads code
            taken.append(one)
    base = median(one[0] for one in taken)
    return [
        (base, base * median(one[i] / one[0] for one in taken)) for i in range(1, 1 + len(ways))
    ]


def timed(call: Callable[[], object], count: int, wait: bool) -> float:
    """Seconds a call; unless `wait`, the device's work is not part of it."""
    import cupola

    start = time.perf_counter()
    for _ in range(count):
        call()
    if wait:
        cupola.Stream.current().synchronize()
    elapsed = time.perf_counter() - start
    if not wait:
        cupola.Stream.current().synchronize()
    return elapsed / count


def launches() -> list[Row]:
    """Host time of a launch with five arguments."""
    import numpy as np

    import cupola

    n = 32
    x = cupola.to_device(np.arange(n, dtype=np.float32))
    y, out = cupola.ones_like(x), cupola.empty_like(x)
    saxpy = cupola.shipped_kernels()["saxpy"]
    prepared = saxpy.prepare(1, n, 2.0, x, y, out, n)
    floor = Floor()
    values = saxpy_values(2.0, x, y, out, n)

    def cpp() -> float:
        seconds = floor.launch(saxpy, 1, n, values, BATCH, False)
        cupola.Stream.current().synchronize()
        return seconds

    found = pairs(
        cpp,
        lambda: timed(prepared, BATCH, False),
        lambda: timed(lambda: saxpy[1, n](2.0, x, y, out, n), BATCH, False),
        rounds=3 * ROUNDS,
    )
    names = ("launch, prepared: launch()", "launch, checked: kernel[grid, block](...)")
    return [(name, *pair, "") for name, pair in zip(names, found, strict=True)]


def saxpy_values(a: float, x: Any, y: Any, out: Any, n: int) -> list[Any]:
    """The shipped saxpy's arguments as ctypes objects."""
    return [
        ctypes.c_float(a),
        *(ctypes.c_uint64(array.address) for array in (x, y, out)),
        ctypes.c_uint64(n),
    ]


def copies(kind: str) -> list[Row]:
    """Page-locked host memory to the device and back, 1 and 64 MiB."""
    import numpy as np

    import cupola

    floor, rows = Floor(), []
    stream = cupola.Stream.current()
    for mib in (1, 64):
        array = cupola.empty(mib << 20, np.uint8)
        host = cupola.empty_pinned(mib << 20, np.uint8)
        host[:] = 1
        count = 64 // mib if kind == "cuda" else max(1, 8 // mib)

        def to_device(array: Any = array, host: Any = host) -> None:
            array.set(host)
            stream.synchronize()

        def to_host(array: Any = array, host: Any = host) -> None:
            array.get(out=host, stream=stream)
            stream.synchronize()

        for name, direction, call in (("device", 1, to_device), ("host", 2, to_host)):
            (pair,) = pairs(
                lambda array=array, host=host, direction=direction, count=count: floor.copy(
                    array, host, direction, count
                ),
                lambda call=call, count=count: timed(call, count, True),
            )
            rate = f"{host.nbytes / pair[1] / 1e9:,.1f} GB/s"
            rows.append((f"copy, {mib} MiB to the {name}", *pair, rate))
    return rows


def kernels(kind: str) -> list[Row]:
    """Shipped kernels, launched by C++ and by cupola's functions."""
    import numpy as np

    import cupola

    floor, module = Floor(), cupola.shipped_kernels()
    n, count = (1 << 26, 10) if kind == "cuda" else (1 << 20, 2)
    x = cupola.ones(n, np.float32)
    y, out = cupola.ones_like(x), cupola.empty_like(x)
    values = saxpy_values(2.0, x, y, out, n)
    grid = -(-n // (4 * 512))  # four elements a thread
    (pair,) = pairs(
        lambda: floor.launch(module["saxpy"], grid, 512, values, count, True),
        lambda: timed(lambda: cupola.saxpy(2.0, x, y, out=out), count, True),
    )
    rate = f"{3 * out.nbytes / pair[1] / 1e9:,.1f} GB/s"
    rows = [(f"saxpy of {n / 2**20:.0f} Mi floats", *pair, rate)]

    size, iterations = (4096, 256) if kind == "cuda" else (256, 256)
    lattice = cupola.to_device(np.linspace(-2, 2, size, dtype=np.float32))
    graph = cupola.empty((size, size), np.float32)
    # The grid of cupola.mandelbrot: a thread has 8 points where there are many, else 4.
    grid = size * size // ((8 if size > 1024 else 4) * 128)
    values = [
        ctypes.c_uint64(lattice.address),
        ctypes.c_uint64(graph.address),
        ctypes.c_int(iterations),
        ctypes.c_float(4.0),
        ctypes.c_int(size),
    ]
    (pair,) = pairs(
        lambda: floor.launch(module["mandelbrot_ker"], grid, 128, values, count, True),
        lambda: timed(
            lambda: cupola.mandelbrot(lattice=lattice, iterations=iterations, out=graph), count,
            True,
        ),
    )  # fmt: skip
    rate = f"{size * size / pair[1] / 1e6:,.0f} million points/s"
    return [*rows, (f"mandelbrot of {size} x {size} points", *pair, rate)]
