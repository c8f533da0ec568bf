"""Host time of calls in a program of PyCUDA, by PyCUDA and by cupola.pycuda

python benchmarks/bench_pycuda.py [--out FOLDER]

Both run the same program, benchmarks/pycuda_calls.py, in turns. The programs of
tests/pycuda_programs run with both, too: their output is the same. Half of PyCUDA's time is below
the driver's own for prepared launches.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import records

import cupola

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "pycuda_programs"
ROUNDS = 3
RUNS = {"PyCUDA": [sys.executable], "cupola": [sys.executable, "-m", "cupola", "run", "--pycuda"]}


def run(name, *arguments):
    """The output of a program."""
    done = subprocess.run(
        [*RUNS[name], *map(str, arguments)], capture_output=True, text=True, env=os.environ
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {arguments[0]} failed:\n{done.stderr}")
    return done.stdout


def same_output():
    """The programs that print the same with both."""
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder) / "mandelbrot.ptx"
        ptx.write_bytes(cupola.compile(PROGRAMS / "mandelbrot.cu", arch="compute_75").image)
        for program in sorted(PROGRAMS.glob("*.py")):
            arguments = [ptx] if program.stem == "mandelbrot" else []
            printed = {name: run(name, program, *arguments) for name in RUNS}
            if printed["PyCUDA"] != printed["cupola"]:
                raise RuntimeError(f"{program.name} prints {printed}")
            yield program.stem


def main():
    options = records.parser(__doc__).parse_args()
    if importlib.util.find_spec("pycuda") is None:
        sys.exit("this benchmark needs PyCUDA: pip install pycuda, which compiles it")
    alike = list(same_output())
    times = {}
    for _ in range(ROUNDS):
        for name in RUNS:
            for call, span in json.loads(
                run(name, ROOT / "benchmarks" / "pycuda_calls.py")
            ).items():
                times.setdefault(call, {"PyCUDA": [], "cupola": []})[name].append(span * 1e-6)
    made = []
    for call, spans in times.items():
        made += records.titled(call, records.medians(spans, "us", {"cupola": "ratio <= 0.5"}))
    made.append(records.Row("programs with the same output", len(alike), "of 4", goal="value >= 4"))
    records.publish(options.out, __file__, __doc__, made)


if __name__ == "__main__":
    main()
