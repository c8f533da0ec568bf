"""The CPU device beside loops in C++: eight kernels, interpreted and compiled, on one thread and on
all, in one run.

python benchmarks/bench_cpu_device.py [--out FILE] [--others PYTHON]

PYTHON is an interpreter that has pyopencl (with PoCL), numba and numba-cuda: eight_others.py.
"""

import argparse
import ctypes
import functools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TURNS, RUNS = 5, 3
FLAGS = ("-std=c++17", "-shared", "-fPIC", "-pthread")
# Loops as they are written, an element after the other; and as the compiler likes them best.
LOOPS = {"scalar": ("-O3", "-fno-tree-vectorize"), "vector": ("-O3",)}


class Case:
    """A kernel: its launch, its arrays, and the loop that does the same work."""

    def __init__(self, grid, block, arguments, loop, tolerance=0.0):
        self.grid, self.block, self.arguments, self.loop = grid, block, arguments, loop
        self.tolerance = tolerance


def cases():
    """Arguments as in eight.cu: arrays, of which "out" is the result, and numbers."""
    rng = np.random.default_rng(3)
    side, many, order = 1024, 1 << 22, 384
    x, y = rng.random(many, np.float32), rng.random(many, np.float32)
    picture, weights = rng.random((side, side), np.float32), rng.random(25, np.float32)
    a, b = rng.random((order, order), np.float32), rng.random((order, order), np.float32)
    words = rng.integers(0, 1 << 32, many, np.uint32)
    points = rng.random((4096, 4), np.float32)
    i, f = np.int32, np.float32
    square = ((side // 32, side // 8), (32, 8))
    return {
        "mandelbrot": Case(*square, ["out", i(side), i(256)], (side, side)),
        "saxpy": Case(many // 256, 256, [x, y, "out", f(2), i(many)], (many,)),
        "convolution": Case(*square, [picture, weights, "out", i(side)], (side, side)),
        "product": Case(
            (order // 16, order // 16), (16, 16), [a, b, "out", i(order)], (order, order)
        ),
        "reduction": Case(256, 256, [x, "out", i(many)], (256,)),
        "histogram": Case(64, 256, [words, "out", i(many)], (256,)),
        "radix": Case(1024, 256, [words[: 1 << 18].copy(), "out"], (1 << 18,)),
        "bodies": Case(16, 256, [points, "out", i(4096)], (4096, 4)),
    }


def result_of(name, case):
    kind = np.uint32 if name in ("histogram", "radix") else np.float32
    result = np.empty(case.loop, kind)
    result.fill(0)  # so that no loop has to wait for the system's pages
    return result


def build(folder):
    ptx = folder / "eight.ptx"
    nvcc = ["nvcc", "-ptx", "-arch=compute_75", "-o", str(ptx), str(HERE / "eight.cu")]
    subprocess.run(nvcc, check=True)
    compiler, libraries = os.environ.get("CXX", "g++"), {}
    for kind, flags in LOOPS.items():
        path = folder / f"{kind}.so"
        command = [compiler, *flags, *FLAGS, "-o", str(path), str(HERE / "eight.cpp")]
        subprocess.run(command, check=True)
        libraries[kind] = ctypes.CDLL(str(path))
    return ptx, libraries


def timed(reset, run):
    """Median seconds of RUNS runs, after one that fills the caches (and compiles, first of all)."""
    times = []
    for _ in range(1 + RUNS):
        reset()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def total(out):
    return float(out.astype(np.float64).sum())


class Loops:
    """The loops of a library, on as many threads."""

    def __init__(self, library, threads):
        self.library, self.threads = library, threads

    def turn(self, name, loop=None):
        """Seconds that the loop takes, and the sum of what it makes."""
        case, passed = cases()[name], []
        out = result_of(name, case)
        for argument in case.arguments:
            if isinstance(argument, str):
                passed.append(ctypes.c_void_p(out.ctypes.data))
            elif isinstance(argument, np.ndarray):
                passed.append(ctypes.c_void_p(argument.ctypes.data))
            elif isinstance(argument, np.float32):
                passed.append(ctypes.c_float(argument))
            else:
                passed.append(ctypes.c_int(argument))
        if name == "radix":
            passed.append(ctypes.c_int(1024))
        function = getattr(self.library, f"loop_{loop or name}")
        took = timed(lambda: out.fill(0), lambda: function(*passed, ctypes.c_int(self.threads)))
        return took, total(out)


class Process:
    """Another process that takes turns: it reads a kernel's name, and writes what `turn` gives."""

    def __init__(self, *command, **environment):
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.loading, self.names = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{' '.join(self.process.args)} ended")
        return json.loads(line)

    def turn(self, name):
        print(name, file=self.process.stdin, flush=True)
        return self.answer()

    def close(self):
        self.process.communicate()


def serve(loading, turns):
    """Takes turns, in such a process; `turns`: functions by kernels' names."""
    print(json.dumps([loading, list(turns)]), flush=True)
    for line in sys.stdin:
        print(json.dumps(turns[line.strip()]()), flush=True)


def serve_device(ptx):
    import cupola

    start = time.perf_counter()
    module = cupola.load(ptx)
    for name in cases():
        module[name]  # mode "compile" does so here
    loading = time.perf_counter() - start

    def turn(name, case):
        kernel, nothing = module[name], result_of(name, case)
        out = cupola.to_device(nothing)
        passed = [
            out if isinstance(a, str) else cupola.to_device(a) if isinstance(a, np.ndarray) else a
            for a in case.arguments
        ]

        def reset():
            out.set(nothing)
            cupola.Device().synchronize()

        def run():
            kernel[case.grid, case.block](*passed)
            cupola.Device().synchronize()

        return timed(reset, run), total(out.get())

    serve(loading, {n: functools.partial(turn, n, case) for n, case in cases().items()})


def device(ptx, mode, threads):
    return Process(
        *(sys.executable, __file__, "--serve", str(ptx)),
        CUPOLA_DRIVER="cpu",
        CUPOLA_CPU_MODE=mode,
        CUPOLA_CPU_THREADS=str(threads),
    )


def other(python, which, threads):
    simulated = {"NUMBA_ENABLE_CUDASIM": "1"} if which == "simulator" else {}
    return Process(
        *(python, str(HERE / "eight_others.py"), which),
        POCL_MAX_PTHREAD_COUNT=str(threads),
        NUMBA_NUM_THREADS=str(threads),
        **simulated,
    )


def alternated(who, name):
    """Seconds by whose they are: medians of turns, and each makes the same."""
    took = {}
    for _ in range(TURNS):
        for each, contender in who.items():
            if isinstance(contender, Process) and name not in contender.names:
                continue
            seconds, made = contender.turn(name)
            took.setdefault(each, []).append(seconds)
            if each == "scalar":
                expected = made
            elif name != "reduction" and abs(made - expected) > 1e-3 * abs(expected):
                sys.exit(f"{name}: {made} by {each}, {expected} by the loop")
    return {each: statistics.median(seconds) for each, seconds in took.items()}


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def wanted(took, threads, cores, loading):
    """Rows: what is asked for, how much of it, what was reached. `took`: seconds by who, kernel."""
    compiled = took["compile"]

    def against(who, names=None):
        return {n: compiled[n] / took[who][n] for n in names or compiled if n in took[who]}

    def worst(ratios):
        name = max(ratios, key=ratios.get)
        return f"{ratios[name]:.2f} ({name})"

    rows = []
    if threads == 1:
        scalar = against("scalar")
        rows += [
            ("of the scalar loops' time, geometric mean", "0.40", f"{mean(scalar.values()):.2f}"),
            ("of the scalar loops' time, the slowest", "1.00", worst(scalar)),
            ("seconds to compile a kernel", "2.0", f"{loading / len(compiled):.1f}"),
        ]
    if threads == cores:
        bound = against("vector", ("saxpy", "reduction"))
        rows.append(("of a loop's time where memory is the bound", "1.10", worst(bound)))
    for who, title, least in (("opencl", "OpenCL's", "0.50"), ("numba", "Numba's", "1.00")):
        if who not in took:
            continue
        ratios = against(who)
        rows.append((f"of {title} time, geometric mean", least, f"{mean(ratios.values()):.2f}"))
        if who == "opencl":
            rows.append((f"of {title} time, the slowest", "1.00", worst(ratios)))
    return rows


def spread(alone, shared, threads):
    """What interpreting on several threads gains, as lines."""
    if threads == 1:
        return []
    gain = {name: alone[name] / took for name, took in shared.items()}
    least = min(gain, key=gain.get)
    return [
        f"Interpreted, {threads} threads are {mean(gain.values()):.2f} times as fast as one in the"
        f" geometric mean (wanted: {0.95 * threads:.1f}), {gain[least]:.2f} times for `{least}`.",
        "",
    ]


def row_of(name, took, answers):
    """A kernel's times, and how many times as long as the loops each of `answers` takes."""
    cells = [f"{took[kind][name] * 1e3:.2f}" for kind in LOOPS]
    for who in answers:
        if name not in took[who]:
            cells.append("")
            continue
        of = ", ".join(f"{took[who][name] / took[kind][name]:.2f}" for kind in LOOPS)
        cells.append(f"{took[who][name] * 1e3:.2f} ({of})")
    return f"| {name} | {' | '.join(cells)} |"


def means(took, who):
    ratios = [mean([took[who][n] / took[kind][n] for n in took[who]]) for kind in LOOPS]
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


TITLES = {
    "interpret": "interpreted",
    "compile": "compiled",
    "opencl": "OpenCL (PoCL)",
    "numba": "Numba, parallel",
}


def on_threads(threads, who):
    """Seconds by whose they are and kernel, and the table of them."""
    took = {each: {} for each in who}
    for name in cases():
        for each, seconds in alternated(who, name).items():
            took[each][name] = seconds
    answers = [each for each in who if each not in LOOPS]
    bytewise, _ = who["vector"].turn("radix", "radix_by_bytes")
    return took, [
        f"## {threads} thread{'s' if threads > 1 else ''}",
        "",
        f"| kernel | scalar | vector | {' | '.join(TITLES[each] for each in answers)} |",
        "| --- " * (len(answers) + 3) + "|",
        *(row_of(name, took, answers) for name in cases()),
        f"| geometric mean | | | {' | '.join(means(took, each) for each in answers)} |",
        "",
        "A loop that sorts by eight bits at a time, not by one as the kernel `radix` "
        f"does, takes {bytewise * 1e3:.2f} ms.",
        "",
    ]


def measure(others):
    cores = len(os.sched_getaffinity(0))
    lines = [
        f"# Eight kernels on the CPU device: {processor()}, {cores} cores",
        "",
        f"Milliseconds: medians of {TURNS} turns, each the median of {RUNS} runs after one that",
        "fills the caches; all take turns, kernel by kernel. `benchmarks/bench_cpu_device.py` made",
        f"this. Loops in C++: scalar is `{' '.join(LOOPS['scalar'])}`, vector `"
        f"{' '.join(LOOPS['vector'])}`,",
        "where the compiler makes vector code of what it can. In brackets: times as long as the",
        "one and as the other, on as many threads. Other programs kept "
        f"{os.getloadavg()[0]:.1f} processors busy",
        "when it began.",
        "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUPOLA_CACHE_DIR"] = str(Path(folder) / "cache")
        ptx, libraries = build(Path(folder))
        alone = loading = None  # on one thread: seconds interpreted, and to compile all
        for threads in (1, cores):
            processes = {m: device(ptx, m, threads) for m in ("interpret", "compile")}
            if loading is None:
                loading = processes["compile"].loading
                lines += [f"The eight were compiled in {loading:.1f} s.", ""]
            if others:
                processes |= {which: other(others, which, threads) for which in ("opencl", "numba")}
            looping = {kind: Loops(library, threads) for kind, library in libraries.items()}
            took, table = on_threads(threads, looping | processes)
            for process in processes.values():
                process.close()
            alone = alone or took["interpret"]
            lines += [
                *table,
                "| compiled, at most | wanted | reached |",
                "| --- | --- | --- |",
                *(f"| {' | '.join(row)} |" for row in wanted(took, threads, cores, loading)),
                "",
                *spread(alone, took["interpret"], threads),
            ]
        if others:
            simulator = other(others, "simulator", 1)
            slow, _ = simulator.turn("mandelbrot")
            simulator.close()
            quick = took["compile"]["mandelbrot"]
            lines += [
                f"numba-cuda's simulator would take {slow:.0f} s for `mandelbrot`, as 32 x 32"
                f" pixels tell: {slow / quick:,.0f} times as long as machine code (wanted: 1,000).",
                "",
            ]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--others", help="an interpreter with pyopencl, numba and numba-cuda")
    chosen = parser.parse_args()
    if chosen.serve:
        serve_device(chosen.serve)
    else:
        text = measure(chosen.others)
        print(text)
        if chosen.out:
            chosen.out.write_text(text)
