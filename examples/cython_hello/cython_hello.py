# examples/cython_hello/cython_hello.py - one C launcher called from Cython, C and ctypes.
"""Builds hello.pyx, the C program and the C library in a folder of its own, and runs all three.

python examples/cython_hello/cython_hello.py
"""

import ctypes
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import cupola  # loads libcupola.so, which the module built below binds to

HERE = pathlib.Path(__file__).parent
LIBRARY = cupola.paths.library()


def build(folder):
    """hello.pyx to a module, the C files to a program and to a library."""
    for name in ("hello.pyx", "launcher.c", "main.c"):
        shutil.copy(HERE / name, folder)
    environment = {
        **os.environ,
        "CPATH": cupola.paths.include(),
        "LIBRARY_PATH": os.path.dirname(LIBRARY),
    }
    cc = os.environ.get("CC", "cc")
    for command in (
        # `cythonize -i hello.pyx`, of this very Python
        [sys.executable, "-m", "Cython.Build.Cythonize", "-i", "hello.pyx"],
        [cc, "-O2", "main.c", "launcher.c", "-o", "hello", "-ldl"],
        [cc, "-O2", "-shared", "-fPIC", "launcher.c", "-o", "liblauncher.so", "-ldl"],
    ):
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}")


def show(way):
    """A heading that comes before what C prints."""
    print(f"-- {way}", flush=True)


def seconds(call, *arguments, count):
    """Of one call: the best of five loops, with standard output led to nowhere."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            call(*arguments)
        best = min(best, (time.perf_counter() - start) / count)
    ctypes.CDLL(None).fflush(None)  # discards text in the buffers of C, too
    os.dup2(kept, 1)
    os.close(kept)
    os.close(nowhere)
    return best


def main():
    with tempfile.TemporaryDirectory() as folder:
        build(folder)

        show("Cython")
        sys.path.insert(0, folder)
        hello = importlib.import_module("hello")
        hello.run_cuda()

        show("C program, dlopen")
        variables = {**os.environ, "CUPOLA_LIBRARY": LIBRARY}
        subprocess.run([f"{folder}/hello"], env=variables, check=True)

        show("C library, ctypes")
        os.environ["CUPOLA_LIBRARY"] = LIBRARY
        launcher = ctypes.CDLL(f"{folder}/liblauncher.so")
        assert launcher.run_cuda() == 0

        library = ctypes.CDLL(LIBRARY)
        library.cupola_hello.argtypes = [ctypes.c_uint, ctypes.c_uint]
        library.cupola_abi_version.argtypes = []
        print("\n| a call by | of a launch that prints, us | that does nothing, ns |")
        print("| --- | ---: | ---: |")
        for name, launch, nothing in (
            ("ctypes", library.cupola_hello, library.cupola_abi_version),
            ("Cython", hello.hello, hello.abi_version),
            ("cupola.hello", cupola.hello, None),
        ):
            took = seconds(launch, 1, 3, count=100) * 1e6
            empty = f"{seconds(nothing, count=100_000) * 1e9:.0f}" if nothing else ""
            print(f"| {name} | {took:.1f} | {empty} |")


if __name__ == "__main__":
    main()
