# package/cupola/build/__init__.py - build kernels, libraries and their manifest; nothing is
# imported here, because cupola's own setup.py loads this folder before cupola can be imported.
"""Build support: CUDA toolkits, device images with their manifests, native libraries.

A package ships kernels of its own by a table ``[[tool.cupola.kernels]]`` in its pyproject.toml, or
by ``setup(cuda_kernels=[cupola.build.Kernels(...)])``; docs/how-to/shipping.md describes both.

cupola is built with these modules, too.  They need the standard library, setuptools and modules of
cupola that need the standard library alone, save ``signature``, which reads debug information
through pyelftools (a build requirement).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .error import BuildError
    from .kernels import Kernels

__all__ = ["BuildError", "Kernels"]


def __getattr__(name: str) -> object:
    if name == "Kernels":
        from .kernels import Kernels

        return Kernels
    if name == "BuildError":
        from .error import BuildError

        return BuildError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
