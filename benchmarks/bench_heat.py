"""examples/heat: time of a step from its .pyx, for small plates and for large ones.

python benchmarks/bench_heat.py [--out FOLDER]
"""

import argparse
import importlib
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))
hooks = importlib.import_module("hooks")  # setuptools' entry points, as the tests have them
PROGRAM = """
import statistics, sys, time
import numpy as np, cupola, heat
cpu = cupola.driver.info().kind == "cpu"
print(cupola.Device().name)
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
    """The device's name; nanoseconds a step, of which the host needs so many to queue it."""
    with tempfile.TemporaryDirectory() as place:
        environment = built(Path(place))
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            command, cwd=place, env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
    device, *lines = done.stdout.splitlines()
    rows = []
    for line in lines:
        size, whole, queued, rate = map(float, line.split())
        what = f"{size:.0f} x {size:.0f} points, float32"
        rows.append({"what": what, "ns": whole, "queued": queued, "GB/s": rate})
    return device, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for the result file")
    out = parser.parse_args().out
    device, rows = run()
    text = [f"# examples/heat on {device}", "", f"Python {platform.python_version()}", ""]
    text += ["| plate | ns a step | ns to queue it | GB/s |", "| --- | --- | --- | --- |"]
    for row in rows:
        numbers = f"{row['ns']:.0f} | {row['queued']:.0f} | {row['GB/s']:.0f}"
        text.append(f"| {row['what']} | {numbers} |")
    text.append("\nMedians of five calls; a step reads and writes each point once.")
    print("\n".join(text))
    if out:
        out.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
        (out / f"heat-{name}.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
