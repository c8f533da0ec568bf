"""Time that `import cupola` adds to `import numpy`

python benchmarks/bench_import.py [--out FOLDER]
"""

import statistics
import subprocess
import sys

import records

ROUNDS = 21
PROGRAM = """
import time, numpy
start = time.perf_counter()
import cupola
{use}
print(time.perf_counter() - start)
"""

GOALS = {"import cupola, after numpy": "value <= 15"}
# Names are imported when they are first used, so the import alone says little.
EVERYTHING = "for name in cupola.__all__: getattr(cupola, name)"


def once(use):
    """Seconds in a fresh process that has NumPy already."""
    command = [sys.executable, "-c", PROGRAM.format(use=use)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run():
    """Milliseconds, the median of fresh processes."""
    ways = {
        "import cupola, after numpy": "",
        "and every public name looked up": EVERYTHING,
    }
    times = {name: [] for name in ways}
    for _ in range(ROUNDS + 1):
        for name, use in ways.items():
            times[name].append(once(use))
    return [
        records.Row(name, statistics.median(values[1:]) * 1e3, "ms", goal=GOALS.get(name))
        for name, values in times.items()
    ]


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
