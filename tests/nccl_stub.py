"""tests/nccl_stub.py - makes cupola.nccl use the library of nccl_stub.c, on the CPU device."""

import ctypes
import os
import subprocess
from pathlib import Path

from cupola.nccl import library
from cupola.toolkit import libraries

SOURCE = Path(__file__).with_suffix(".c")


def build(folder):
    """The library's path. The constants in it are compared with NCCL's header, if it is there."""
    path = folder / "libnccl.so.2"
    include = [f"-I{folder}" for folder in libraries.load("nvrtc").headers()]
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-Wall", "-Werror", *include]
    subprocess.run([*command, "-fsyntax-only", "-DCONSTANTS", SOURCE], check=True)
    subprocess.run([*command, "-o", path, SOURCE], check=True)
    return path


def load(path):
    """cupola's object for the library."""
    return library.Nccl(libraries.Library(str(path), "the test", ctypes.CDLL(str(path))))


def use(path, change=setattr):
    """Let cupola.nccl take it, and the CPU device for a GPU."""
    made = load(path)
    change(library, "_installed", lambda: made)
    change(library, "is_cpu", lambda device: False)
    return made
