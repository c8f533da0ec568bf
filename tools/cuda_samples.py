# tools/cuda_samples.py - NVIDIA's CUDA samples, built and run on the CPU device.
"""Builds the samples of a folder unchanged and runs each: a table of what passes.

python tools/cuda_samples.py FOLDER BUILD [--out FOLDER] [--only NAME ...]

FOLDER is a checkout of the samples for CUDA 13; cupola has none of them. They are copied to BUILD,
where two lines change: the list of architectures becomes one, so that the build takes minutes, and
samples of other libraries are not built. Everything else is the environment of `cupola run`.
A sample passes if its process succeeds within the time limit and reports no failure. It is waived
if it says itself that the device lacks something that it is about.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import programs
from programs import Result, records

WAIVED = 2  # the samples' status
TITLE = "NVIDIA's CUDA samples that run on the CPU device."
COMMAND = "python tools/cuda_samples.py FOLDER BUILD"
LEFT_OUT = ("4_CUDA_Libraries", "7_libNVVM", "8_Platform_Specific")
# Other libraries and features that a sample needs, by its build file.
NEEDS = {
    "OpenGL": r"OpenGL|GLUT|GLEW",
    "EGL": r"\bEGL\b",
    "Vulkan": r"Vulkan",
    "Direct3D": r"D3D|WIN32\)\s*$.*Windows-only|Windows-only",
    "MPI": r"\bMPI\b",
    "cuBLAS, cuFFT or others of NVIDIA's libraries": r"cublas|cufft|curand|cusolver|cusparse|npp",
    "dynamic parallelism": r"\bcdp[A-Z]|cudadevrt",
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


def run(program: Path, lines: list[list[str]], environment: dict[str, str]) -> Result:
    """Run a sample with each of its command lines; the first that does not pass decides."""
    total = 0.0
    for line in lines:
        status, seconds, text = programs.run(program, line, environment)
        total += seconds
        if status is None:
            return Result("failed", seconds, f"not done after {seconds} s")
        if status or FAILURE.search(text):
            waived = status == WAIVED and "aiv" in text
            why = programs.last_line(text)[:100] or "no output"
            return Result("waived" if waived else "failed", total, why)
    return Result("passed", total)


def judge(program: Path, lines: list[list[str]], environment: dict[str, str]) -> records.Row:
    """A sample's row. One that declines to run is run again with two devices."""
    result = run(program, lines, environment)
    if result.verdict == "waived":
        result = run(program, lines, {**environment, "CUPOLA_CPU_DEVICES": "2"})
        result.why = result.why or "with CUPOLA_CPU_DEVICES=2"
    return result.row(program.name)


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("folder", type=Path, help="a checkout of the samples")
    parser.add_argument("build", type=Path, help="folder for what is built")
    parser.add_argument("--only", nargs="+", help="run these samples alone, and write no record")
    parser.add_argument("--no-build", action="store_true", help="run what is built")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    environment = programs.environment()
    build = options.build.resolve()
    source = copy(options.folder.resolve(), build)
    if not options.no_build:
        make(source, build, environment, options.jobs)
    # Read now, because a build may replace the package meanwhile.
    device, driver = records.cupola_device()
    lines, rows, other = arguments(source), [], []
    for name, folder in samples(source).items():
        if options.only and name not in options.only:
            continue
        if needed := need(folder):
            other.append(f"{name} ({needed})")
            continue
        program = build / "build" / folder.relative_to(source) / name
        row = (
            judge(program, lines.get(name, [[]]), environment)
            if program.exists()
            else Result("failed", 0, "not built").row(name)
        )
        rows.append(row)
        print(f"{row.value:8.2f} s  {name}  {row.note}", flush=True)
    waived = sum(row.note.startswith("waived") for row in rows)
    print("not tried:", ", ".join(other))
    share = programs.share(
        "share of samples that pass",
        rows,
        0.95,
        f"{waived} more decline to run, {len(other)} need other libraries or dynamic parallelism",
    )
    out = None if options.only else options.out
    sys.argv[1:] = []  # folders of this machine, which the record does not name
    told = {"command": COMMAND, "device": device, "extra": driver}
    records.publish(out, __file__, TITLE, [share, *rows], **told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
