"""The time to make machine code of kernels for the CPU device

python benchmarks/bench_machine_code.py [--out FOLDER] [PTX ...]

Each kernel is loaded by itself, in a process of its own, interpreted and compiled, twice; the
difference of the fastest is the compiler's. The first code of a kernel is that of the quick tier,
or of the full tier where the source is small: what a launch at default settings gets first. The
processes use one processor, and the times are processor time. Without PTX files, the kernels are
those that cupola ships and those of bench_cpu_device.py, compiled by nvcc. The instructions'
semantics are precompiled already, as after the first kernel of a cache.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import bench_cpu_device
import records

from cupola.build import ptx

HERE = Path(__file__).resolve().parent
KERNELS = HERE.parent / "csrc" / "kernels"
# compile_queue.cpp, min_tiered_bytes: smaller sources have no quick tier.
TIERED_BYTES = 30_000
LOAD = """
import ctypes, os, sys, cupola
from cupola import paths
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
cupola.empty(1, "u1")
start = sum(os.times()[:4])
kernel = cupola.load(sys.argv[1])[sys.argv[2]]
print(sum(os.times()[:4]) - start)
printed = ctypes.CDLL(paths.cpu_driver()).cupola_cpu_printed
printed.restype, printed.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
print(len(printed(kernel.handle)))
"""


def compiled(folder, sources, *flags):
    """The PTX of some sources."""
    for source in sources:
        made = folder / f"{source.stem}.ptx"
        command = ["nvcc", "-ptx", "-arch=compute_75", "-std=c++17", *flags]
        subprocess.run([*command, f"-I{KERNELS}", "-o", made, source], check=True)
        yield made


def shipped(folder):
    """The PTX of the shipped kernels."""
    return compiled(folder, sorted(KERNELS.glob("*.cu")), "--fmad=false")


def measured(folder):
    """The PTX of the kernels that bench_cpu_device.py measures."""
    return compiled(folder, [HERE / f"{name}.cu" for name in bench_cpu_device.FILES])


def loaded(cache, path, name, mode, **more):
    """Seconds of processor time to load it, with no library in the cache, that of the compiler
    included, and the bytes of its emitted source.
    """
    for library in cache.glob("cpu/*.so"):
        library.unlink()
    settings = {"CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_MODE": mode, "CUPOLA_CACHE_DIR": str(cache)}
    settings["CUPOLA_CPU_THREADS"] = "1"
    command = [sys.executable, "-c", LOAD, str(path), name]
    environment = {**os.environ, **settings, **more}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    took, size = done.stdout.split()
    return float(took), int(size)


def seconds(cache, path, name, mode, **more):
    return loaded(cache, path, name, mode, **more)[0]


def instructions(text):
    return len(re.findall(r"^\s*(?:@!?%\w+ )?[a-z][\w.:]*\s[^;]*;", text[text.index("{") :], re.M))


def run(given):
    quick, full = [], []
    with tempfile.TemporaryDirectory(prefix="cupola-ptx-") as folder:
        alone, cache = Path(folder) / "one.ptx", Path(folder) / "cache"
        for path in given or [*shipped(Path(folder)), *measured(Path(folder))]:
            for name, text in ptx.cut(path.read_text()).items():
                alone.write_text(text)
                if not full:
                    seconds(cache, alone, name, "compile")  # precompiles the semantics
                took = {
                    mode: min(seconds(cache, alone, name, mode) for _ in range(2))
                    for mode in ("compile", "quick")
                }
                loading, size = min(loaded(cache, alone, name, "interpret") for _ in range(2))
                first = took["quick" if size >= TIERED_BYTES else "compile"] - loading
                what, note = f"{path.stem}: {name}", f"{instructions(text)} instructions"
                full.append(records.Row(what, took["compile"] - loading, "s", note=note))
                quick.append(records.Row(f"{what}, first code", first, "s", note=note))
    shares = [
        records.Row(
            "kernels compiled within 1 s", share_within(1, quick), "%", goal="value >= 90",
            note="to their first code",
        ),
        records.Row("kernels whose full tier is compiled within 1 s", share_within(1, full), "%"),
    ]  # fmt: skip
    return shares + sorted(quick + full, key=lambda row: -row.value)


def share_within(limit, rows):
    return 100 * sum(row.value <= limit for row in rows) / len(rows)


if __name__ == "__main__":
    parser = records.parser(__doc__)
    parser.add_argument("ptx", type=Path, nargs="*")
    options = parser.parse_args()
    os.environ["CUPOLA_DRIVER"] = "cpu"
    records.publish(options.out, __file__, __doc__, run(options.ptx))
