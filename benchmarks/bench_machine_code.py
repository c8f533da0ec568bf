"""What making machine code of kernels for the CPU device takes: the shipped ones, or those of PTX.

python benchmarks/bench_machine_code.py [--out FILE] [PTX ...]

Each kernel is loaded by itself, in a process of its own, interpreted and compiled, three times; the
difference of the fastest is the compiler's, in seconds that passed. The shipped ones want nvcc.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from run import processor

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


def seconds(path, name, mode):
    """To load it, with nothing in the cache."""
    with tempfile.TemporaryDirectory(prefix="cupola-") as cache:
        settings = {"CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_MODE": mode, "CUPOLA_CACHE_DIR": cache}
        command = [sys.executable, "-c", LOAD, str(path), name]
        environment = {**os.environ, **settings}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def instructions(text):
    return len(re.findall(r"^\s*(?:@!?%\w+ )?[a-z][\w.:]*\s[^;]*;", text[text.index("{") :], re.M))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("ptx", type=Path, nargs="*")
    asked = parser.parse_args()
    lines = [f"# Machine code for the CPU device ({processor()})", ""]
    lines += ["| kernel | instructions | s |", "| --- | --- | --- |"]
    with tempfile.TemporaryDirectory(prefix="cupola-ptx-") as folder:
        alone = Path(folder) / "one.ptx"
        for path in asked.ptx or shipped(Path(folder)):
            for name, text in ptx.cut(path.read_text()).items():
                alone.write_text(text)
                fastest = [
                    min(seconds(alone, name, mode) for _ in range(3))
                    for mode in ("compile", "interpret")
                ]
                took = fastest[0] - fastest[1]
                lines.append(f"| {name} | {instructions(text)} | {took:.1f} |")
                print(lines[-1], flush=True)
    if asked.out:
        asked.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
