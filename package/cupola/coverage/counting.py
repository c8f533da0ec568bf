# cupola/coverage/counting.py - switches the counters of the CPU device.
"""Starts and stops counting, by the exports of the CPU device's library."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from cupola import paths
from cupola.exceptions import Error

VARIABLE = "CUPOLA_CPU_COVERAGE"
CONTEXT = "CUPOLA_CPU_COVERAGE_CONTEXT"
DEFAULT = ".cupola-coverage"


def start(file: str | os.PathLike[str] | None = None) -> Path:
    """Count the kernels of modules that are loaded from now on.

    Processes that this one starts count into the same file. Counts are added to those that the file
    has. A module that is loaded already has no counters.

    Parameters
    ----------
    file : path, optional
        The file that receives the counts, by default ``.cupola-coverage`` in the current folder.

    Returns
    -------
    Path
        The file, as an absolute path.

    Raises
    ------
    cupola.Error
        The file cannot be written, or is no coverage file.

    Notes
    -----
    Only the CPU device counts. Kernels on a GPU leave no counts.
    """
    path = Path(DEFAULT if file is None else file).absolute()
    os.environ[VARIABLE] = str(path)
    _call("start", os.fsencode(path))
    return path


def stop() -> None:
    """Write the counts so far, and count no more.

    Wait for the kernels first (``stream.synchronize()``): launches that still run are not in the
    counts. Does nothing where nothing is counted.

    Raises
    ------
    cupola.Error
        The file cannot be written.
    """
    os.environ.pop(VARIABLE, None)
    os.environ.pop(CONTEXT, None)
    _call("stop")


def write() -> None:
    """Write the counts of launches that have ended; counting continues.

    The process does the same at its end.

    Raises
    ------
    cupola.Error
        The file cannot be written.
    """
    _call("write")


def switch_context(name: str) -> None:
    """Let launches from now on count for a context, such as the name of a test.

    A launch counts for the context in which it was made, also where it runs later. Processes that
    this one starts begin with the context that it has then; else the first context is "".
    """
    os.environ["CUPOLA_CPU_COVERAGE_CONTEXT"] = name
    _call("context", name.encode())


def _call(what: str, *arguments: bytes) -> None:
    """Call an export, if the library is loaded. Else it will read the environment."""
    library = _loaded()
    if library is None:
        return
    function = library[f"cupola_cpu_coverage_{what}"]
    function.restype = ctypes.c_char_p
    reason = function(*arguments)
    if reason:
        raise Error(os.fsdecode(reason))


def _loaded() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(paths.cpu_library(), mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        return None
