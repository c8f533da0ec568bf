"""What `import cupola` adds to `import numpy`."""

import statistics
import subprocess
import sys

ROUNDS = 21
PROGRAM = """
import time, numpy
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def once(module):
    """Seconds of the import in a fresh process that has NumPy already."""
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run():
    """Milliseconds, the median of fresh processes."""
    once("cupola")
    times = [once("cupola") for _ in range(ROUNDS)]
    return [{"what": "import cupola, after numpy", "ms": statistics.median(times) * 1e3}]


if __name__ == "__main__":
    print(run())
