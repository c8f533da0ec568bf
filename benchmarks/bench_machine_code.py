"""The time to make machine code of the shipped kernels for the CPU device

python benchmarks/bench_machine_code.py [--out FOLDER] [PTX ...]

Each kernel is loaded by itself, in a process of its own, interpreted and compiled, three times; the
difference of the fastest is the compiler's. nvcc makes the PTX of the shipped ones; others may be
given.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import records

from cupola.build import ptx

KERNELS = Path(__file__).resolve().parent.parent / "csrc" / "kernels"
LOAD = """
import sys, time, cupola
cupola.empty(1, "u1")
start = time.monotonic()
cupola.load(sys.argv[1])[sys.argv[2]]
print(time.monotonic() - start)
"""


def shipped(folder):
    """The PTX of the sources of shipped kernels."""
    for source in sorted(KERNELS.glob("*.cu")):
        made = folder / f"{source.stem}.ptx"
        command = ["nvcc", "-ptx", "-arch=compute_75", "-std=c++17", "--fmad=false"]
        subprocess.run([*command, f"-I{KERNELS}", "-o", made, source], check=True)
        yield made


def seconds(path, name, mode, **more):
    """To load it, with nothing in the cache."""
    with tempfile.TemporaryDirectory(prefix="cupola-") as cache:
        settings = {"CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_MODE": mode, "CUPOLA_CACHE_DIR": cache}
        command = [sys.executable, "-c", LOAD, str(path), name]
        environment = {**os.environ, **settings, **more}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def instructions(text):
    return len(re.findall(r"^\s*(?:@!?%\w+ )?[a-z][\w.:]*\s[^;]*;", text[text.index("{") :], re.M))


def run(given):
    rows = []
    with tempfile.TemporaryDirectory(prefix="cupola-ptx-") as folder:
        alone = Path(folder) / "one.ptx"
        for path in given or shipped(Path(folder)):
            for name, text in ptx.cut(path.read_text()).items():
                alone.write_text(text)
                fastest = [
                    min(seconds(alone, name, mode) for _ in range(3))
                    for mode in ("compile", "interpret")
                ]
                took, note = fastest[0] - fastest[1], f"{instructions(text)} instructions"
                rows.append(records.Row(name, took, "s", goal="value <= 2", note=note))
    return rows


if __name__ == "__main__":
    parser = records.parser(__doc__)
    parser.add_argument("ptx", type=Path, nargs="*")
    options = parser.parse_args()
    os.environ["CUPOLA_DRIVER"] = "cpu"
    measures = [*records.CPU_DEVICE, *records.KERNELS]
    records.publish(options.out, __file__, __doc__, run(options.ptx), measures)
