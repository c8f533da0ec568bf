"""Instructions of a call outside of the driver, as callgrind counts them

python benchmarks/instructions.py [--out FOLDER] [--functions WAY]

Each way is called N and 2 N times. The difference, divided by N, is the cost of a call. Only the
calling thread counts. Instructions in calls into the driver (libcuda.so.1) are subtracted, so the
figure does not depend on the driver. For a launch, up to a hundred instructions too many are
subtracted, as the row of the C++ loop shows. Needs valgrind and its headers.
"""

import argparse
import collections
import ctypes
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import floor
import records

HERE = Path(__file__).parent
CALLS = 120  # with those that follow fewer than a batch of csrc/runtime/context/flight.cpp
WARM = 300  # Python specialises its instructions in the first calls
NAMES = {"grid": 1, "block": 32, "n": 32}


def ways():
    """Functions that make a number of calls each, by what they call."""
    import bench_arrays
    import bench_choice
    import bench_extension
    import bench_launch
    import bench_ops
    import numpy as np

    import cupola

    n = NAMES["n"]
    grid, block = NAMES["grid"], NAMES["block"]
    x = cupola.to_device(np.arange(n, dtype=np.float32))
    y, out = cupola.to_device(np.ones(n, np.float32)), cupola.empty(n, np.float32)
    kernel = cupola.shipped_kernels()["saxpy"]
    prepared = kernel.prepare(grid, block, 2.0, x, y, out, n)
    bound = kernel[grid, block]
    stream, event = cupola.Stream(), cupola.Event()

    def repeated(call):
        def calls(count):
            for _ in range(count):
                call()

        return calls

    def bound_calls(count):
        for _ in range(count):
            bound(2.0, x, y, out, n)

    def checked_calls(count):
        for _ in range(count):
            kernel[grid, block](2.0, x, y, out, n)

    def named_calls(count):
        for _ in range(count):
            bound(a=2.0, x=x, y=y, out=out, n=n)

    def checked_named_calls(count):
        for _ in range(count):
            kernel[grid, block](a=2.0, x=x, y=y, out=out, n=n)

    def mapped_calls(count):
        given = {"a": 2.0, "x": x, "y": y, "out": out, "n": n}
        for _ in range(count):
            bound(**given)

    def streamed_calls(count):
        for _ in range(count):
            kernel[grid, block, stream](2.0, x, y, out, n)

    with stream:
        own = [cupola.empty(n, np.float32) for _ in range(3)]

    def own_stream_calls(count):
        u, v, w = own
        for _ in range(count):
            kernel[grid, block, stream](2.0, u, v, w, n)

    foreign = [bench_arrays.Foreign(array) for array in (x, y, out)]
    idle = cupola.Stream()
    elsewhere = [bench_arrays.Foreign(array, idle) for array in (x, y, out)]

    def foreign_calls(count):
        for _ in range(count):
            kernel[grid, block](2.0, *foreign, n)

    def elsewhere_calls(count):
        for _ in range(count):
            kernel[grid, block](2.0, *elsewhere, n)

    def items(count):
        for _ in range(count):
            kernel[grid, block]

    def arrays(count):
        for _ in range(count):
            cupola.empty(n, np.float32)

    def empty(count):
        for _ in range(count):
            pass

    def pieces(count):
        alloc = cupola.alloc
        for _ in range(count):
            alloc(1 << 20)

    def records(count):
        for _ in range(count):
            event.record(stream)

    def argument(count):
        for _ in range(count):
            prepared[0] = 3.0

    family, rows = bench_choice.saxpy_family(), [bench_choice.FIRST_NEW]
    tuples = (grid,), (block,)

    def constant_calls(count):
        blocks, threads = tuples
        for _ in range(count):
            kernel[blocks, threads](2.0, x, y, out, n)

    def family_calls(count):
        for _ in range(count):
            family(2.0, x, y, out, n)

    def family_named_calls(count):
        for _ in range(count):
            family(a=2.0, x=x, y=y, out=out, n=n)

    def alternating_family_calls(count):
        for number in range(count):
            family(2.0, x, y, out, 1 + number % 32)

    def new_keys(count):
        first = rows[0]
        rows[0] += count
        for number in range(first, first + count):
            family(2.0, x, y, out, number)

    def kept_sizes(count):
        for number in range(count):
            kernel[tuples[0], tuples[1]](2.0, x, y, out, 1 + number % 32)

    z = cupola.empty_like(x)
    saxpy = cupola.op(kernel, "saxpy", **bench_ops.SAXPY)

    def operations(count):
        for _ in range(count):
            saxpy(x, y, 2.0, out=out)

    def allocating_operations(count):
        for _ in range(count):
            saxpy(x, y, 2.0)

    def sums(count):
        for _ in range(count):
            x + y

    def doubles(count):
        for _ in range(count):
            2 * x

    def adds(count):
        for _ in range(count):
            np.add(x, y, out=z)

    def sines(count):
        for _ in range(count):
            np.sin(x)

    return {
        "empty Python loop": empty,
        "empty Python call": repeated(lambda: None),
        "C++ loop over cuLaunchKernel": bench_launch.floor_calls(kernel, x, y, out),
        "prepared launch()": repeated(prepared),
        "launch[0] = 3.0": argument,
        "bound = kernel[grid, block]; bound(...)": bound_calls,
        "kernel[grid, block](...)": checked_calls,
        "bound(a=..., x=..., y=..., out=..., n=...)": named_calls,
        "kernel[grid, block](a=..., x=..., y=..., out=..., n=...)": checked_named_calls,
        "bound(**arguments)": mapped_calls,
        "kernel[grid, block, stream](...), arrays of the default stream": streamed_calls,
        "kernel[grid, block, stream](...), arrays of that stream": own_stream_calls,
        "kernel[grid, block](...), arrays by __cuda_array_interface__": foreign_calls,
        "kernel[grid, block](...), such arrays that name another, idle stream": elsewhere_calls,
        "kernel[grid, block] alone": items,
        "kernel[(1,), (32,)](...)": constant_calls,
        "family(...), the same key": family_calls,
        "family(...) by name, the same key": family_named_calls,
        "kernel[(1,), (32,)](...), 32 sizes in turn": kept_sizes,
        "family(...), 32 keys in turn": alternating_family_calls,
        "family(...), a new key, 40 rows": new_keys,
        "op(x, y, a, out=out)": operations,
        "op(x, y, a)": allocating_operations,
        "cupola.empty(32, float32), and its end": arrays,
        "x + y": sums,
        "2 * x": doubles,
        "np.add(x, y, out=z)": adds,
        "np.sin(x)": sines,
        "cupola.alloc(1 << 20), and its end": pieces,
        "Stream.current()": repeated(cupola.Stream.current),
        "event.record()": repeated(event.record),
        "event.record(stream)": records,
        **{f"a .pyx: {k}": v for k, v in bench_extension.ways(kernel, x, y, out).items()},
    }


def serve():
    """Makes the calls, in a process under callgrind."""
    import gc

    import cupola

    counter = ctypes.CDLL(os.environ["CUPOLA_CALLGRIND"])
    assert counter.callgrind_runs(), "not under valgrind"
    gc.disable()
    for index, calls in enumerate(ways().values()):
        calls(WARM)
        for times in (0, 1, 2):  # the first of them takes what is paid once
            cupola.Device().synchronize()
            counter.callgrind_begin()
            calls(times * CALLS)
            counter.callgrind_end(f"{index}:{times}".encode())


def parse(path):
    """Of a file of callgrind's: its name, and the instructions by object, inside and outside."""
    text = path.read_text()
    name = re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.MULTILINE)
    if name is None:
        return None, None
    count = Count()
    lines = iter(text.splitlines())
    obj = function = callee = ""
    for line in lines:
        key, _, value = line.partition("=")
        if key == "ob":
            obj = value
        elif key == "fn":
            function, callee = value, obj
        elif key == "cob":
            callee = value
        elif key == "calls":
            cost = int(next(lines).split()[1])
            if driver(callee) and enters(obj):
                count.driver += cost
            callee = obj
        elif line[:1].isdigit() and "=" not in line and ":" not in line:
            cost = int(line.split()[1])
            count.all += cost
            count.functions[function, Path(obj).name] += cost
    return name[1].strip(), count


def driver(obj):
    return Path(obj).name in ("libcuda.so.1", "libcupola_cpu.so.1")


def enters(obj):
    """Whether a call from there into the driver comes from outside of it.

    The driver also calls itself: by way of system libraries, and of stubs that callgrind has no
    name for.
    """
    system = ("???", "libc.so", "libstdc++.so", "libgcc_s.so", "libm.so", "ld-linux")
    return not driver(obj) and not Path(obj).name.startswith(system)


class Count:
    """Instructions: all of the calling thread, in calls into the driver, by function."""

    def __init__(self):
        self.all = self.driver = 0
        self.functions = collections.Counter()


def measure():
    """The counts by way, of one call each."""
    with tempfile.TemporaryDirectory(prefix="cupola-callgrind-") as folder:
        library = Path(folder) / "callgrind.so"
        command, _ = floor.compiler()
        source = HERE / "callgrind.cpp"
        subprocess.run([command, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        environment = {
            **os.environ,
            "CUPOLA_CALLGRIND": str(library),
            "CUPOLA_DRIVER": "cpu",
            "CUPOLA_CPU_THREADS": "1",
            "PYTHONHASHSEED": "0",
        }
        valgrind = ["valgrind", "--tool=callgrind", "--quiet", "--instr-atstart=no"]
        valgrind += ["--separate-threads=yes", "--compress-strings=no", "--compress-pos=no"]
        valgrind.append(f"--callgrind-out-file={folder}/out")
        subprocess.run(
            [*valgrind, sys.executable, __file__, "--serve"], env=environment, check=True
        )
        counts = {}
        for path in sorted(Path(folder).glob("out*-01")):
            name, count = parse(path)
            if name:
                counts[name] = count
    return counts


def calls(counts, index):
    """One call: the difference of 2 N and N, divided."""
    once, twice = counts[f"{index}:1"], counts[f"{index}:2"]
    call = Count()
    call.all = (twice.all - once.all) / CALLS
    call.driver = (twice.driver - once.driver) / CALLS
    for key, cost in twice.functions.items():
        call.functions[key] = (cost - once.functions[key]) / CALLS
    return call


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--functions", help="also list the functions of the ways named so")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    counts = measure()
    os.environ["CUPOLA_DRIVER"] = "cpu"
    rows = []
    for index, name in enumerate(ways()):
        call = calls(counts, index)
        note = f"and {call.driver:,.0f} in the driver"
        rows.append(records.Row(name, round(call.all - call.driver), "instructions", note=note))
        if options.functions and options.functions in name:
            print(f"\n{name}")
            for (function, obj), cost in call.functions.most_common(40):
                print(f"{cost:9.1f}  {obj}  {function}")
    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True)
    extra = {
        "numpy": importlib.metadata.version("numpy"),
        "compiler": floor.compiler()[1],
        "counted by": f"{valgrind.stdout.strip()}, {CALLS} calls",
    }
    records.publish(options.out, __file__, __doc__, rows, extra=extra)


if __name__ == "__main__":
    main()
