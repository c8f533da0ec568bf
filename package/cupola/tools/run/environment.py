# cupola/tools/run/environment.py - environment variables for programs on the CPU device.
"""The variables with which compilers, the loader and Python find cupola's libraries first."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
# nvcc also embeds PTX of the CPU device's compute capability, and links the shared runtime.
NVCC_FLAGS = "-cudart shared -gencode arch=compute_90,code=compute_90"
USUAL_MAJOR = 13  # the major version of the CUDA runtime for a machine without nvcc


def variables(now: Mapping[str, str]) -> dict[str, str]:
    """The variables that differ from `now` for programs on the CPU device.

    Lists of folders keep their entries, behind cupola's. Given its own result, the function returns
    nothing new.

    Parameters
    ----------
    now
        An environment, such as ``os.environ``.
    """
    from cupola import library, paths

    libraries = Path(library.FOLDER)
    runtime = libraries / "cudart"
    compiler = _nvcc(now)
    first = {
        "LD_LIBRARY_PATH": [runtime, Path(paths.cpu_driver()).parent],
        "LIBRARY_PATH": [runtime / "link" / str(_major(compiler)), runtime],
        "PYTHONPATH": [HERE / "site"],
    }
    values = {"CUPOLA_DRIVER": "cpu", "CUPOLA_RUN_PYTHON": sys.executable}
    if nvrtc := _nvrtc(now):
        values["CUPOLA_RUN_NVRTC"] = nvrtc
        first["LD_LIBRARY_PATH"].insert(0, _nvrtc_front(nvrtc, libraries / "run"))
    if compiler:
        values["CUPOLA_RUN_NVCC"] = compiler
        values["NVCC_APPEND_FLAGS"] = _add_flags(now.get("NVCC_APPEND_FLAGS", ""))
        first["PATH"] = [HERE / "bin"]
    for name, folders in first.items():
        values[name] = _prepend(folders, now.get(name, ""))
    return {name: value for name, value in values.items() if now.get(name) != value}


def keeping_ptx(now: Mapping[str, str]) -> dict[str, str]:
    """The variables with which NVRTC's PTX is kept for `cupola record` of a program on a GPU.

    Parameters
    ----------
    now
        An environment, such as ``os.environ``.
    """
    from cupola import library

    nvrtc = _nvrtc(now)
    if nvrtc is None:
        return {}
    front = _nvrtc_front(nvrtc, Path(library.FOLDER) / "run")
    return {
        "CUPOLA_RECORD_NVRTC": nvrtc,
        "LD_LIBRARY_PATH": _prepend([front], now.get("LD_LIBRARY_PATH", "")),
        "PYTHONPATH": _prepend([HERE / "site"], now.get("PYTHONPATH", "")),
    }


def _prepend(folders: list[Path], rest: str) -> str:
    """A list of folders that begins with these."""
    ours = [os.fspath(folder) for folder in folders]
    others = [part for part in rest.split(os.pathsep) if part and part not in ours]
    return os.pathsep.join([*ours, *others])


def _add_flags(given: str) -> str:
    return given if NVCC_FLAGS in given else f"{given} {NVCC_FLAGS}".strip()


def _nvcc(now: Mapping[str, str]) -> str | None:
    """NVIDIA's compiler; the front's own variable names it inside an environment made here."""
    path = os.pathsep.join(
        part
        for part in now.get("PATH", os.defpath).split(os.pathsep)
        if os.path.abspath(part) != os.fspath(HERE / "bin")
    )
    return shutil.which("nvcc", path=path) or now.get("CUPOLA_RUN_NVCC")


def _major(compiler: str | None) -> int:
    """The version of the CUDA runtime that programs of this compiler ask for."""
    if compiler:
        done = subprocess.run([compiler, "--version"], capture_output=True, text=True)
        if found := re.search(r"release (\d+)\.", done.stdout):
            return int(found[1])
    return USUAL_MAJOR


def _nvrtc(now: Mapping[str, str]) -> str | None:
    """NVIDIA's library, found as programs find it; inside an environment made here, that one's."""
    from cupola.exceptions import MissingFileError
    from cupola.toolkit import libraries

    if known := now.get("CUPOLA_RUN_NVRTC"):
        return known
    try:
        return libraries.load("nvrtc").path
    except MissingFileError:
        return None


def _nvrtc_front(found: str, folder: Path) -> Path:
    """The folder with cupola's library of the version that the machine has."""
    name = os.path.basename(os.path.realpath(found))  # libnvrtc.so.13.0.88
    made = folder / name.split(".so.")[-1].partition(".")[0]
    if not made.is_dir():
        known = ", ".join(sorted(path.name for path in folder.iterdir()))
        print(
            f"cupola: {found} is none of the versions that cupola replaces ({known}). A program "
            "that asks NVRTC for a cubin gets machine code alone, which the CPU device refuses.",
            file=sys.stderr,
        )
    return made
