"""Cost of the choice of a variant at a call, over a plain launch of the same kernel

python benchmarks/bench_choice.py [--out FOLDER]

The family has 40 measured rows, and its kernel returns at once. The plain launch is a checked
launch of the same kernel with the same five arguments. A difference is the median of those of
interleaved rounds. The call at 32 sizes in turn has a launch at 32 sizes in turn beside it.
"""

import os
import statistics
import tempfile
import time

import bench_launch
import records
from bench_launch import BATCH

import cupola
from cupola.declare.tuning_table import Row
from cupola.tuning import tables

BLOCK, N, SIZES = 32, 32, 32  # the block is that of all rows
FIRST_NEW = 1000  # the first of the sizes that are called once each
SOURCE = """extern "C" __global__ void empty(
    float a, const float* x, const float* y, float* out, int n) {}"""
REPEATED, NEW = "value <= 60", "value <= 2000"


def saxpy_family():
    """A family with 40 measured rows, on a kernel that returns at once."""
    os.environ["CUPOLA_TUNE"] = "tables"
    family = cupola.family(
        SOURCE,
        kernel="empty",
        tunables={"BLOCK": [32, 64, 128, 256]},
        default={"BLOCK": 128},
        key=["n", "size(x)"],
        grid="ceildiv(n, 16 * BLOCK)",
        block="BLOCK",
    )
    rows = [
        Row((), (1 << at, 1 << at % 7), {"BLOCK": BLOCK}, 1e-6, 0.0, None, 4, tables.now())
        for at in range(40)
    ]
    with tempfile.TemporaryDirectory(prefix="cupola-tables-") as folder:
        before, os.environ["CUPOLA_CACHE_DIR"] = os.environ.get("CUPOLA_CACHE_DIR"), folder
        tables.store(tables.device_record(cupola.Device()), family.rows(rows))
        family(2.0, *3 * [cupola.empty(N, "float32")], N)
        if before is None:
            del os.environ["CUPOLA_CACHE_DIR"]
        else:
            os.environ["CUPOLA_CACHE_DIR"] = before
    return family


def ways(family):
    """Functions that make BATCH calls each, and return their seconds, by what they call."""
    kernel = cupola.compile(SOURCE)["empty"]
    arrays = [cupola.empty(N, "float32") for _ in range(3)]
    grid, block = (1,), (BLOCK,)
    sizes = [FIRST_NEW]

    def plain(numbers):
        for number in numbers:
            kernel[grid, block](2.0, *arrays, number)

    def chosen(numbers):
        for number in numbers:
            family(2.0, *arrays, number)

    def new():
        sizes[0] += BATCH
        return range(sizes[0] - BATCH, sizes[0])

    same, in_turn = [N] * BATCH, [1 + number % SIZES for number in range(BATCH)]
    return {
        "kernel[grid, block](...)": lambda: timed(plain, same),
        "family(...), the same key": lambda: timed(chosen, same),
        "kernel[grid, block](...), 32 sizes in turn": lambda: timed(plain, in_turn),
        "family(...), 32 keys in turn": lambda: timed(chosen, in_turn),
        "family(...), a new key": lambda: timed(chosen, new()),
    }


def timed(calls, numbers):
    """Seconds of the calls; the device's work is waited for outside."""
    start = time.perf_counter()
    calls(numbers)
    elapsed = time.perf_counter() - start
    cupola.Device().synchronize()
    return elapsed


def run():
    times = bench_launch.in_turns(ways(saxpy_family()))

    def later(what, call, launch, goal):
        values = [a - b for a, b in zip(times[call], times[launch], strict=True)]
        return records.Row(what, statistics.median(values) * 1e9, "ns", goal=goal)

    launch, launches = "kernel[grid, block](...)", "kernel[grid, block](...), 32 sizes in turn"
    return [
        later("choice at a repeated key", "family(...), the same key", launch, REPEATED),
        later("choice at 32 keys in turn", "family(...), 32 keys in turn", launches, REPEATED),
        later("choice at a new key, 40 rows", "family(...), a new key", launch, NEW),
        *records.medians(times, "ns"),
    ]


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
