"""The floors: C++ that calls the driver, and Python callables that do nothing else."""

import ctypes
import os
import subprocess
import sysconfig
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("floor.cpp")
BARE = Path(__file__).with_name("bare.cpp")
FLAGS = ["-std=c++17", "-O3", "-march=native", "-ffp-contract=off"]


def compiler():
    """The C++ compiler and its version, as the results name it."""
    command = os.environ.get("CXX", "g++")
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    return command, version.stdout.splitlines()[0]


def compiled(source, extra=()):
    """The path of a library of `source`, made with -O3 and `extra` flags."""
    folder = tempfile.mkdtemp(prefix="cupola-floor-")
    library = str(Path(folder) / source.with_suffix(".so").name)
    command, _ = compiler()
    subprocess.run(
        [command, *FLAGS, *extra, "-shared", "-fPIC", str(source), "-o", library], check=True
    )
    return library


def bare():
    """bare.cpp: Python callables that do a driver call and nothing else."""
    library = ctypes.PyDLL(compiled(BARE, [f"-I{sysconfig.get_path('include')}"]))
    pointer = ctypes.c_void_p
    library.bare_launch.restype = library.bare_graph.restype = ctypes.py_object
    library.bare_launch.argtypes = [pointer] * 3 + [ctypes.c_uint] * 2 + [ctypes.POINTER(pointer)]
    library.bare_graph.argtypes = [pointer] * 3
    return library


def build():
    """floor.cpp, made with -O3, loaded."""
    floor = ctypes.CDLL(compiled(SOURCE))
    floor.floor_launch.restype = ctypes.c_double
    floor.floor_launch.argtypes = [ctypes.c_void_p] * 3 + [
        ctypes.c_uint,
        ctypes.c_uint,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_int,
    ]
    floor.floor_graph.restype = ctypes.c_double
    floor.floor_graph.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int]
    return floor
