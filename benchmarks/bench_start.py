"""From a process's start to a first result: cupola over `import numpy` and a C++ program

python benchmarks/bench_start.py [--out FOLDER]
"""

import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import floor
import records

import cupola

SOURCE = Path(__file__).with_name("start.cpp")
ROUNDS = 15
DONE = "5.0"  # what each process prints when it is there
NUMPY = "import numpy; print(5.0, flush=True)"
CUPOLA = """
import numpy, cupola
n = 1000
out = cupola.saxpy(2.0, numpy.full(n, 1, numpy.float32), numpy.full(n, 3, numpy.float32))
assert out[0] == 5
print(out[-1], flush=True)
"""


def until_answer(command, environment):
    """Seconds until a process printed the answer; what it does at its end does not count."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        answer = process.stdout.readline()
        elapsed = time.perf_counter() - start
    assert answer.strip() == DONE and process.returncode == 0, command
    return elapsed


def program(folder):
    """The C++ program's command."""
    compiler, _ = floor.compiler()
    target, image = folder / "start", folder / "shipped.fatbin"
    command = [compiler, "-std=c++17", "-O2", SOURCE, "-o", target, "-ldl"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(cupola.paths.library()))
    content, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.cupola_shipped_image(ctypes.byref(content), ctypes.byref(size))
    image.write_bytes(ctypes.string_at(content.value, size.value))
    return [target, cupola.driver.info().path, image, DONE]


def run():
    """Milliseconds, medians of interleaved rounds; the last row is the difference of each round."""
    environment = {**os.environ, "CUPOLA_DRIVER": cupola.driver.info().kind}
    with tempfile.TemporaryDirectory(prefix="cupola-start-") as folder:
        ways = {
            "import numpy": [sys.executable, "-c", NUMPY],
            "C++, cuInit to result": program(Path(folder)),
            "import numpy, cupola, cupola.saxpy to result": [sys.executable, "-c", CUPOLA],
        }
        times = {name: [] for name in ways}
        for round_ in range(ROUNDS + 2):
            for name, command in ways.items():
                elapsed = until_answer(command, environment)
                if round_ >= 2:
                    times[name].append(elapsed * 1e3)
    rows = [records.Row(name, statistics.median(v), "ms") for name, v in times.items()]
    over = [c - n - cpp for n, cpp, c in zip(*times.values(), strict=True)]
    goal = "value <= 20"
    return [*rows, records.Row("cupola over both", statistics.median(over), "ms", goal=goal)]


if __name__ == "__main__":
    records.main(__file__, __doc__, run, records.RUNTIME)
