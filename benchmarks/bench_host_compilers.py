"""The time to make machine code of a kernel for the CPU device, by each C++ compiler

python benchmarks/bench_host_compilers.py [--out FOLDER]

Five shipped kernels, loaded in processes of their own, interpreted and compiled, three times; the
difference of the fastest is the compiler's. The compilers are g++, clang++ and the one of the
package ziglang, as far as they are there. nvcc makes the PTX.
"""

import os
import shutil
import tempfile
from pathlib import Path

import bench_machine_code as machine_code
import records

import cupola  # noqa: F401 - names the compiler of the package ziglang
from cupola.build import ptx

KERNELS = ("saxpy", "double_array", "convolve", "mandelbrot_ker", "mandelbrot_image")


def compilers():
    """The value of CXX for each, by its name."""
    found = {name: shutil.which(name) for name in ("g++", "clang++")}
    if zig := os.environ.get("CUPOLA_CPU_ZIG"):
        found["ziglang"] = f"{zig} c++"
    return {name: command for name, command in found.items() if command}


def run():
    rows, times = [], {}
    with tempfile.TemporaryDirectory(prefix="cupola-ptx-") as folder:
        alone = Path(folder) / "one.ptx"
        caches = {name: Path(folder) / name for name in (*compilers(), "none")}
        for path in machine_code.shipped(Path(folder)):
            for name, text in ptx.cut(path.read_text()).items():
                if name not in KERNELS:
                    continue
                alone.write_text(text)
                loading = min(
                    machine_code.seconds(caches["none"], alone, name, "interpret") for _ in range(3)
                )
                for compiler, command in compilers().items():
                    took = min(
                        machine_code.seconds(caches[compiler], alone, name, "compile", CXX=command)
                        for _ in range(3)
                    )
                    times[name, compiler] = took - loading
    for name in KERNELS:
        for compiler in compilers():
            rows.append(records.Row(f"{name}, {compiler}", times[name, compiler], "s"))
    return rows


if __name__ == "__main__":
    os.environ["CUPOLA_DRIVER"] = "cpu"
    records.main(__file__, __doc__, run)
