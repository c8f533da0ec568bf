"""Launches and start of a CUDA program: cupola's runtime beside NVIDIA's

python benchmarks/bench_cudart.py [--out FOLDER]

One program, compiled once with the shared runtime. The loader's path decides which runtime it gets.
Without NVIDIA's driver, NVIDIA's runtime does not run and cupola's has no floor.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import records

import cupola
from cupola import library
from cupola.build import toolkit

SOURCE = Path(__file__).with_name("cudart.cu")
ROUNDS = 21
LAUNCHES = "1000"  # fewer than the driver's queue holds, so that none waits for the device


def folder_of_nvidia(found):
    """The folder with NVIDIA's libcudart of the compiler's version."""
    name = f"libcudart.so.{found.version[0]}"
    places = [Path(folder).parent for folder in found.include]
    places += [Path(found.nvcc).parent.parent]
    for place in places:
        for path in [*place.glob(f"lib*/{name}"), *place.glob(f"targets/*/lib/{name}")]:
            return path.parent
    raise SystemExit(f"no {name} beside {found.nvcc}")


def compiled(found, folder):
    """The program, linked to the shared runtime of the compiler's version."""
    target = folder / "cudart"
    runtime = Path(library.FOLDER, "cudart", f"libcudart.so.{found.version[0]}")
    command = [found.nvcc, "-O2", "-cudart=none", "-gencode=arch=compute_75,code=compute_75"]
    command += [f"-I{path}" for path in found.include]
    command += ["-Xlinker", runtime, SOURCE, "-o", target]
    subprocess.run(command, check=True)
    return target


def run():
    """Medians of interleaved rounds, and ratios to NVIDIA's of the same round."""
    found, driver = toolkit.find(), cupola.driver.info()
    folders = {"cupola's runtime": Path(library.FOLDER, "cudart")}
    if driver.kind == "cuda":
        folders = {"NVIDIA's runtime": folder_of_nvidia(found), **folders}
    else:
        folders = {name: f"{path}:{Path(driver.path).parent}" for name, path in folders.items()}
    launches = {f"kernel<<<1, 1>>>(five arguments): {name}": [] for name in folders}
    starts = {f"start of a program to its first result: {name}": [] for name in folders}
    with tempfile.TemporaryDirectory(prefix="cupola-cudart-") as folder:
        program = compiled(found, Path(folder))
        for round_ in range(ROUNDS + 1):
            for name, path in folders.items():
                rest = os.environ.get("LD_LIBRARY_PATH", "")
                environment = {**os.environ, "LD_LIBRARY_PATH": f"{path}:{rest}"}
                begin = time.perf_counter()
                answer = output([program, "first"], environment)
                took = time.perf_counter() - begin
                assert float(answer) == 5, answer
                each = float(output([program, LAUNCHES], environment)) * 1e-9
                if round_:  # the first is for caches
                    starts[f"start of a program to its first result: {name}"].append(took)
                    launches[f"kernel<<<1, 1>>>(five arguments): {name}"].append(each)
    ours = "cupola's runtime"
    return [
        *records.medians(
            launches, "ns", {f"kernel<<<1, 1>>>(five arguments): {ours}": "ratio <= 1.02"}
        ),
        *records.medians(
            starts, "ms", {f"start of a program to its first result: {ours}": "ratio <= 1.00"}
        ),
    ]


def output(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
