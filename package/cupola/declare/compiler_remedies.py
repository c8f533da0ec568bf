# cupola/declare/compiler_remedies.py - remedies for errors whose text does not name one.
"""Remedies by the text of a CUDA compiler's error.

The standard library alone is imported, because `cupola.build` uses this module as well.
"""

from __future__ import annotations

import re

# Patterns of compilers' errors, and the remedy for each.
_REMEDIES = (
    (
        r"\btexture is not a template\b|\bno template named 'texture'",
        "CUDA 12 removed texture references, texture<T, axes>: add a kernel parameter of type "
        "cudaTextureObject_t, read it by tex1Dfetch<T>, tex1D<T>, tex2D<T> or tex3D<T>, and pass a "
        "cupola.Texture",
    ),
    (
        r"\bsurface is not a template\b|\bno template named 'surface'",
        "CUDA 12 removed surface references, surface<void, axes>: add a kernel parameter of type "
        "cudaSurfaceObject_t, and pass a cupola.Surface",
    ),
)


def remedies(log: str) -> list[str]:
    """The remedies for the errors in a compiler's output; most errors have none here."""
    return [remedy for pattern, remedy in _REMEDIES if re.search(pattern, log)]


def with_remedies(log: str) -> str:
    """A compiler's output, with the remedies after it."""
    return "\n\n".join([log, *remedies(log)])
