"""Launches of one kernel from several threads, each on a stream of its own

python benchmarks/bench_threads.py [--beside PYTHON] [--out FOLDER]

Whole launches contend in the driver: the C++ loop in the same number of threads shows how much. In
the rows "before the driver", cuLaunchKernel returns at once (skipped_launches.cpp). These rows show
the part of Python and cupola, for which the goal holds where Python has no GIL. With --beside, each
cost of one thread is also measured in another Python that has cupola, such as one with the GIL.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import bench_launch
import bench_peers
import floor
import numpy as np
import records

import cupola

SOURCE = Path(__file__).with_name("skipped_launches.cpp")
THREADS = (1, 2, 4, 8)
GOAL_THREADS = 4
PASSES, ROUNDS = 3, 25  # of each number of threads; the first rounds of a pass are left out
# Launches of a thread between two synchronisations. A driver's queue holds more than the first
# number; nothing is queued where launches are skipped.
BATCH, SKIPPED_BATCH = 400, 4000
LEAD = 300e-6  # seconds in which all threads wake up
GRID, BLOCK, N = bench_launch.GRID, bench_launch.BLOCK, bench_launch.N

LOOP = "C++ loop over cuLaunchKernel"
CHECKED = "kernel[grid, block, stream](...)"
BOUND = "bound = kernel[grid, block, stream]; bound(...)"
PREPARED = "prepared launch()"
CUPOLA = (CHECKED, BOUND, PREPARED)
WHERE = {"device": "whole", "skipped": "before the driver"}


def arrays():
    """Of the current stream: x of ones, y of zeros, and zeros for the result."""
    return cupola.ones(N, np.float32), *(cupola.zeros(N, np.float32) for _ in range(2))


def of_cpp(kernel):
    library, launch = floor.build(), bench_launch.driver_call("cuLaunchKernel")

    def in_thread(stream, given):
        parameters, values = bench_launch.packed(*given)

        def calls(count):
            elapsed = library.floor_launch(
                launch, kernel.handle, stream.handle, GRID, BLOCK, parameters, count
            )
            assert elapsed > 0 and values  # the parameters point to them

        return calls

    return in_thread


def of_checked(kernel):
    def in_thread(stream, given):
        grid, block = GRID, BLOCK

        def calls(count):
            for _ in range(count):
                kernel[grid, block, stream](2.0, *given, N)

        return calls

    return in_thread


def repeated(make):
    """In each thread, calls of what make(stream, arrays) gives."""

    def in_thread(stream, given):
        one = make(stream, given)

        def calls(count):
            for _ in range(count):
                one()

        return calls

    return in_thread


def of_bound(kernel):
    def in_thread(stream, given):
        bound = kernel[GRID, BLOCK, stream]

        def calls(count):
            for _ in range(count):
                bound(2.0, *given, N)

        return calls

    return in_thread


def of_prepared(kernel):
    return repeated(
        lambda stream, given: kernel.prepare(GRID, BLOCK, 2.0, *given, N, stream=stream)
    )


def of_cuda_core(_):
    launch, kernel, config, device = bench_peers.cuda_core_kernel()

    def make(stream, given):
        device().set_current()
        queue = device().create_stream(stream)
        a, count = np.float32(2), np.uint64(N)
        pointers = [array.address for array in given]
        return lambda: launch(queue, config, kernel, a, *pointers, count)

    return repeated(make)


def of_cupy(_):
    import cupy

    kernel = cupy.RawKernel(bench_peers.SOURCE, "axpy")

    def in_thread(stream, given):
        there = [cupy.asarray(array.get(stream=stream)) for array in given]
        cupy.cuda.get_current_stream().synchronize()
        arguments = (np.float32(2), *there, np.uint64(N))

        def calls(count):
            with cupy.cuda.ExternalStream(stream.handle):
                for _ in range(count):
                    kernel((GRID,), (BLOCK,), arguments)

        return calls

    return in_thread


WAYS = {
    LOOP: of_cpp,
    CHECKED: of_checked,
    BOUND: of_bound,
    PREPARED: of_prepared,
    "cuda.core launch": of_cuda_core,
    "CuPy RawKernel": of_cupy,
}


class Start:
    """Where threads of a round wait for each other. All begin at the same time."""

    def __init__(self, threads):
        self.barrier = threading.Barrier(threads, action=self.choose)
        self.time = 0.0

    def choose(self):
        self.time = time.perf_counter() + LEAD

    def wait(self):
        self.barrier.wait()
        while time.perf_counter() < self.time:
            pass
        return self.time


class Launcher(threading.Thread):
    """A thread that launches a batch in each round, when all threads of the round begin."""

    def __init__(self, way, batch, start):
        super().__init__(daemon=True)
        self.way, self.batch, self.start_of_round = way, batch, start
        self.spans, self.result = [], None

    def run(self):
        stream = cupola.Stream(non_blocking=True)
        with stream:
            given = arrays()
            calls = self.way(stream, given)
            calls(1)
            stream.synchronize()
            for _ in range(ROUNDS):
                start = self.start_of_round.wait()
                calls(self.batch)
                self.spans.append((start, time.perf_counter()))
                stream.synchronize()
            self.result = given[-1].get()


def seconds(way, threads, batch):
    """Seconds a launch of each round: from the start to the last launch of all threads."""
    start = Start(threads)
    launchers = [Launcher(way, batch, start) for _ in range(threads)]
    for launcher in launchers:
        launcher.start()
    for launcher in launchers:
        launcher.join()
    rounds = list(zip(*(launcher.spans for launcher in launchers), strict=True))[5:]
    assert len(rounds) == ROUNDS - 5, "a thread failed"
    times = [max(end for _, end in spans) - spans[0][0] for spans in rounds]
    return [time / (threads * batch) for time in times], [one.result for one in launchers]


def has_gil():
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def measure(names, numbers, skipped):
    """In this process: seconds a launch by way and number of threads."""
    kernel = cupola.shipped_kernels()["saxpy"]
    kernel[GRID, BLOCK](2.0, *arrays(), N)  # loads its code
    cupola.Device().synchronize()
    ways, found = {}, {}
    for name in names:
        try:
            ways[name] = WAYS[name](kernel)
        except Exception as error:
            if name in (LOOP, *CUPOLA):
                raise
            print(f"{name}: not measured, {error!r}", file=sys.stderr)  # a peer
    for _ in range(PASSES):
        for name, way in ways.items():
            for threads in numbers:
                times, results = seconds(way, threads, SKIPPED_BATCH if skipped else BATCH)
                found.setdefault(name, {}).setdefault(threads, []).extend(times)
                expected = 0 if skipped else 2
                if name in CUPOLA:  # others have the driver's own launch, or arrays of their own
                    assert all((result == expected).all() for result in results), name
    medians = {
        name: {threads: statistics.median(times) for threads, times in by.items()}
        for name, by in found.items()
    }
    return {"seconds": medians, "GIL": has_gil(), "python": sys.version.split()[0]}


def in_process(python, driver, names, numbers):
    """Run `measure` in a process of its own, since a process has one driver."""
    command = [python, __file__, "--measure", json.dumps([names, numbers, driver == "skipped"])]
    environment = dict(os.environ)
    if driver == "skipped":
        real = Path(cupola.driver.info().path).resolve()
        flags = ["-Wl,--no-as-needed", str(real), f"-Wl,-rpath,{real.parent}", "-ldl"]
        environment["CUPOLA_DRIVER"] = floor.compiled(SOURCE, flags)
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def rows_of(driver, found):
    """Rows of one driver: the cost of a thread, then launches a second, then the scaling."""
    where, by_way = WHERE[driver], found["seconds"]
    loop = by_way.get(LOOP)
    for way, by in by_way.items():
        one = by["1"] * 1e9
        if loop and way != LOOP:
            base = loop["1"] * 1e9
            yield records.Row(f"{where}: {way}", one, "ns", f"{where}: {LOOP}", base, one / base)
        else:
            yield records.Row(f"{where}: {way}", one, "ns")
        for threads, each in by.items():
            scaling = by["1"] / each
            yield records.Row(
                f"{where}: {way}, launches a second of {threads} threads",
                round(1 / each),
                "1/s",
                note=f"{scaling:.2f} times those of 1 thread",
            )
            if threads == str(GOAL_THREADS):
                held = driver == "skipped" and not found["GIL"] and way in CUPOLA
                yield records.Row(
                    f"{where}: {way}, {threads} threads over 1",
                    scaling,
                    "x",
                    goal="value >= 3.2" if held else None,
                )


def run(beside):
    cores = len(os.sched_getaffinity(0))
    numbers = [number for number in THREADS if number <= cores]
    if numbers[-1] < THREADS[-1]:
        print(f"{cores} cores: no more than {numbers[-1]} threads are measured")
    rows = []
    for driver in WHERE:
        names = list(WAYS) if driver == "device" else list(CUPOLA)
        found = in_process(sys.executable, driver, names, numbers)
        rows += rows_of(driver, found)
        if beside:
            other = in_process(beside, driver, list(CUPOLA), [1])
            told = f"Python {other['python']} {'with' if other['GIL'] else 'without'} the GIL"
            for way in CUPOLA:
                one, base = found["seconds"][way]["1"] * 1e9, other["seconds"][way]["1"] * 1e9
                what = f"{WHERE[driver]}: {way}, 1 thread beside another Python"
                rows.append(records.Row(what, one, "ns", told, base, one / base))
    return rows


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--beside", metavar="PYTHON", help="another Python that has cupola")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*json.loads(options.measure))))
        return
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    extra = {"GIL": "enabled" if has_gil() else "disabled", "free-threaded build": free}
    records.publish(options.out, __file__, __doc__, run(options.beside), extra=extra)


if __name__ == "__main__":
    main()
