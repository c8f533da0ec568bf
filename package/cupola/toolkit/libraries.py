# cupola/toolkit/libraries.py - finds a toolkit's libraries, and their headers.
"""NVRTC, nvJitLink, cuBLAS, cuFFT and NCCL, found at first use."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cupola.exceptions import Error, MissingFileError

VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
WHAT_FOR = {
    "nvrtc": "NVRTC, which compiles CUDA C++",
    "nvJitLink": "nvJitLink, which links compiled code",
    "cublas": "cuBLAS, which multiplies matrices",
    "cufft": "cuFFT, which computes Fourier transforms",
    "nccl": "NCCL, which communicates between GPUs",
}
# The wheel of each library for CUDA 13; for NCCL, the extra that has the wheel.
WHEELS = {"cublas": "nvidia-cublas", "cufft": "nvidia-cufft", "nccl": "'cupola[nccl]'"}
_TOOLKIT = "install a CUDA toolkit (12.4 or newer) and set CUDA_HOME to its folder"
_OTHERWISE = {"nccl": "put the folder of a libnccl.so.2 into LD_LIBRARY_PATH"}


@dataclass(frozen=True)
class Library:
    """A library of a toolkit, loaded.

    Attributes
    ----------
    path : str
    origin : str
        Where it was found: cuda-pathfinder's term, or a variable's name.
    library : ctypes.CDLL
        Its calls release the GIL.
    """

    path: str
    origin: str
    library: ctypes.CDLL

    def calls(
        self, prototypes: Mapping[str, list[Any]], oldest: str
    ) -> dict[str, Callable[..., int]]:
        """The library's functions of these names and argument types. Each returns a status."""
        found = {}
        for name, arguments in prototypes.items():
            # A function by its index is the caller's own: threads would race for the types of a
            # shared one.
            try:
                call = self.library[name]
            except AttributeError:
                raise Error(f"{self.path} has no {name}: it is older than {oldest}") from None
            call.argtypes, call.restype = arguments, ctypes.c_int
            found[name] = call
        return found

    @property
    def identity(self) -> str:
        """A text for cache keys, which differs for every compiler."""
        real = os.path.realpath(self.path)
        there = os.stat(real)
        return f"{os.path.basename(real)} {there.st_size} {there.st_mtime_ns}"

    def headers(self) -> tuple[str, ...]:
        """Folders of its headers: CUDA's and CCCL's."""
        folder = os.path.dirname(self.path)
        roots = [os.path.dirname(folder), os.path.dirname(os.path.realpath(folder))]
        for root in roots:
            include = os.path.join(root, "include")
            if os.path.isfile(os.path.join(include, "cuda_fp16.h")):
                return _with_cccl(include)
        from cuda import pathfinder

        include = pathfinder.find_nvidia_header_directory("cudart") or ""
        return _with_cccl(include) if include else ()


def _with_cccl(include: str) -> tuple[str, ...]:
    cccl = os.path.join(include, "cccl")
    return (include, cccl) if os.path.isdir(cccl) else (include,)


_lock = threading.Lock()


def load(name: str) -> Library:
    """Find and load a library by its name in `WHAT_FOR`.

    Raises
    ------
    MissingFileError
        Where it is not found; names each searched place, and both remedies.
    """
    with _lock:
        return _load(name)


@functools.cache
def _load(name: str) -> Library:
    tried = []
    for place, found in _places(name):
        if isinstance(found, Library):
            return found
        tried.append(f"  {place}: {found}")
    wheels = WHEELS.get(name, "'cupola[compile]'")
    raise MissingFileError(
        f"{WHAT_FOR[name]} at run time, was not found:\n"
        + "\n".join(tried)
        + f"\nEither install its wheels: pip install {wheels},\nor "
        + _OTHERWISE.get(name, _TOOLKIT)
    )


def report(name: str) -> str:
    """A line of text: where the library was found, or that it was not found."""
    try:
        found = load(name)
    except MissingFileError as error:
        return f"not found: {str(error).splitlines()[1].strip()}"
    return f"{found.path} (found via {found.origin})"


def _places(name: str) -> Iterator[tuple[str, Library | str]]:
    yield "cuda-pathfinder", _by_pathfinder(name)
    for variable in VARIABLES:
        folder = os.environ.get(variable)
        yield variable, _in_toolkit(name, folder, variable) if folder else "not set"
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        yield "PATH", "no nvcc on it"
    else:
        folder = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
        yield f"PATH ({nvcc})", _in_toolkit(name, folder, "PATH")


def _by_pathfinder(name: str) -> Library | str:
    from cuda import pathfinder

    try:
        found = pathfinder.load_nvidia_dynamic_lib(name)
    except (pathfinder.DynamicLibNotFoundError, RuntimeError) as error:
        return " ".join(str(error).split())
    return _open(found.abs_path, f"cuda-pathfinder ({found.found_via})")


def _in_toolkit(name: str, folder: str, origin: str) -> Library | str:
    pattern = re.compile(rf"lib{name}\.so\.\d+")
    # NVIDIA's names of systems; "sbsa" are servers with aarch64, and Jetson Thor.
    machine = os.uname().machine
    systems = ("sbsa-linux", "aarch64-linux") if machine == "aarch64" else (f"{machine}-linux",)
    for sub in ("lib64", "lib", *(f"targets/{system}/lib" for system in systems)):
        place = os.path.join(folder, sub)
        try:
            names = sorted(filter(pattern.fullmatch, os.listdir(place)))
        except OSError:
            continue
        if names:
            return _open(os.path.join(place, names[-1]), origin)
    return f"there is no lib{name}.so.* in {folder}"


def _open(path: str, origin: str) -> Library | str:
    try:
        return Library(path, origin, ctypes.CDLL(path))
    except OSError as error:
        return f"{path} can't be loaded: {error}"
