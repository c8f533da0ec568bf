"""The largest errors of approximate instructions

`python -m ptx.measure_approximate [--out FOLDER]` in `tests` measures them.

The inputs are random and special values, as in tests/ptx/test_rows.py. CUPOLA_TEST_DRIVER names
the driver; the default is the CPU device. The bounds are in reference/.
"""

import importlib
import math
import pathlib
import random
import sys

import numpy as np

from . import reference
from .driver import Driver
from .test_rows import COMPUTED, COUNT, Kernel, sources_of, stored

ROUNDS = 40
HEADER = ".version 8.6\n.target sm_90\n.address_size 64\n"


def approximate_spellings():
    """(row, opcode, modifiers, type, second type) of each spelling with a bound on its error."""
    for row in COMPUTED:
        if ".approx" in row.mnemonic or ".full" in row.mnemonic:
            for spelling in row.opcodes():
                yield row, *spelling


def halves(expected, bits):
    if isinstance(expected, tuple):
        return zip(expected, (bits & 0xFFFF, bits >> 16), strict=True)
    return [(expected, bits)]


def error(expected, bits):
    """(error / bound, error, whether it is relative); None for results that do not count."""
    got, exact = reference.as_double(expected.t, bits), expected.exact
    e, _ = reference.fl.FORMATS[expected.t]
    least, most = 2.0 ** (3 - (1 << (e - 1))), 2.0 ** ((1 << (e - 1)) - 1)
    if not math.isfinite(exact) or not least <= abs(exact) < most or not math.isfinite(got):
        return None
    bounds = abs(exact) * expected.relative, expected.absolute
    off, relative = abs(got - exact), bounds[0] >= bounds[1]
    return off / max(bounds), off / abs(exact) if relative else off, relative


def largest(driver, row, opcode, named, t, t2):
    kernel, rng, worst = Kernel(0, row, opcode, t, t2, None), random.Random(opcode), (0, 0, True)
    module = driver.load(HEADER + kernel.text)
    for _ in range(ROUNDS):
        inputs = [[sources_of(k, rng) for _ in range(COUNT)] for k in kernel.sources]
        data, out = np.array(inputs, np.uint64).reshape(-1), np.zeros(COUNT, np.uint64)
        module.run(kernel.name, 4, COUNT // 4, [data, out])
        for values, word in zip(zip(*inputs, strict=True), out, strict=True):
            expected = reference.FUNCTIONS[row.semantics](named, t, t2, *values)[0]
            bits = int(word) & ((1 << stored(t)) - 1)
            for one, part in halves(expected, bits):
                if isinstance(one, reference.Near) and (seen := error(one, part)):
                    worst = max(worst, seen)
    module.unload()
    return worst


def main():
    """Publishes the largest error of each instruction, divided by its bound.

    Only results that are normal numbers count. `sin` and `cos` count up to pi: the manual gives no
    bound beyond it.
    """
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
    records = importlib.import_module("records")
    driver, rows = Driver(), []
    for row, opcode, *rest in approximate_spellings():
        part, off, relative = largest(driver, row, opcode, *rest)
        kind = "relative" if relative else "absolute"
        seen = f"2^{math.log2(off):.1f}, {kind}" if off else "none beside the rounded result"
        note = f"largest error of {ROUNDS * COUNT} tuples: {seen}"
        rows.append(records.Row(opcode, part, "of the bound", goal="value <= 1", note=note))
    records.publish(
        *(records.parser(__doc__).parse_args().out, __file__, __doc__, rows),
        device=driver.name(),
        command="python -m ptx.measure_approximate",
    )


if __name__ == "__main__":
    main()
