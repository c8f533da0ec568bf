# cupola/paths.py - finds and explains the paths of cupola's and the machine's files.
"""Paths of the library, the headers, the CPU device, and a CUDA toolkit."""

from __future__ import annotations

import os

from cupola import library as _library

__all__ = ["cmake_dir", "cpu_driver", "cpu_library", "get_include", "include", "library", "report"]

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def library() -> str:
    """Path of the libcupola.so in use, to load with ctypes or dlopen or to link."""
    return _library.path()


def include() -> str:
    """Folder of the C and C++ headers: ``#include <cupola/cupola.h>``."""
    return os.path.join(_PACKAGE, "include")


def cpu_driver() -> str:
    """Path of the CPU device, a ``libcuda.so.1``; its folder can go into LD_LIBRARY_PATH.

    It leads to `cpu_library`, which has the code.
    """
    return os.path.join(_cpu_folder(), "libcuda.so.1")


def cpu_library() -> str:
    """Path of the CPU device under the name that only cupola asks for: ``Device("cpu")``."""
    return os.path.join(_cpu_folder(), "libcupola_cpu.so.1")


def _cpu_folder() -> str:
    # The loaded library searches for the CPU device beside itself.
    return os.path.join(os.path.dirname(os.path.realpath(library())), "cpu")


def cmake_dir() -> str:
    """Folder of the CMake config, ``-Dcupola_DIR=...``, and of ``cupola.pc`` for pkg-config."""
    return os.path.join(_PACKAGE, "cmake")


def get_include() -> str:
    """Folder of the C and C++ headers: ``#include <cupola/cupola.h>``."""
    return include()


def report() -> str:
    """Each searched place for each part, with the reason why it was chosen or rejected.

    Returns
    -------
    str
        Several lines. The call loads the driver.
    """
    return "\n".join([*_library_lines(), *_driver_lines(), *_cpu_device_lines(), *_toolkit_lines()])


def _library_lines() -> list[str]:
    asked = os.environ.get("CUPOLA_LIBRARY")
    lines = [f"library: CUPOLA_LIBRARY is {asked or 'not set'}"]
    if asked:
        lines.append(f"  {library()}: taken (CUPOLA_LIBRARY names it)")
        lines.append(f"  {_library.PACKAGED}: passed over for that one")
    else:
        lines.append(f"  {library()}: taken (the packaged one)")
    lines.append(f"headers: {include()}")
    return lines


def _driver_lines() -> list[str]:
    from cupola import driver
    from cupola.exceptions import DriverError

    try:
        driver.info()
    except DriverError as error:
        found = driver.report()
        return (found or str(error)).rstrip().splitlines()
    return driver.report().rstrip().splitlines()


def _cpu_device_lines() -> list[str]:
    there = "" if os.path.isfile(cpu_library()) else ": missing"
    return [f'CPU device, which cupola.Device("cpu") loads: {cpu_library()}{there}']


def _toolkit_lines() -> list[str]:
    """Lines for the toolkit, which is needed only to compile, not to run kernels."""
    from cupola.toolkit import libraries

    lines = ["toolkit (no kernel that is compiled already needs one):"]
    taken = _add_wheel_line(lines)
    for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"):
        folder = os.environ.get(name)
        if folder:
            taken = _judge(lines, f"{name}={folder}", os.path.join(folder, "bin", "nvcc"), taken)
        else:
            lines.append(f"  {name} is not set")
    on_path = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for folder in on_path:
        nvcc = os.path.join(folder, "nvcc")
        if os.path.isfile(nvcc):
            taken = _judge(lines, f"{folder} of PATH", nvcc, taken)
            break
    else:
        lines.append("  PATH: no folder of it has nvcc")
    if not taken:
        lines.append("  no nvcc was found")
    lines.append(f"NVRTC: {libraries.report('nvrtc')}")
    lines.append(f"cuBLAS, for products of matrices on a GPU: {libraries.report('cublas')}")
    lines.append(f"cuFFT, for cupola.fft on a GPU: {libraries.report('cufft')}")
    lines.append(f"NCCL, for cupola.nccl on GPUs: {libraries.report('nccl')}")
    return lines


def _judge(lines: list[str], place: str, nvcc: str, taken: bool) -> bool:
    if not os.path.isfile(nvcc):
        lines.append(f"  {place}: passed over: there is no {nvcc}")
        return taken
    lines.append(f"  {place}: {'passed over for the one above' if taken else 'taken'} ({nvcc})")
    return True


def _add_wheel_line(lines: list[str]) -> bool:
    # cuda-pathfinder is not used: it ignores environments that are on sys.path but not in site.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution("nvidia-cuda-nvcc")
    except PackageNotFoundError:
        lines.append("  wheel nvidia-cuda-nvcc: not installed")
        return False
    for file in found.files or ():
        if file.name == "nvcc":
            place = f"wheel nvidia-cuda-nvcc {found.version}"
            return _judge(lines, place, str(found.locate_file(file)), False)
    lines.append(f"  wheel nvidia-cuda-nvcc {found.version}: passed over: it has no nvcc")
    return False


def __dir__() -> list[str]:
    return sorted(__all__)
