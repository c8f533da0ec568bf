# tools/cuda_samples.py - NVIDIA's CUDA samples, built and run on the CPU device.
"""Builds the samples of a folder unchanged and runs each: a table of what passes.

python tools/cuda_samples.py FOLDER BUILD [--out FILE] [--only NAME ...] [--driver cuda]

FOLDER is a checkout of the samples for CUDA 13; cupola has none of them. They are copied to BUILD,
where two lines change: the list of architectures becomes one, so that the build takes minutes, and
samples of other libraries are not built. Everything else is the environment of `cupola run`.
A sample passes if its process succeeds within the time limit and reports no failure.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 120
LEFT_OUT = ("4_CUDA_Libraries", "7_libNVVM", "8_Platform_Specific")
# Other libraries and features that a sample needs, by its build file.
NEEDS = {
    "OpenGL": r"OpenGL|GLUT|GLEW",
    "EGL": r"\bEGL\b",
    "Vulkan": r"Vulkan",
    "Direct3D": r"D3D|WIN32\)\s*$.*Windows-only|Windows-only",
    "MPI": r"\bMPI\b",
    "cuBLAS, cuFFT or others of NVIDIA's libraries": r"cublas|cufft|curand|cusolver|cusparse|npp",
    "dynamic parallelism": r"cudadevrt",
}
FAILURE = re.compile(r"(?i)\b(test failed|= fail|failed!|mismatch found|verification failed)")


def samples(folder: Path) -> dict[str, Path]:
    """Map each sample's name to its folder."""
    found = {}
    for build_file in sorted((folder / "Samples").glob("[0-9]*/**/CMakeLists.txt")):
        category = build_file.relative_to(folder / "Samples").parts[0]
        if category not in LEFT_OUT and "add_executable" in build_file.read_text():
            found[build_file.parent.name] = build_file.parent
    return found


def need(folder: Path) -> str:
    """The library or feature that cupola does not have and the sample needs; empty if none."""
    text = (folder / "CMakeLists.txt").read_text()
    return next((name for name, pattern in NEEDS.items() if re.search(pattern, text)), "")


def copy(folder: Path, build: Path) -> Path:
    """A copy of the samples with one architecture."""
    source = build / "source"
    if source.exists():
        return source
    shutil.copytree(folder, source, ignore=shutil.ignore_patterns(".git", "build"))
    for build_file in source.rglob("CMakeLists.txt"):
        text = build_file.read_text()
        text = re.sub(r"(set\(CMAKE_CUDA_ARCHITECTURES) [^)]*\)", r"\1 90)", text)
        if build_file.parent.name == "Samples":
            text = re.sub(rf"add_subdirectory\(({'|'.join(LEFT_OUT)})\)\n", "", text)
        build_file.write_text(text)
    return source


def make(source: Path, build: Path, environment: dict[str, str], jobs: int) -> None:
    """Configure and build all; what fails to build is missed later."""
    binary = build / "build"
    subprocess.run(["cmake", "-S", source, "-B", binary], env=environment, check=True)
    command = ["cmake", "--build", binary, "--parallel", str(jobs), "--", "-k"]
    subprocess.run(command, env=environment, check=False)


def arguments(folder: Path) -> dict[str, list[list[str]]]:
    """The command lines of samples that need some, as their own test run has them."""
    file = folder / "test_args.json"
    given = json.loads(file.read_text()) if file.exists() else {}
    return {
        name: [run.get("args", []) for run in one.get("runs", [one])] for name, one in given.items()
    }


def run(program: Path, lines: list[list[str]], environment: dict[str, str]) -> tuple[str, float]:
    """Why the sample failed, empty if it passed; and its seconds."""
    begin = time.perf_counter()
    for line in lines:
        try:
            done = subprocess.run(
                [program, *line], cwd=program.parent, env=environment, timeout=SECONDS,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"not done after {SECONDS} s", SECONDS
        text = done.stdout.decode(errors="replace")
        if done.returncode or FAILURE.search(text):
            last = [row for row in text.splitlines() if row.strip()][-1:]
            status = f"status {done.returncode}" if done.returncode else "reports a failure"
            return f"{status}: {last[0].strip()[:150] if last else ''}", time.perf_counter() - begin
    return "", time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--out", type=Path, help="write the table as JSON")
    parser.add_argument("--only", nargs="+", help="run these samples alone")
    parser.add_argument("--driver", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--no-build", action="store_true", help="run what is built")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    environment = dict(os.environ)
    if options.driver == "cpu":
        from cupola.on_cpu.environment import variables

        environment.update(variables(environment))
    build = options.build.resolve()
    source = copy(options.folder.resolve(), build)
    if not options.no_build:
        make(source, build, environment, options.jobs)
    lines, rows = arguments(source), []
    for name, folder in samples(source).items():
        if options.only and name not in options.only:
            continue
        row = {"sample": name, "folder": folder.relative_to(source).parts[1]}
        program = build / "build" / folder.relative_to(source) / name
        if needed := need(folder):
            row |= {"result": "left out", "reason": f"needs {needed}"}
        elif not program.exists():
            row |= {"result": "failed", "reason": "not built"}
        else:
            reason, seconds = run(program, lines.get(name, [[]]), environment)
            result = "failed" if reason else "passed"
            row |= {"result": result, "reason": reason, "seconds": round(seconds, 2)}
        rows.append(row)
        print(
            f"{row['result']:9}{row.get('seconds', 0):8.2f} s  {name}  {row['reason']}", flush=True
        )
    tried = [row for row in rows if row["result"] != "left out"]
    passed = [row for row in tried if row["result"] == "passed"]
    print(f"{len(passed)} of {len(tried)} pass; {len(rows) - len(tried)} need something else")
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
