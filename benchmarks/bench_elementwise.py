"""Operations on arrays of 1 GiB beside a copy, host time of small arrays, and first use

python benchmarks/bench_elementwise.py [--out FOLDER] [--quick]

CuPy and torch are measured in the same rounds, on the same memory, where they are installed.
"""

import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial

import numpy as np
import records
from bench_kernels import Way, copying, rows, timed

import cupola

SMALL = 1000  # calls a round
COPY = "copy of the same bytes"
OVER_COPY = "ratio <= 1.02"  # 98 % of a copy's bandwidth
FIRST = ["x + x", "x < x", "numpy.sin(x)", "x[::-1] + x", "x.astype('f8')"]
FIRST_OF_CUPY = ["x + x", "x < x", "cupy.sin(x)", "x[::-1] + x", "x.astype('f8')"]


def peer(name):
    """A library, and how it takes an array of cupola's without a copy; None where there is none."""
    try:
        library = importlib.import_module(name)
        if name == "torch":
            library.empty(1, device="cuda")
            return library, partial(library.as_tensor, device="cuda")
        library.empty(1)
        return library, library.asarray
    except Exception:  # not installed, or without a device
        return None


PEERS = {name: found for name in ("cupy", "torch") if (found := peer(name))}


class Case:
    """One operation: what it reads and writes, as views of memory that every library is given."""

    def __init__(self, name, ufunc, inputs, out):
        self.name, self.ufunc, self.inputs, self.out = name, ufunc, inputs, out
        arrays = [array for array in inputs if isinstance(array, cupola.Array)]
        self.moved = out.nbytes + sum(array.nbytes for array in arrays)

    def ways(self):
        """The copy of as many bytes first."""
        half = self.moved // 2
        self.copied = [cupola.empty(half, np.uint8) for _ in range(2)]  # alive while it is used
        target, source = [array.address for array in self.copied]
        ways = [Way(COPY, copying(target, source, half), [])]
        ways.append(Way("cupola", partial(getattr(np, self.ufunc), *self.inputs, out=self.out), []))
        for name, (library, take) in PEERS.items():
            function = getattr(library, self.ufunc)
            theirs = [take(v) if isinstance(v, cupola.Array) else v for v in self.inputs]
            ways.append(Way(name, partial(function, *theirs, out=take(self.out)), []))
        return ways

    def measure(self):
        """Rows; every result is that of NumPy's rules, which the tests check."""
        ways = self.ways()
        timed(ways, calls=4)
        found = rows(ways, lambda way: self.moved, {"cupola": OVER_COPY})
        return records.titled(self.name, found)


def cases(n):
    """Arrays of n float32, 1 GiB of them, and what is done to them."""
    random = np.random.default_rng(0)
    x, y = (cupola.to_device(random.random(n, dtype=np.float32)) for _ in range(2))
    out = cupola.empty_like(x)
    truth = out.view(np.bool_)[:n]
    small, small_out = x.view(np.int8), out.view(np.int8)
    side = int(n**0.5)
    row, column = x[:side], x[:side].reshape(side, 1)
    double = cupola.empty(n // 2, np.float64)
    yield Case("x + y", "add", (x, y), out)
    yield Case("x * 2.5", "multiply", (x, 2.5), out)
    yield Case("sqrt(x)", "sqrt", (x,), out)
    yield Case("sin(x)", "sin", (x,), out)
    yield Case("x < y", "less", (x, y), truth)
    for text, name in (("x + y", "add"), ("x * y", "multiply"), ("maximum(x, y)", "maximum")):
        yield Case(f"{text}, int8", name, (small, y.view(np.int8)), small_out)
    yield Case("x < y, int8", "less", (small, y.view(np.int8)), small_out.view(np.bool_))
    yield Case("x // y, int8", "floor_divide", (small, y.view(np.int8)), small_out)
    yield Case("abs(x), int8", "absolute", (small,), small_out)
    yield Case("x + y from the second element on", "add", (x[1:], y[1:]), out[1:])
    yield Case("x + y, one element further", "add", (x[1:], y[:-1]), out[1:])
    yield Case("x[::2] + y[::2]", "add", (x[::2], y[::2]), out[: n // 2])
    square = [array.reshape(side, side) for array in (x, y, out)]
    yield Case("X.T + Y", "add", (square[0].T, square[1]), square[2])
    yield Case("X + row", "add", (square[0], row), square[2])
    yield Case("X + column", "add", (square[0], column), square[2])
    yield Case("float32 + float64", "add", (x[: n // 2], double), cupola.empty_like(double))


def pycuda_calls(host):
    """PyCUDA's, in the same context; none where it is not installed."""
    try:
        importlib.import_module("pycuda.autoprimaryctx")
        cumath, gpuarray = map(importlib.import_module, ("pycuda.cumath", "pycuda.gpuarray"))
    except Exception:  # or without a device
        return {}
    x, y = gpuarray.to_gpu(host), gpuarray.to_gpu(host)
    return {
        "x + y: pycuda": lambda: x + y,
        "2 * x: pycuda": lambda: 2 * x,
        "(2 * x).get(): pycuda": lambda: (2 * x).get(),
        "sin(x): pycuda": lambda: cumath.sin(x),
    }


def small():
    """Nanoseconds of the host for a call on 32 elements, whatever the device still does."""
    host = np.arange(32, dtype=np.float32)
    arrays = {"cupola": (cupola.to_device(host), cupola.to_device(host), np)}
    for name, (library, take) in PEERS.items():
        arrays[name] = (take(cupola.to_device(host)), take(cupola.to_device(host)), library)
    calls = {}
    for name, (x, y, library) in arrays.items():
        calls[f"x + y: {name}"] = lambda x=x, y=y: x + y
        calls[f"2 * x: {name}"] = lambda x=x: 2 * x
        if name != "torch":
            calls[f"(2 * x).get(): {name}"] = lambda x=x: (2 * x).get()
        calls[f"sin(x): {name}"] = partial(library.sin, x)
        calls[f"x[::2] + y[::2]: {name}"] = lambda x=x[::2], y=y[::2]: x + y
        out = x + y
        calls[f"add(x, y, out=z): {name}"] = partial(library.add, x, y, out=out)
    calls |= pycuda_calls(host)
    times = {name: [] for name in calls}
    for round_ in range(12):
        for name, call in calls.items():
            cupola.Device().synchronize()
            start = time.perf_counter()
            for _ in range(SMALL):
                call()
            if round_ >= 2:
                times[name].append((time.perf_counter() - start) / SMALL)
    cupola.Device().synchronize()
    return beside_peer(times)


def beside_peer(times):
    """Rows, with ratios of cupola's to CuPy's where that was measured."""
    found, goals = [], {"x + y": "ratio <= 0.5", "2 * x": "ratio <= 0.5"}
    for name, values in sorted(times.items()):
        what, _, who = name.rpartition(": ")
        row = records.Row(name, statistics.median(values) * 1e9, "ns")
        if who == "cupola" and (base := times.get(f"{what}: cupy")):
            row.floor, row.floor_value = f"{what}: cupy", statistics.median(base) * 1e9
            row.ratio = statistics.median(v / b for v, b in zip(values, base, strict=True))
            row.goal = goals.get(what)
        found.append(row)
    return found


SETUP = {
    "cupola": """
import numpy, time, cupola
x = cupola.to_device(numpy.ones(1000, numpy.float32))
cupola.saxpy(1.0, x, x)
wait = cupola.Device().synchronize
""",
    "cupy": """
import numpy, time, cupy
x = cupy.asarray(numpy.ones(1000, numpy.float32))
wait = cupy.cuda.Device().synchronize
""",
}
MEASURE = """
wait()
begin = time.perf_counter()
{call}
wait()
first = time.perf_counter()
{call}
wait()
print((first - begin) - (time.perf_counter() - first))
"""


def first(goal="value <= 2"):
    """Milliseconds by which the first use of an operation in a process is longer than the second.

    A kernel was launched before, so that the driver's own beginning is not in it. CuPy's cache of
    compiled kernels is empty.
    """
    found = []
    calls = [("cupola", call) for call in FIRST]
    if "cupy" in PEERS:
        calls += [("cupy", call) for call in FIRST_OF_CUPY[:2]]
    for name, call in calls:
        spans = []
        for _ in range(5 if name == "cupola" else 1):
            with tempfile.TemporaryDirectory() as cache:
                text = SETUP[name] + MEASURE.format(call=call)
                environment = {**os.environ, "CUPY_CACHE_DIR": cache}
                answer = subprocess.run(
                    [sys.executable, "-c", text], capture_output=True, text=True, check=True,
                    env=environment,
                )  # fmt: skip
            spans.append(float(answer.stdout))
        median = statistics.median(spans) * 1e3
        own = goal if name == "cupola" else None
        found.append(records.Row(f"{call}: {name}", median, "ms", goal=own))
    return found


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="small arrays; figures mean nothing")
    options = parser.parse_args()
    quick = options.quick or cupola.driver.info().kind == "cpu"
    made = [row for case in cases(2**14 if quick else 2**28) for row in case.measure()]
    made += records.titled("host time, 32 elements", small())
    made += records.titled("first use in a process", first())
    records.publish(options.out, __file__, __doc__, made)


if __name__ == "__main__":
    main()
