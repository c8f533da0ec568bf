# examples/hello/hello.py - one CUDA library called from Cython, from C and through a C library.
"""Builds hello.cu and its three callers in a folder of its own, and runs them.

Where there is a GPU:

    python hello.py

Without one, the same program and the same sources:

    python -m cupola run hello.py

No file uses cupola.
"""

import ctypes
import importlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
COMMANDS = (
    ["nvcc", "-shared", "-Xcompiler", "-fPIC", "-o", "libhello.so", "hello.cu"],
    ["cc", "call.c", "-o", "call", "-ldl"],
    ["cc", "-shared", "-fPIC", "wrapper.c", "-o", "libwrapper.so", "-ldl"],
    # `cythonize -i call_hello.pyx`, of this very Python
    [sys.executable, "-m", "Cython.Build.Cythonize", "-i", "call_hello.pyx"],
)


def show(way):
    """A heading that comes before what C prints."""
    print(f"-- {way}", flush=True)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in ("hello.cu", "call.c", "wrapper.c", "call_hello.pyx"):
            shutil.copy(HERE / file, folder)
        for command in COMMANDS:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        library = str(folder / "libhello.so")

        show("C program, dlopen")
        subprocess.run([folder / "call", library], check=True)

        show("C library, ctypes")
        wrapper = ctypes.CDLL(str(folder / "libwrapper.so"))
        assert wrapper.say_hello(library.encode()) == 0
        ctypes.CDLL(None).fflush(None)  # a kernel's printf goes to C's standard output

        show("Cython")
        sys.path.insert(0, name)
        assert importlib.import_module("call_hello").say_hello(library) == 0


if __name__ == "__main__":
    main()
