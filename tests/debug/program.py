"""Launches the kernels of kernels.cu: program.py IMAGE ACTION ..."""

import os
import signal
import sys
import threading
import time

import numpy as np

import cupola

module = cupola.load(sys.argv[1])
out = cupola.zeros(128, np.float32)
data = cupola.asarray(np.arange(128, dtype=np.float32))


def reverse():
    point = np.zeros((), [("x", "f4"), ("n", "i4", 3)])
    point["x"], point["n"] = 1.5, [7, 8, 9]
    module["reverse"][2, 64, None, 64](out, data, np.int32(100), point)


def wait():
    cupola.Device().synchronize()
    print("sum", float(out.get().sum()), flush=True)


def count():
    module["count"][1, 4](cupola.zeros(4, np.int32))


def power():
    module["power"][1, 32](out, data)


def spin():
    module["spin"][1, 1](cupola.zeros(2, np.int32))


def trace():
    cupola.set_trace("reverse", block=(1, 0, 0), thread=(3, 0, 0))


def leave():
    """Ends the process beside a launch that is stopped, when the test signals it."""
    signal.signal(signal.SIGUSR1, lambda *_: os._exit(7))
    signal.pause()


def tick():
    """Counts in another thread, which needs the GIL."""
    ticks = []

    def work():
        while True:
            ticks.append(time.sleep(0.001))

    class Slow:
        def isatty(self):
            return False

        def readline(self):
            before = len(ticks)
            time.sleep(0.3)
            print("others ran", len(ticks) > before + 20)
            return "c\n"

    threading.Thread(target=work, daemon=True).start()
    sys.stdin = Slow()


for action in sys.argv[2:]:
    globals()[action]()
