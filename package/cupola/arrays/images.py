# cupola/arrays/images.py - the kernels of algorithms, each image loaded at its first use.
"""Kernels of the images in the folder ``lib/algorithms``."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from cupola import library
from cupola.exceptions import ImageError, MissingFileError

if TYPE_CHECKING:
    from cupola.kernel import Kernel
    from cupola.module import Module

_FOLDER = os.path.join(library.FOLDER, "algorithms")
_lock = threading.Lock()
_modules: dict[tuple[str, int], Module] = {}
_kernels: dict[tuple[str, int], Kernel] = {}


def kernel(image: str, name: str, device: int) -> Kernel:
    """A kernel by its name in ``csrc/kernels/algorithms/<image>.cu``.

    Parameters
    ----------
    image, name : str
    device : int
        The first use on a device loads the image there.

    Raises
    ------
    NotFoundError
        Where the installation has no such file, or the image no such kernel.
    """
    key = name, device
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = _module(image, device)[name]
    return found


def _module(image: str, device: int) -> Module:
    key = image, device
    with _lock:
        if key not in _modules:
            _modules[key] = _load(image, device)
        return _modules[key]


def _load(image: str, device: int) -> Module:
    from cupola.device import is_cpu
    from cupola.module import Module

    place = os.path.join(_FOLDER, image)
    if is_cpu(device):
        from cupola.core.loader import register_cpu_code

        register_cpu_code(f"{place}.packed")
    elif code := _read(f"{image}.fatbin"):
        entries = _read(f"{image}.entries").decode()
        try:
            return Module(code, f"{place}.fatbin", None, device, ptx=entries, prints=False)
        except ImageError:
            pass  # no machine code for this device: the driver compiles the PTX
    return Module(_read(f"{image}.packed"), f"{place}.packed", None, device, prints=False)


def _read(name: str) -> bytes:
    path = os.path.join(_FOLDER, name)
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise MissingFileError(
            f"there is no image {path}: cupola was installed without its algorithms; install it "
            "again"
        ) from None
