"""tests/tuned_families.py - families for the tests of tuning, and clocks that always tell the same.

Processes that measure import it.
"""

import math
import os
import signal
import time

import numpy as np

import cupola
from cupola.declare.family_table import read
from cupola.tuning.family import CompiledSource, Family

SCALE = r"""
template <int TX, int TY>
__global__ void scale(const float* x, float* out, int rows, int columns) {
    int r = blockIdx.y * TY + threadIdx.y, c = blockIdx.x * TX + threadIdx.x;
    if (r < rows && c < columns) out[r * columns + c] = 2 * x[r * columns + c];
}
"""
# MODE is what is wrong with a variant.
MODES = r"""
extern "C" __global__ void work(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if MODE == 1
    if (i < n) out[i] = x[i] + (i >= 5 && i < 8);
#elif MODE == 2
    *(volatile float*)(8 * (size_t)i) = 1;
#elif MODE == 3
    while (*(volatile const float*)x >= 0) {}
#elif MODE == 4
    this does not compile;
#elif MODE == 5
    __shared__ float more[8192];
    more[threadIdx.x] = x[min(i, n - 1)];
    if (i < n) out[i] = more[threadIdx.x];
#else
    if (i < n) out[i] = x[i];
#endif
}
"""


def scale_family(**more):
    """Doubles a matrix; 3 x 3 variants of two tunables."""
    table = {
        "name": "scale",
        "kernel": "scale<{TX}, {TY}>",
        "tunables": {"TX": [8, 16, 32], "TY": [1, 2, 4]},
        "default": {"TX": 8, "TY": 1},
        "grid": ["ceildiv(columns, TX)", "ceildiv(rows, TY)"],
        "block": ["TX", "TY"],
        "key": ["rows", "columns"],
    }
    return Family(read({**table, **more}), CompiledSource(SCALE))


def mode_family(modes, **more):
    """Copies; a variant for each mode of MODES. 0 is the default."""
    table = {
        "name": "work",
        "kernel": "work",
        "tunables": {"MODE": modes},
        "macros": ["MODE"],
        "default": {"MODE": 0},
        "grid": "ceildiv(n, 64)",
        "block": 64,
        "key": ["n"],
    }
    return Family(read({**table, **more}), CompiledSource(MODES))


def scale_case(rows, columns, wrong=0, **more):
    x = np.random.default_rng(rows).random((rows, columns), np.float32)
    arguments = (x, np.zeros_like(x), rows, columns)
    return cupola.Case(arguments, {"out": 2 * x + wrong}, **more)


def mode_case(n=100, **more):
    x = np.arange(n, dtype=np.float32)
    return cupola.Case({"x": x, "out": np.zeros_like(x), "n": n}, {"out": x}, **more)


class FormulaClock:
    """A time that grows with the distance of each tunable from its best value."""

    def __init__(self, log=None, **best):
        self.best = best
        self.log = log  # a file that gets a line for each launch

    def seconds(self, variant, launch, restore):
        restore()
        launch()
        cupola.Device().synchronize()
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{variant}\n")
        far = sum(
            abs(math.log2((variant[name] + 1) / (value + 1))) for name, value in self.best.items()
        )
        return 1e-3 * (1 + far)


class DeviceClock(FormulaClock):
    """Notes the device of each launch in its log."""

    def seconds(self, variant, launch, restore):
        return super().seconds({**variant, "device": cupola.Device().index}, launch, restore)


class EndingClock(FormulaClock):
    """Ends its process where the tunables have these values."""

    def __init__(self, end, **best):
        super().__init__(**best)
        self.end = end

    def seconds(self, variant, launch, restore):
        if variant == self.end:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().seconds(variant, launch, restore)


class SlowClock(FormulaClock):
    """Waits for a minute where there is a file beside the log."""

    def seconds(self, variant, launch, restore):
        if os.path.exists(f"{self.log}.slow"):
            time.sleep(60)
        return super().seconds(variant, launch, restore)
