"""Checked launches of one kernel from several threads, each on a stream of its own

python benchmarks/bench_threads.py [--out FOLDER]

Goals hold where Python has no GIL: with it, threads that only launch run one after the other.
"""

import statistics
import sys
import sysconfig
import threading
import time

import numpy as np
import records

import cupola

THREADS = 4
BATCH = 400  # launches of a thread between two synchronisations: fewer than a driver's queue holds
ROUNDS = 60
GRID, BLOCK, N = 1, 32, 32


class Launcher(threading.Thread):
    """A thread that launches a batch in each round, when all threads of the round begin."""

    def __init__(self, kernel, begin, end):
        super().__init__(daemon=True)
        self.kernel, self.begin, self.end = kernel, begin, end
        self.spans = []

    def run(self):
        kernel, stream = self.kernel, cupola.Stream(non_blocking=True)
        grid, block = GRID, BLOCK
        with stream:
            x, y, out = (cupola.zeros(N, np.float32) for _ in range(3))
        for _ in range(ROUNDS):
            self.begin.wait()
            start = time.perf_counter()
            for _ in range(BATCH):
                kernel[grid, block, stream](2.0, x, y, out, N)
            self.spans.append((start, time.perf_counter()))
            stream.synchronize()
            self.end.wait()


def seconds(kernel, threads):
    """Seconds of each round, from the first launch of a thread to the last one of all threads."""
    barriers = threading.Barrier(threads), threading.Barrier(threads)
    launchers = [Launcher(kernel, *barriers) for _ in range(threads)]
    for launcher in launchers:
        launcher.start()
    for launcher in launchers:
        launcher.join()
    rounds = zip(*(launcher.spans for launcher in launchers), strict=True)
    return [max(end for _, end in spans) - min(start for start, _ in spans) for spans in rounds]


def has_gil():
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def run():
    """Nanoseconds a launch, medians; and launches a second beside those of one thread."""
    kernel = cupola.shipped_kernels()["saxpy"]
    kernel[GRID, BLOCK](2.0, *(cupola.zeros(N, np.float32) for _ in range(3)), N)  # loads its code
    cupola.Device().synchronize()
    one, several = (
        statistics.median(seconds(kernel, threads)[5:]) / (threads * BATCH)
        for threads in (1, THREADS)
    )
    goal = None if has_gil() else "value >= 3.2"
    return [
        records.Row("a launch, 1 thread", one * 1e9, "ns"),
        records.Row(f"a launch, {THREADS} threads on {THREADS} streams", several * 1e9, "ns"),
        records.Row(f"launches a second of {THREADS} threads", one / several, "x", goal=goal),
    ]


if __name__ == "__main__":
    options = records.parser(__doc__).parse_args()
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    extra = {"GIL": "enabled" if has_gil() else "disabled", "free-threaded build": free}
    records.publish(options.out, __file__, __doc__, run(), extra=extra)
