"""Two folders of records, row by row: what is slower in the second one

python benchmarks/compare.py OLD NEW [--noise PERCENT]

Records with the same file name are compared, which are those of one command on one device. A figure
is its ratio to a floor where both records have one, since a floor is as noisy as the figure, and
else its value. A regression is a figure that is worse by more than the noise, or a row that is
missing in NEW. The exit status is 1 where there is a regression.
"""

import argparse
import math
import sys
from pathlib import Path

import records

# Units of which less is better where no goal says so. Figures in other units are compared by goals.
COSTS = {"ns", "us", "ms", "s", "us/s", "MiB", "instructions", "lines", "failures", "failed tests"}
# Records of suites: their share is a figure; the other rows are tests with their results.
SUITES = {"array_api_suite", "cuda_samples", "cutlass", "pycuda_suite"}


def worse(old, new):
    """How many times worse a figure is than before; None where no goal says what is better."""
    kind, sign = ("ratio" if old.ratio and new.ratio else "value"), "<="
    if new.goal is not None:
        measured, sign, _ = new.parsed_goal()
        kind = measured if kind == "value" else kind
    elif kind == "value" and new.unit not in COSTS:
        return None
    before, after = (getattr(row, kind) for row in (old, new))
    if sign == ">=":
        before, after = after, before
    if before > 0 and after > 0:
        return after / before
    # Counts such as failures: any number is infinitely worse than none. Differences have no ratio.
    return math.inf if old.met() and new.met() is False else 1.0


def compared(old, new, noise):
    """The regressions of a record as lines, the worst first, and how many rows were compared."""
    rows = {row.what: row for row in new.rows}
    floors = {row.floor for row in (*old.rows, *new.rows)}
    found, count = [], 0
    for row in old.rows:
        if row.what in floors or (old.name in SUITES and row.goal is None):
            continue  # the time of a floor or of a test is not cupola's
        after = rows.get(row.what)
        if after is None or after.unit != row.unit:
            found.append((math.inf, f"{row.what}: missing"))
            continue
        times = worse(row, after)
        if times is None:
            continue
        count += 1
        if times > 1 + noise:
            figures = " -> ".join(shown(each) for each in (row, after))
            found.append((times, f"{row.what}: {figures}, {times:.2f} times worse"))
    found.sort(key=lambda one: -one[0])
    return [line for _, line in found], count


def shown(row):
    ratio = "" if row.ratio is None else f" ({row.ratio:.3f} x)"
    return f"{records.figure(row.value)} {row.unit}{ratio}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="folder of records")
    parser.add_argument("new", type=Path, help="folder of later records")
    parser.add_argument("--noise", type=float, default=10, help="percent that count as no change")
    options = parser.parse_args()
    old, new = records.by_file(options.old), records.by_file(options.new)
    common = sorted(old.keys() & new.keys())
    if not common:
        parser.error(f"{options.old} and {options.new} have no record of the same name")
    regressions = total = 0
    for name in common:
        lines, count = compared(old[name], new[name], options.noise / 100)
        regressions, total = regressions + len(lines), total + count
        if lines:
            print(f"{name}: {old[name].revision} -> {new[name].revision}")
        for line in lines:
            print(f"  {line}")
    print(
        f"{total} figures of {len(common)} records compared, {regressions} regressions; "
        f"records of one folder alone: {len(old.keys() ^ new.keys())}"
    )
    return 1 if regressions else 0


if __name__ == "__main__":
    sys.exit(main())
