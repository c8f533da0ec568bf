"""The time to make machine code of kernels for the CPU device

python benchmarks/bench_machine_code.py [--out FOLDER] [PTX ...]

Each kernel is loaded by itself, in a process of its own, interpreted and compiled, twice; the
difference of the fastest is the compiler's. Without PTX files, the kernels are those that cupola
ships and those of bench_cpu_device.py, compiled by nvcc. The instructions' semantics are
precompiled already, as after the first kernel of a cache.
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
LOAD = """
import sys, time, cupola
cupola.empty(1, "u1")
start = time.monotonic()
cupola.load(sys.argv[1])[sys.argv[2]]
print(time.monotonic() - start)
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


def seconds(cache, path, name, mode, **more):
    """To load it, with no library in the cache."""
    for library in cache.glob("cpu/*.so"):
        library.unlink()
    settings = {"CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_MODE": mode, "CUPOLA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", LOAD, str(path), name]
    environment = {**os.environ, **settings, **more}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def instructions(text):
    return len(re.findall(r"^\s*(?:@!?%\w+ )?[a-z][\w.:]*\s[^;]*;", text[text.index("{") :], re.M))


def run(given):
    rows = []
    with tempfile.TemporaryDirectory(prefix="cupola-ptx-") as folder:
        alone, cache = Path(folder) / "one.ptx", Path(folder) / "cache"
        for path in given or [*shipped(Path(folder)), *measured(Path(folder))]:
            for name, text in ptx.cut(path.read_text()).items():
                alone.write_text(text)
                if not rows:
                    seconds(cache, alone, name, "compile")  # precompiles the semantics
                fastest = [
                    min(seconds(cache, alone, name, mode) for _ in range(2))
                    for mode in ("compile", "interpret")
                ]
                took, note = fastest[0] - fastest[1], f"{instructions(text)} instructions"
                rows.append(records.Row(f"{path.stem}: {name}", took, "s", note=note))
    rows.sort(key=lambda row: -row.value)
    quick = sum(row.value <= 1 for row in rows) / len(rows)
    share = records.Row("kernels compiled within 1 s", 100 * quick, "%", goal="value >= 90")
    return [share, *rows]


if __name__ == "__main__":
    parser = records.parser(__doc__)
    parser.add_argument("ptx", type=Path, nargs="*")
    options = parser.parse_args()
    os.environ["CUPOLA_DRIVER"] = "cpu"
    records.publish(options.out, __file__, __doc__, run(options.ptx))
