# tools/cutlass.py - CUTLASS's examples for newer GPUs, built and run on the CPU device.
"""Builds the examples for Hopper and Blackwell, and runs each at a small size: what passes.

python tools/cutlass.py FOLDER BUILD [--out FOLDER] [--only NAME ...] [--jobs N]

FOLDER is a checkout of CUTLASS 4; cupola has none of it. Each example is compiled unchanged for its
target, to PTX, and linked with the shared CUDA runtime. A program that is in BUILD is not compiled
again. The CPU device reports the compute capability of the target. A program passes if its process
succeeds within the time limit, and its own comparison with a reference says so.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import programs
from cutlass_examples import EXAMPLES, Example
from programs import Result, records

TITLE = "CUTLASS's examples for Hopper and Blackwell that pass on the CPU device."
COMMAND = "python tools/cutlass.py FOLDER BUILD"
FLAGS = [
    "-std=c++17", "-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda", "-w",
    "-DCUTLASS_ENABLE_TENSOR_CORE_MMA=1", "-DCUTE_USE_PACKED_TUPLE=1", "-DNDEBUG",
    "-cudart", "shared", "-Xcompiler", "-O1", "-lcuda",
]  # fmt: skip
PASSED = re.compile(r"\bpassed\b|\btest pass\b|\bis successful\b|\[ *OK *\]", re.IGNORECASE)
FAILED = re.compile(r"\bfailed\b|\[ *FAIL *\]", re.IGNORECASE)
# Where the CPU device names a refused instruction, and CUTLASS a refused tensor map.
REASONS = [re.compile(r"PTX line \d+: (.*)"), re.compile(r"(Failed to initialize the TMA.*)")]
# A persistent kernel needs as many multiprocessors as a cluster has blocks. Machine code would be
# compiled after a small problem has ended.
SETTINGS = {"CUPOLA_CPU_THREADS": "16", "CUPOLA_CPU_MODE": "interpret"}


def command(example: Example, folder: Path, program: Path) -> list[str | Path]:
    """The command that compiles an example for its target alone."""
    source = folder / "examples" / example.source
    includes = [folder / "include", folder / "tools/util/include", folder / "examples/common"]
    return [
        os.environ.get("NVCC", "nvcc"),
        *FLAGS,
        *(f"-I{path}" for path in [*includes, source.parent]),
        *(f"-D{name}" for name in example.definitions),
        f"-gencode=arch=compute_{example.target},code=compute_{example.target}",
        source,
        "-o",
        program,
    ]


def build(example: Example, folder: Path, program: Path, environment: dict[str, str]) -> str:
    """Compile an example that is not there yet; why that fails, or nothing."""
    if program.exists():
        return ""
    # The flags of `cupola run` would add code for the GPU that the CPU device is by default.
    flags = {"NVCC_APPEND_FLAGS": ""}
    done = subprocess.run(
        command(example, folder, program), env=environment | flags, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return programs.last_line(done.stdout, "error") if done.returncode else ""


def reason(text: str) -> str:
    """Why a program failed, by its output: the refused instruction, else the last line."""
    for pattern in REASONS:
        if found := pattern.search(text):
            return found[1].strip()
    return programs.last_line(text) or "no output"


def judge(example: Example, program: Path, environment: dict[str, str]) -> Result:
    """Run an example on a device of its compute capability."""
    (program.parent / "problem.txt").write_text(example.problem)
    chosen = SETTINGS | {"CUPOLA_CPU_COMPUTE_CAPABILITY": example.capability}
    status, seconds, text = programs.run(program, example.arguments.split(), environment | chosen)
    if status is None:
        return Result("failed", seconds, f"not done after {seconds} s")
    if status or FAILED.search(text) or not (example.waived or PASSED.search(text)):
        return Result("failed", seconds, reason(text)[:160])
    return Result("waived" if example.waived else "passed", seconds, example.waived)


def main() -> int:
    parser: argparse.ArgumentParser = records.parser(__doc__)
    parser.add_argument("folder", type=Path, help="a checkout of CUTLASS 4")
    parser.add_argument("build", type=Path, help="folder for what is built")
    parser.add_argument("--only", nargs="+", help="run these examples alone, and write no record")
    parser.add_argument("--no-build", action="store_true", help="run what is built")
    parser.add_argument("--jobs", type=int, default=1, help="how many compilers run at a time")
    options = parser.parse_args()
    if unknown := set(options.only or ()) - {example.name for example in EXAMPLES}:
        parser.error(f"no example has the name {', '.join(sorted(unknown))}")
    environment = programs.environment()
    folder, binaries = options.folder.resolve(), options.build.resolve()
    binaries.mkdir(parents=True, exist_ok=True)
    device, driver = records.cupola_device()
    chosen = [row for row in EXAMPLES if not options.only or row.name in options.only]
    count = len(chosen)
    if options.no_build:
        chosen = [example for example in chosen if (binaries / example.name).exists()]
    missing = count - len(chosen)

    def built(example: Example) -> str:
        return build(example, folder, binaries / example.name, environment)

    rows = []
    with ThreadPoolExecutor(options.jobs) as pool:
        errors = list(pool.map(built, chosen))
    for example, error in zip(chosen, errors, strict=True):
        program = binaries / example.name
        result = (
            Result("failed", 0, f"not built: {error}")
            if error
            else judge(example, program, environment)
        )
        rows.append(result.row(f"{example.name} ({example.target})"))
        print(f"{result.seconds:8.2f} s  {example.name}  {rows[-1].note}", flush=True)
    # The worst first: a program that fails, then a program that checks nothing.
    rows.sort(key=lambda row: ("failed", "waived", "passed").index(row.note.partition(":")[0]))
    waived = sum(row.note.startswith("waived") for row in rows)
    more = f"{waived} more check no result"
    if missing:
        more += f", {missing} of the table were not compiled"
    share = programs.share("share of examples that pass", rows, 0.9, more)
    out = None if options.only else options.out
    sys.argv[1:] = []  # folders of this machine, which the record does not name
    told = {"command": COMMAND, "device": device, "extra": driver}
    records.publish(out, __file__, TITLE, [share, *rows], **told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
