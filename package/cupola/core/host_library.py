# cupola/core/host_library.py - loads a package's shared library of host launchers.
"""Host libraries of packages, as `cupola.build` makes them."""

from __future__ import annotations

import ctypes
import os
import sys

from cupola.exceptions import LibraryError, MissingFileError

# The libraries stay open, so that other libraries find them by their SONAME.
_runtimes: dict[int, ctypes.CDLL] = {}


def load(name: str, cuda: int) -> ctypes.CDLL:
    """The library beside a module, on the driver that cupola has chosen.

    Parameters
    ----------
    name : str
        The module's full name.
    cuda : int
        The major version of the CUDA runtime that the library needs.

    Raises
    ------
    MissingFileError
        Where the library is not beside its module.
    LibraryError
        Where cupola has no runtime of this version, or the library cannot be loaded.
    """
    from cupola import driver

    folder = os.path.dirname(sys.modules[name].__file__ or "")
    path = os.path.join(folder, f"lib{name.rpartition('.')[2]}.so")
    if not os.path.isfile(path):
        package = name.partition(".")[0]
        raise MissingFileError(
            f"there is no {path}: {package} was installed without it; install it again"
        )
    driver.info()  # loads libcuda.so.1, by which name the runtime then finds it
    if cuda not in _runtimes:
        _runtimes[cuda] = _runtime(cuda)
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise LibraryError(f"{name}: {path} cannot be loaded: {error}") from None


def _runtime(cuda: int) -> ctypes.CDLL:
    from cupola import library

    folder = os.path.join(library.FOLDER, "cudart")
    path = os.path.join(folder, f"libcudart.so.{cuda}")
    if not os.path.isfile(path):
        raise LibraryError(
            f"there is no {path}: a host library needs the runtime of the CUDA that built it, and "
            f"this cupola has {', '.join(sorted(os.listdir(folder)))}; build the package again"
        )
    return ctypes.CDLL(path)
