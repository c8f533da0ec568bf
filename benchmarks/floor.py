"""The C++ floor: compiles floor.cpp and calls it."""

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("floor.cpp")
FLAGS = ["-std=c++17", "-O3", "-march=native", "-ffp-contract=off"]
SCALAR = ["-fno-tree-vectorize", "-fno-tree-slp-vectorize"]


def compiler():
    """The C++ compiler and its version, as the results name it."""
    command = os.environ.get("CXX", "g++")
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    return command, version.stdout.splitlines()[0]


def build(extra=()):
    """Compiles floor.cpp with -O3 and `extra` flags; the loaded library."""
    folder = tempfile.mkdtemp(prefix="cupola-floor-")
    library = Path(folder) / "floor.so"
    command, _ = compiler()
    subprocess.run(
        [command, *FLAGS, *extra, "-shared", "-fPIC", str(SOURCE), "-o", str(library)], check=True
    )
    floor = ctypes.CDLL(str(library))
    floor.floor_launch.restype = ctypes.c_double
    floor.floor_launch.argtypes = [ctypes.c_void_p] * 3 + [
        ctypes.c_uint,
        ctypes.c_uint,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_int,
    ]
    floor.floor_graph.restype = ctypes.c_double
    floor.floor_graph.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int]
    floor.floor_mandelbrot.restype = None
    floor.floor_mandelbrot.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_float,
        ctypes.c_int,
    ]
    return floor
