"""Cost of the choice of a variant at a call, over a plain launch of the same kernel

python benchmarks/bench_choice.py [--out FOLDER]

The family has 40 measured rows, and its kernel returns at once. The plain launch is a checked
launch of the same kernel with the same five arguments. Rows are differences of medians of
interleaved rounds; the call at 32 sizes in turn and the launch at 32 sizes in turn differ by the
choice alone, too.
"""

import os
import statistics
import tempfile
import time

import records

import cupola
from cupola.declare.tuning_table import Row
from cupola.tuning import tables

BATCH = 500  # launches between two synchronisations: fewer than a driver's queue holds
ROUNDS = 200
BLOCK, N, SIZES = 32, 32, 32  # the block is that of all rows
SOURCE = """extern "C" __global__ void empty(
    float a, const float* x, const float* y, float* out, int n) {}"""
REPEATED, NEW = "value <= 60", "value <= 2000"


def saxpy_family():
    """A family with 40 measured rows, on a kernel that returns at once; and its next new size."""
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
    return family, [1000]


def ways(family, first):
    """Functions that make BATCH calls each, by what they call."""
    kernel = cupola.compile(SOURCE)["empty"]
    arrays = [cupola.empty(N, "float32") for _ in range(3)]
    grid, block = (1,), (BLOCK,)
    sizes = [first]

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
    """Seconds of a call; the device's work is waited for outside."""
    start = time.perf_counter()
    calls(numbers)
    elapsed = time.perf_counter() - start
    cupola.Device().synchronize()
    return elapsed / len(numbers)


def run():
    family, (first,) = saxpy_family()
    calls = ways(family, first)
    times = {name: [] for name in calls}
    for round_ in range(ROUNDS + 5):
        for name, call in calls.items():
            seconds = call()
            if round_ >= 5:
                times[name].append(seconds)

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
