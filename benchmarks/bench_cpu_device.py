"""Kernels on the CPU device beside OpenMP loops of the same work, on as many threads

python benchmarks/bench_cpu_device.py [--out FOLDER] [--threads N] [--quick] [--others PYTHON]
                                      [--only NAME,NAME]

The loops are compiled with -O3 -march=native -fopenmp. A kernel is measured as PTX at the device's
default settings and with CUPOLA_CPU_MODE=compile; each result is compared with the loop's, element
by element. At default settings a kernel is launched for at most 2 s before it is measured: in that
time the device compiles it beside the launches. PYTHON is an interpreter with pyopencl (PoCL) and
Numba: eight_others.py.
"""

import ctypes
import functools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cpu_cases
import floor
import numpy as np
import records

HERE = Path(__file__).parent
TURNS, RUNS = 3, 3
FLAGS = ("-std=c++17", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")
FILES = ("eight", "cpu_kernels", "access_patterns")
FLOOR = "OpenMP loop"
NUMBERS = {np.int32: ctypes.c_int, np.int64: ctypes.c_longlong, np.float32: ctypes.c_float}
MODES = {"default": None, "compiled": "compile"}
WARM = 2.0  # seconds of launches at default settings
PEERS = "compared within 64 ULP of the largest, one element in a hundred aside"
GOALS = {"kernel": "ratio <= 3", "mean": "ratio <= 1.2"}


def without_others(ptx, names):
    """PTX without the kernels that `names` does not have: in compile mode loading compiles all."""
    head, *kernels = re.split(r"(?m)^(?=\.visible \.entry )", ptx)
    chosen = [text for text in kernels if re.match(r"\.visible \.entry (\w+)", text)[1] in names]
    return head + "".join(chosen)


def build(folder, only=None):
    """PTX of the kernels, and a library of the loops, for each file."""
    for name in FILES:
        ptx = folder / f"{name}.ptx"
        nvcc = ["nvcc", "-ptx", "-arch=compute_75", "-o", ptx]
        subprocess.run([*nvcc, HERE / f"{name}.cu"], check=True)
        if only:
            ptx.write_text(without_others(ptx.read_text(), only))
        command = [floor.compiler()[0], *FLAGS, "-o", folder / f"{name}.so"]
        subprocess.run([*command, HERE / f"{name}.cpp"], check=True)


def timed(reset, run):
    """Median seconds of RUNS runs, after one that fills the caches (and compiles, first of all)."""
    times = []
    for _ in range(1 + RUNS):
        reset()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def launch_for(seconds, reset, run):
    """Run until the runs have taken so long."""
    while seconds > 0:
        reset()
        start = time.perf_counter()
        run()
        seconds -= time.perf_counter() - start


class Loops:
    """The loops, on as many threads."""

    def __init__(self, folder, cases, threads):
        self.libraries = {name: ctypes.CDLL(folder / f"{name}.so") for name in FILES}
        self.cases, self.threads, self.loading = cases, threads, 0.0
        self.names = list(cases)

    def turn(self, name):
        """Seconds that the loop takes, and what it makes."""
        case = self.cases[name]
        loop = cpu_cases.LOOPS.get(name, name)
        library = self.libraries[self.cases[loop].file]
        initial = case.initial if case.loop_initial is None else case.loop_initial
        out, passed = initial.copy(), []
        written = [(out, initial)]  # arrays, and what they hold before a run
        for argument in case.arguments:
            if isinstance(argument, str):
                passed.append(ctypes.c_void_p(out.ctypes.data))
            elif isinstance(argument, cpu_cases.Written):
                written.append((argument.initial.copy(), argument.initial))
                passed.append(ctypes.c_void_p(written[-1][0].ctypes.data))
            elif isinstance(argument, np.ndarray):
                passed.append(ctypes.c_void_p(argument.ctypes.data))
            else:
                passed.append(NUMBERS[type(argument)](argument))
        passed += [ctypes.c_int(number) for number in case.loop or ()]
        function = getattr(library, f"loop_{loop}")

        def reset():
            for array, before in written:
                np.copyto(array, before)

        return timed(reset, lambda: function(*passed, ctypes.c_int(self.threads))), out


class Process:
    """Another process that takes turns: it reads a kernel's name, and writes what `turn` gives."""

    def __init__(self, *command, **environment):
        variables = {**os.environ, **environment}
        self.process = subprocess.Popen(
            [*map(str, command)],
            env={name: value for name, value in variables.items() if value is not None},
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
        seconds, path = self.answer()
        return seconds, np.load(path)

    def close(self):
        self.process.communicate()


def serve(loading, turns):
    """Takes turns, in such a process; `turns`: functions by kernels' names."""
    print(json.dumps([loading, list(turns)]), flush=True)
    with tempfile.TemporaryDirectory(prefix="cupola-results-") as folder:
        path = Path(folder) / "result.npy"
        for line in sys.stdin:
            seconds, result = turns[line.strip()]()
            np.save(path, result)
            print(json.dumps([seconds, str(path)]), flush=True)


def serve_device(folder, scale):
    import cupola

    cases = cpu_cases.cases(scale)
    start = time.perf_counter()
    modules = {name: cupola.load(folder / f"{name}.ptx") for name in FILES}
    cases = {name: case for name, case in cases.items() if name in modules[case.file]}
    kernels = {name: modules[case.file][name] for name, case in cases.items()}
    loading = time.perf_counter() - start
    default, warm = "CUPOLA_CPU_MODE" not in os.environ, set()

    def turn(name, case):
        out, passed = cupola.to_device(case.initial), []
        written = [(out, case.initial)]  # arrays, and what they hold before a run
        for argument in case.arguments:
            given = argument
            if isinstance(argument, str):
                given = out
            elif isinstance(argument, cpu_cases.Written):
                given = cupola.to_device(argument.initial)
                written.append((given, argument.initial))
            elif isinstance(argument, np.ndarray):
                given = cupola.to_device(argument)
            passed.append(given)
        launch = kernels[name].prepare(case.grid, case.block, *passed, cooperative=case.cooperative)
        wait = cupola.Device().synchronize

        def reset():
            for array, before in written:
                array.set(before)
            wait()

        def run():
            launch()
            wait()

        if name not in warm:
            warm.add(name)
            launch_for(WARM if default else 0, reset, run)
        return timed(reset, run), out.get()

    serve(loading, {name: functools.partial(turn, name, case) for name, case in cases.items()})


def device(folder, scale, mode, threads):
    return Process(
        *(sys.executable, __file__, "--serve", folder, "--scale", scale),
        CUPOLA_DRIVER="cpu",
        CUPOLA_CPU_MODE=mode,
        CUPOLA_CPU_THREADS=str(threads),
        CUPOLA_CACHE_DIR=str(folder / f"cache-{mode or 'default'}"),
    )


def other(python, which, threads):
    return Process(
        *(python, HERE / "eight_others.py", which),
        POCL_MAX_PTHREAD_COUNT=str(threads),
        NUMBA_NUM_THREADS=str(threads),
    )


def in_turns(name, case, contenders, turns):
    """Seconds by contender, one for each turn. Ends where a result is not the loop's."""
    seconds = {}
    for _ in range(turns):
        for who, contender in contenders.items():
            if name not in contender.names:
                continue
            took, result = contender.turn(name)
            seconds.setdefault(who, []).append(took)
            if who == FLOOR:
                expected = result
                continue
            wrong = case.differing(result, expected, peer=who not in MODES)
            if wrong:
                sys.exit(f"{name}: {wrong} of {result.size} elements by {who} are not the loop's")
    return seconds


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def rows_of(name, case, seconds):
    ulps, why = case.tolerance
    compared = f"compared within {ulps} ULP, {why}" if ulps else f"compared {why}"
    _, *rows = records.medians(seconds, "ms")
    for row in rows:
        row.goal = GOALS["kernel"] if row.what in MODES else None
        row.note = compared if row.what in MODES else PEERS
        row.what = f"{name}, {row.what}"
    return rows


def measure(folder, threads, scale=1, turns=TURNS, others=None, only=None):
    """Rows of each kernel, or of those of `only`, and of means."""
    build(folder, only)
    cases = cpu_cases.cases(scale)
    contenders = {FLOOR: Loops(folder, cases, threads)}
    contenders |= {who: device(folder, scale, mode, threads) for who, mode in MODES.items()}
    if others:
        contenders |= {who: other(others, who, threads) for who in ("opencl", "numba")}
    rows, ratios = [], {who: [] for who in contenders}
    for name in only or cases:
        case = cases[name]
        made = rows_of(name, case, in_turns(name, case, contenders, turns))
        rows += made
        for row in made:
            ratios[row.what.split(", ")[1]].append(row.ratio)
    for who, given in ratios.items():
        if given:
            goal = GOALS["mean"] if who in MODES else None
            what = f"all {len(given)} kernels, {who}: geometric mean"
            rows.append(records.Row(what, mean(given), "x", ratio=mean(given), goal=goal))
            goal = GOALS["kernel"] if who in MODES else None
            what = f"all {len(given)} kernels, {who}: slowest"
            rows.append(records.Row(what, max(given), "x", ratio=max(given), goal=goal))
            if who in MODES:
                slow = sum(ratio > 3 for ratio in given)
                what = f"all {len(given)} kernels, {who}: kernels above 3 x"
                rows.append(records.Row(what, slow, "kernels", goal="value <= 0"))
    compiling = contenders["compiled"].loading / len(contenders["compiled"].names)
    rows.append(records.Row("compilation of a kernel, mean", compiling, "s"))
    for contender in contenders.values():
        if isinstance(contender, Process):
            contender.close()
    return rows


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true", help="small sizes; figures mean nothing")
    parser.add_argument("--others", help="an interpreter with pyopencl and numba")
    parser.add_argument(
        "--only", type=lambda names: names.split(","), help="these kernels; no record"
    )
    parser.add_argument("--serve", type=Path, help="for the processes that take turns")
    parser.add_argument("--scale", type=int, default=1, help="for the processes that take turns")
    chosen = parser.parse_args()
    if chosen.serve:
        serve_device(chosen.serve, chosen.scale)
        return
    os.environ["CUPOLA_DRIVER"] = "cpu"
    os.environ.pop("CUPOLA_CPU_MODE", None)
    with tempfile.TemporaryDirectory(prefix="cupola-cpu-") as folder:
        scale, turns = (8, 1) if chosen.quick else (1, TURNS)
        rows = measure(Path(folder), chosen.threads, scale, turns, chosen.others, chosen.only)
    compiler, version = floor.compiler()
    native = subprocess.run(
        [compiler, "-march=native", "-Q", "--help=target"], capture_output=True, text=True
    )
    march = [line.split()[-1] for line in native.stdout.splitlines() if " -march= " in line]
    records.publish(
        None if chosen.only else chosen.out,
        __file__,
        __doc__,
        rows,
        name=f"cpu_device_{chosen.threads}_threads",
        extra={
            "threads": chosen.threads,
            "loops": f"{version}, {' '.join(FLAGS[:4])}" + (f" ({march[0]})" if march else ""),
        },
    )


if __name__ == "__main__":
    main()
