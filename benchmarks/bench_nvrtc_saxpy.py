"""The NVRTC saxpy of examples/nvrtc_saxpy beside the same program in C++

python benchmarks/bench_nvrtc_saxpy.py [--out FOLDER] [--rounds 20] [--elements N]

The application's time is from the first driver call to the checked result; what is left of the
process's time is its start, imports, inputs, the kernel's 20 further launches and its end.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import floor
import records

import cupola
from cupola.toolkit import libraries

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "nvrtc_saxpy"
ELEMENTS, ROUNDS = 512 * 32768, 20
GOALS = {"kernel, cupola": "ratio <= 1.01", "application, cupola": "ratio <= 1.01"}


def driver_path():
    """The file of the driver that cupola has taken."""
    cupola.driver.info()
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "libcuda.so" in line:
            return line.split(maxsplit=5)[5]
    raise FileNotFoundError("libcuda.so")


def build(folder):
    """The C++ program; FileNotFoundError says what is missing for it."""
    found = libraries.load("nvrtc")
    include = next((f for f in found.headers() if (Path(f) / "nvrtc.h").is_file()), None)
    if include is None or not (Path(include) / "cuda.h").is_file():
        raise FileNotFoundError(f"there is no cuda.h or no nvrtc.h beside {found.path}")
    program = Path(folder) / "saxpy"
    folder_of_nvrtc = os.path.dirname(os.path.realpath(found.path))
    command = [floor.compiler()[0], "-O3", "-ffp-contract=off", "-std=c++17"]
    command += [EXAMPLE / "saxpy.cpp", f"-I{include}"]
    command += [os.path.realpath(found.path), driver_path(), f"-Wl,-rpath,{folder_of_nvrtc}"]
    subprocess.run([*command, "-o", program], check=True)
    return program


def environment():
    """For processes that need the same driver by its soname."""
    if cupola.driver.info().kind != "cpu":
        return dict(os.environ)
    return {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(driver_path())}


def one(command):
    """Milliseconds: kernel, application, and the rest of the process."""
    start = time.perf_counter()
    done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    whole = (time.perf_counter() - start) * 1e3
    kernel, application = (
        float(re.search(rf"^{name} ([\d.]+) ms$", done.stdout, re.MULTILINE)[1])
        for name in ("kernel", "application")
    )
    return kernel, application, whole - application


def run(rounds=ROUNDS, elements=ELEMENTS):
    """Rows of milliseconds, and ratios to C++ (the median of each round's)."""
    with tempfile.TemporaryDirectory(prefix="cupola-saxpy-") as folder:
        ways = {
            "C++": [build(folder), str(elements)],
            "cupola": [sys.executable, EXAMPLE / "nvrtc_saxpy.py", "--elements", str(elements)],
        }
        times = {name: [] for name in ways}
        for round_ in range(rounds + 1):  # the first one fills the driver's cache
            for name, command in ways.items():
                values = one(command)
                if round_:
                    times[name].append(values)
    rows = []
    for i, what in enumerate(("kernel", "application", "process's start, imports and end")):
        part = {f"{what}, {name}": [v[i] / 1e3 for v in values] for name, values in times.items()}
        rows += records.medians(part, "ms", GOALS)
    return rows


if __name__ == "__main__":
    parser = records.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--elements", type=int, default=ELEMENTS)
    options = parser.parse_args()
    made = run(options.rounds, options.elements)
    records.publish(options.out, __file__, __doc__, made)
