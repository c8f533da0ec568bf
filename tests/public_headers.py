# tests/public_headers.py - lists the public headers of CUDA and CCCL, and those that nvcc refuses.
"""`python -m public_headers` (in `tests`) writes the record again, with this machine's nvcc."""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import images

RECORD = Path(__file__).with_suffix(".json")
ARCHITECTURE = "sm_75"
GROUP = 16
SUFFIXES = ("", ".h", ".cuh")
# Folders of implementations, and of other products in the same folder.
PRIVATE = {"agent", "crt", "detail", "details", "dispatch", "impl", "internal", "specializations",
           "Openacc", "Openmp", "nccl_device", "nvtx3"}  # fmt: skip
OTHER_PRODUCTS = ("cudnn", "cupti", "generated_", "nccl", "nvperf")


def public(include):
    """The names of the headers in a toolkit's folder, as a source includes them."""
    found = set()
    for root in (include, include / "cccl"):
        for path in root.rglob("*"):
            parts = path.relative_to(root).parts
            hidden = any(part in PRIVATE or part.startswith("__") for part in parts)
            other = parts[0].startswith(OTHER_PRODUCTS) or (root == include and parts[0] == "cccl")
            if not hidden and not other and path.suffix in SUFFIXES and path.is_file():
                found.add("/".join(parts))
    return sorted(found)


def source(names):
    """A source that includes the headers."""
    lines = "".join(f"#include <{name}>\n" for name in names)
    return f"{lines}__global__ void f() {{}}\n"


def refusal(names):
    """The first error of ``nvcc -cubin`` for a source that includes the headers; "" for none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "headers.cu"
        path.write_text(source(names))
        words = ["--expt-relaxed-constexpr", "-cubin", f"-arch={ARCHITECTURE}", "-o"]
        command = [images.nvcc().nvcc, *words, path.with_suffix(".cubin"), path]
        done = subprocess.run(command, capture_output=True, text=True)
        if not done.returncode:
            return ""
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        return errors[0].partition("/include/")[2] or errors[0]


def groups(names):
    """The headers in groups of one folder or more, each for one compilation."""
    ordered = sorted(names, key=lambda name: (os.path.dirname(name), name))
    return [ordered[at : at + GROUP] for at in range(0, len(ordered), GROUP)]


def failures(names, error):
    """By header, the errors of a compilation of the headers, found by halves.

    Headers that fail only together have one entry.
    """
    said = error(names)
    if not said or len(names) == 1:
        return {names[0]: said} if said else {}
    half = len(names) // 2
    parts = failures(names[:half], error) | failures(names[half:], error)
    return parts or {" ".join(names): said}


def refused():
    """By name, the headers that nvcc refuses alone, and its first error."""
    return json.loads(RECORD.read_text())["refused"]


def main():
    from cupola.toolkit.nvrtc import nvrtc

    names = public(Path(nvrtc().found.headers()[0]))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda group: failures(group, refusal), groups(names)))
    about = {
        "toolkit": images.nvcc().release,
        "architecture": ARCHITECTURE,
        "headers": len(names),
        "refused": {name: error for part in found for name, error in part.items()},
    }
    RECORD.write_text(json.dumps(about, indent=1) + "\n")
    print(f"{len(names)} headers, of which nvcc refuses {len(about['refused'])}: {RECORD}")


if __name__ == "__main__":
    sys.exit(main())
