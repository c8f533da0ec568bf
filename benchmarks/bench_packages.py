"""Bytes that examples of packages ship for their kernels

python benchmarks/bench_packages.py [--out FOLDER]

Measured are the files that the build makes for 7 targets, each deflated as in a wheel. Needs nvcc,
no GPU and no network. TRITON_PYTHON, NUMBA_PYTHON and WARP_PYTHON name interpreters that have these
compilers; by default it is this one.
"""

import os
import sys

import records
import shipped_bytes

# The folder of each example, and its compiler, where that is not nvcc alone.
EXAMPLES = {
    "heat": None,
    "matmul": None,
    "norm": None,
    "rows": "TRITON",
    "numba_rows": "NUMBA",
    "warp_rows": "WARP",
}


def run():
    rows = []
    for name, compiler in EXAMPLES.items():
        python = os.environ.get(f"{compiler}_PYTHON", sys.executable)
        size = shipped_bytes.of_package(records.ROOT / "examples" / name, python)
        rows.append(records.Row(f"examples/{name}: files of the package", size, "bytes"))
    return rows


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
