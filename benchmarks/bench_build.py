"""A build of a package with four sources of eight kernels each

python benchmarks/bench_build.py [--out FOLDER]
"""

import importlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
SOURCES = 4
KERNELS = 8  # a source
GOALS = {"again, nothing changed": "value <= 1000"}
PYPROJECT = """
[project]
name = "many"
version = "1"
[tool.setuptools]
packages = ["many"]
[[tool.cupola.kernels]]
library = "many.kernels"
sources = ["csrc/*.cu"]
"""
sys.path.append(str(ROOT / "tests"))
hooks = importlib.import_module("hooks")  # setuptools' entry points, as the tests have them


def source(number):
    return "".join(
        f'extern "C" __global__ void kernel_{number}_{i}(float* x, int n) {{\n'
        f"    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    if (i < n) x[i] = sinf(x[i]) + {i};\n}}\n"
        for i in range(KERNELS)
    )


def make(folder):
    for name in ("csrc", "many"):
        (folder / name).mkdir(parents=True)
    hooks.install(folder / "hooks")
    (folder / "many/__init__.py").write_text("")
    (folder / "pyproject.toml").write_text(PYPROJECT)
    for number in range(SOURCES):
        (folder / f"csrc/{number}.cu").write_text(source(number))


def build(folder, cache):
    """Seconds that the whole process takes, and how many sources it compiled."""
    paths = hooks.search_path(folder / "hooks")
    environment = {**os.environ, "PYTHONPATH": paths, "CUPOLA_CACHE_DIR": cache}
    environment["CUPOLA_ARCHITECTURES"] = "80,90"
    code = "from setuptools import setup; setup()"
    command = [sys.executable, "-c", code, "build_kernels", "--inplace"]
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - start, len(re.findall(": compile ", done.stdout))


def run():
    """Milliseconds, medians."""
    with tempfile.TemporaryDirectory() as place:
        cache = f"{place}/cache"
        first = Path(place, "first")
        make(first)
        rows = [("the first time", [build(first, cache)])]
        rows.append(("again, nothing changed", [build(first, cache) for _ in range(ROUNDS)]))
        changed = []
        for i in range(3):
            path = first / "csrc/0.cu"
            path.write_text(path.read_text() + f"// {i}\n")
            changed.append(build(first, cache))
        rows.append(("again, one source changed", changed))
        elsewhere = []
        for i in range(3):
            folder = Path(place, f"other{i}")
            make(folder)
            elsewhere.append(build(folder, cache))
        rows.append(("in another folder, from the cache", elsewhere))
    counts = [runs[-1][1] for _, runs in rows]
    assert counts[1:3] == [0, 1], counts
    return [
        records.Row(what, statistics.median(s for s, _ in runs) * 1e3, "ms", goal=GOALS.get(what))
        for what, runs in rows
    ]


if __name__ == "__main__":
    out = records.parser(__doc__).parse_args().out
    device = records.processor()
    records.publish(out, __file__, __doc__, run(), device=device)
