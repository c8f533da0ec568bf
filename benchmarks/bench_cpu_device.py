"""The CPU device beside loops in C++: eight kernels, interpreted and compiled, on one thread and on
all, in one run.

python benchmarks/bench_cpu_device.py [--out FILE] [--others PYTHON]

PYTHON is an interpreter that has pyopencl (with PoCL), numba and numba-cuda: eight_others.py.
"""

import argparse
import ctypes
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
ROUNDS = 5
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


def loops(library, name, case, threads):
    """Median seconds of the loop, and what it makes."""
    function = getattr(library, f"loop_{name}")
    times = []
    for _ in range(ROUNDS):
        out = result_of(name, case)
        passed = []
        for argument in case.arguments:
            if isinstance(argument, str):
                passed.append(ctypes.c_void_p(out.ctypes.data))
            elif isinstance(argument, np.ndarray):
                passed.append(ctypes.c_void_p(argument.ctypes.data))
            elif isinstance(argument, np.float32):
                passed.append(ctypes.c_float(argument))
            else:
                passed.append(ctypes.c_int(argument))
        if name.startswith("radix"):
            passed.append(ctypes.c_int(1024))
        start = time.perf_counter()
        function(*passed, ctypes.c_int(threads))
        times.append(time.perf_counter() - start)
    return statistics.median(times), out


def serve(ptx):
    """Runs each kernel here, and prints seconds and results' sums: one process for each mode."""
    import cupola

    start = time.perf_counter()
    module = cupola.load(ptx)
    for name in cases():
        module[name]  # mode "compile" does so here
    answer = {"loading": [time.perf_counter() - start, 0.0]}
    for name, case in cases().items():
        out = cupola.to_device(result_of(name, case))
        passed = [
            out if isinstance(a, str) else cupola.to_device(a) if isinstance(a, np.ndarray) else a
            for a in case.arguments
        ]
        kernel = module[name]
        times = []
        for _ in range(ROUNDS + 1):
            out.set(result_of(name, case))
            cupola.Device().synchronize()
            start = time.perf_counter()
            kernel[case.grid, case.block](*passed)
            cupola.Device().synchronize()
            times.append(time.perf_counter() - start)
        answer[name] = [statistics.median(times[1:]), float(out.get().astype(np.float64).sum())]
    print(json.dumps(answer))


def device(ptx, mode, threads):
    environment = {**os.environ, "CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_MODE": mode}
    environment["CUPOLA_CPU_THREADS"] = str(threads)
    command = [sys.executable, __file__, "--serve", str(ptx)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def other(python, which, threads):
    environment = {**os.environ, "POCL_MAX_PTHREAD_COUNT": str(threads)}
    environment["NUMBA_NUM_THREADS"] = str(threads)
    if which == "simulator":
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    command = [python, str(HERE / "eight_others.py"), which]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


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


def row_of(name, looped, expected, answers, ratios):
    cells = [f"{looped[kind] * 1e3:.2f}" for kind in LOOPS]
    for kind, answer in answers.items():
        if name not in answer:
            cells.append("")
            continue
        took, total = answer[name]
        if name != "reduction" and abs(total - expected) > 1e-3 * abs(expected):
            sys.exit(f"{name}: {total} by {kind}, {expected} by the loop")
        of = [took / looped[each] for each in LOOPS]
        ratios[kind].append(of)
        cells.append(f"{took * 1e3:.2f} ({of[0]:.2f}, {of[1]:.2f})")
    return f"| {name} | {' | '.join(cells)} |"


def measure(others):
    cores = len(os.sched_getaffinity(0))
    lines = [
        f"# Eight kernels on the CPU device: {processor()}, {cores} cores",
        "",
        "Milliseconds, medians of five; `benchmarks/bench_cpu_device.py` made this. Loops in C++:",
        f"scalar is `{' '.join(LOOPS['scalar'])}`, vector `{' '.join(LOOPS['vector'])}`, where the",
        "compiler makes vector code of what it can. In brackets: times as long as the one and as",
        "the other, on as many threads. Other programs kept "
        f"{os.getloadavg()[0]:.1f} processors busy when it began.",
        "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUPOLA_CACHE_DIR"] = str(Path(folder) / "cache")
        ptx, libraries = build(Path(folder))
        alone = {}  # interpreted on one thread
        for threads in (1, cores):
            answers = {m: device(ptx, m, threads) for m in ("interpret", "compile")}
            if threads == 1:
                loading = answers["compile"]["loading"][0]
                lines += [f"The eight were compiled in {loading:.1f} s.", ""]
            if others:
                answers |= {which: other(others, which, threads) for which in ("opencl", "numba")}
            ratios = {kind: [] for kind in answers}
            took = {who: {n: a[0] for n, a in answer.items()} for who, answer in answers.items()}
            del took["interpret"]["loading"], took["compile"]["loading"]
            took |= {kind: {} for kind in libraries}
            titles = {"interpret": "interpreted", "compile": "compiled"}
            titles |= {"opencl": "OpenCL (PoCL)", "numba": "Numba, parallel"}
            names = " | ".join(titles[kind] for kind in answers)
            lines += [f"## {threads} thread{'s' if threads > 1 else ''}", ""]
            lines += [f"| kernel | scalar | vector | {names} |"]
            lines += ["| --- " * (len(answers) + 3) + "|"]
            for name, case in cases().items():
                looped = {}
                for kind, library in libraries.items():
                    looped[kind], out = loops(library, name, case, threads)
                    took[kind][name] = looped[kind]
                expected = float(out.astype(np.float64).sum())
                lines.append(row_of(name, looped, expected, answers, ratios))
            means = [[mean(of) for of in zip(*r, strict=True)] for r in ratios.values()]
            text = " | ".join(f"{scalar:.2f}, {vector:.2f}" for scalar, vector in means)
            alone = took["interpret"] if threads == 1 else alone
            bytewise, _ = loops(libraries["vector"], "radix_by_bytes", cases()["radix"], threads)
            lines += [
                f"| geometric mean | | | {text} |",
                "",
                "A loop that sorts by eight bits at a time, not by one as the kernel `radix` "
                f"does, takes {bytewise * 1e3:.2f} ms.",
                "",
                "| compiled, at most | wanted | reached |",
                "| --- | --- | --- |",
                *(f"| {' | '.join(row)} |" for row in wanted(took, threads, cores, loading)),
                "",
                *spread(alone, took["interpret"], threads),
            ]
        if others:
            slow = other(others, "simulator", 1)["mandelbrot"][0]
            quick = answers["compile"]["mandelbrot"][0]
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
        serve(chosen.serve)
    else:
        text = measure(chosen.others)
        print(text)
        if chosen.out:
            chosen.out.write_text(text)
