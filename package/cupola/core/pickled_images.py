# cupola/core/pickled_images.py - images of installed packages, which pickles have by name and hash.
"""Unpickling of images that both processes have in an installed package."""

from __future__ import annotations

import functools
import os
import socket
import sys
from typing import TYPE_CHECKING, Any

from cupola.exceptions import ImageError, MissingFileError

if TYPE_CHECKING:
    from cupola.module import Module

Origin = tuple[str, "str | None"]  # a package and a name in it; a kernel library and None

# Modules stay loaded: else each task of a worker would load its image again.
_loaded: dict[tuple[Any, ...], Module] = {}


@functools.cache
def version_of(package: str) -> str:
    """The version of the distribution that a package belongs to; "" where it is unknown."""
    from importlib import metadata

    top = package.partition(".")[0]
    try:
        return metadata.version(top)
    except metadata.PackageNotFoundError:
        return str(getattr(sys.modules.get(top), "__version__", ""))


def this_process() -> str:
    """The process and its host, for messages."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def take_from_package(
    origin: Origin, digest: str, version: str, device: int, declared: dict[str, str]
) -> Module:
    """The image of this process's own installation of the package.

    Raises
    ------
    MissingFileError
        Where the package or the image is not installed here.
    ImageError
        Where the image differs from the one that was pickled.
    """
    key = origin, digest, device, repr(declared)
    module = _loaded.get(key)
    if module is not None and module.loaded:
        return module
    from cupola.module import digest_of

    package, name = origin
    top = package.partition(".")[0]
    wanted = top + (f" {version}" if version else "")
    what = package if name is None else f"{name} of the package {package}"
    remedy = f"install the same version of {top} in all processes, and start them again"
    try:
        module = _load(origin, device, declared)
    except (ImportError, AttributeError, MissingFileError) as error:
        raise MissingFileError(
            f"{this_process()} does not have the image {what} (of {wanted}): {error}; {remedy}"
        ) from error
    found = digest_of(module)
    if found != digest:
        here = version_of(package) or "an unknown version"
        raise ImageError(
            f"{this_process()} has another image {what}: expected SHA-256 {digest} (of {wanted}), "
            f"got {found} (of {top} {here}); {remedy}"
        )
    _loaded[key] = module
    return module


def _load(origin: Origin, device: int, declared: dict[str, str]) -> Module:
    from importlib import import_module

    from cupola.module import declare_all

    package, name = origin
    if name is None:
        module: Module = import_module(package).load(device)
        declare_all(module, declared)
        return module
    from cupola.core import loader

    return loader.load(name, import_module(package), device=device, signatures=declared)
