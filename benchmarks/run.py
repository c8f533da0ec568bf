"""Measures cupola on this machine, beside the floor, and writes a table and a JSON file.

python benchmarks/run.py [--out FOLDER]
"""

import argparse
import json
import os
import platform
import re
import subprocess
from pathlib import Path

import bench_arrays
import bench_build
import bench_copy
import bench_extension
import bench_graph
import bench_heat
import bench_import
import bench_launch
import bench_mandelbrot
import bench_peers
import bench_pipeline
import bench_start
import floor

import cupola

HERE = Path(__file__).parent


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def revision():
    command = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--abbrev=12"]
    answer = subprocess.run(command, capture_output=True, text=True)
    return answer.stdout.strip() or "unknown"


def machine():
    info = cupola.driver.info()
    return {
        "device": cupola.Device().name,
        "driver": f"{info.kind}, CUDA {info.version // 1000}.{info.version % 1000 // 10}",
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "compiler": floor.compiler()[1] + " " + " ".join(floor.FLAGS),
        "python": platform.python_version(),
        "cupola": cupola.__version__,
        "revision": revision(),
    }


def table(rows):
    names = ("what", "ns", "ms", "GB/s", "ratio")
    columns = [key for key in names if any(key in row for row in rows)]
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for row in rows:
        cells = [row["what"]]
        cells += [f"{row[key]:.2f}" if key in row else "" for key in columns[1:]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for the result files")
    out = parser.parse_args().out
    cpu = cupola.driver.info().kind == "cpu"
    about = machine()
    sections = {
        "import": bench_import.run(),
        "start": bench_start.run(),
        "launch": bench_launch.run(),
        "launch from a .pyx of somebody else": bench_extension.run(),
        "graph launch": bench_graph.run(),
        "launch with others' arrays": bench_arrays.run(),
        "copies between host and device, and allocation": bench_copy.run(),
        "mandelbrot 1024 x 1024, 256 iterations": bench_mandelbrot.run(cpu),
        "pipeline; ratio to the first row, or to the heavy kernel alone": bench_pipeline.run(),
        "examples/heat, a step": bench_heat.run()[1],
        "build of four sources with eight kernels each": bench_build.run(),
    }
    if not cpu:
        sections["launch beside peers; ratio to cupola's checked launch"] = bench_peers.run()
    text = [f"# {about['device']}", ""]
    text += [f"- {key}: {value}" for key, value in about.items()]
    for name, rows in sections.items():
        text += ["", f"## {name}", table(rows)]
    text.append("\nMedians of interleaved rounds; a ratio is to the C++ floor of the same round.")
    print("\n".join(text))
    if out:
        out.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^a-z0-9]+", "-", about["device"].lower()).strip("-")
        (out / f"{name}.md").write_text("\n".join(text) + "\n")
        (out / f"{name}.json").write_text(
            json.dumps({"machine": about, **sections}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
