"""A step of examples/heat from its .pyx, for small plates and for large ones

python benchmarks/bench_heat.py [--out FOLDER]
"""

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))
hooks = importlib.import_module("hooks")  # setuptools' entry points, as the tests have them
PROGRAM = """
import statistics, sys, time
import numpy as np, cupola, heat
cpu = cupola.driver.info().kind == "cpu"
for size, steps in ((64, 1000), (1024, 10 if cpu else 1000), (8192, 0 if cpu else 100)):
    if not steps:
        continue
    plate = heat.Plate(np.ones((size, size), np.float32))
    plate.advance(steps)
    cupola.Device().synchronize()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        plate.advance(steps)
        queued = time.perf_counter() - start
        cupola.Device().synchronize()
        times.append((time.perf_counter() - start, queued))
    whole, queued = (statistics.median(column) / steps for column in zip(*times))
    print(size, whole * 1e9, queued * 1e9, 8 * size * size / whole / 1e9)
"""


def built(folder):
    """The example with its kernels and its extension in place; an environment that has it."""
    hooks.install(folder / "hooks")
    source = ROOT / "examples/heat"
    for path in source.rglob("*"):
        if path.suffix in (".py", ".pyx", ".cu", ".cuh", ".toml"):
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    paths = hooks.search_path(folder, folder / "hooks")
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=sys.stderr)
    return environment


def run():
    """Rows of a step, and of what the host needs to queue it."""
    with tempfile.TemporaryDirectory() as place:
        environment = built(Path(place))
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            command, cwd=place, env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
    rows = []
    for line in done.stdout.splitlines():
        size, whole, queued, rate = map(float, line.split())
        what = f"{size:.0f} x {size:.0f} points of float32"
        note = f"{rate:.0f} GB/s: a step reads and writes each point once"
        rows.append(records.Row(f"{what}, a step", whole, "ns", note=note))
        rows.append(records.Row(f"{what}, queueing a step", queued, "ns"))
    return rows


if __name__ == "__main__":
    out = records.parser(__doc__).parse_args().out
    records.publish(out, __file__, __doc__, run())
