# cupola/declare/compiler_remedies.py - remedies for errors whose text does not name one.
"""Remedies by the text of a CUDA compiler's error.

The standard library alone is imported, because `cupola.build` uses this module as well.
"""

from __future__ import annotations

import re

# Patterns of compilers' errors, and the remedy for each; {0} is the name that a pattern finds.
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
    (
        r"may not have extern \"C\" linkage",
        'SourceModule puts a source without #include lines of libraries into extern "C", which '
        'templates do not allow: pass no_extern_c=True, and write extern "C" before the kernels',
    ),
    (
        r"cannot open source file \"([^\"]+)\"|fatal error: (\S+): No such file or directory",
        "no searched folder has the header {0}: correct its name, or name its folder in include= "
        "of cupola.compile, include_dirs= of SourceModule, -I of the command, or include of the "
        "package's table",
    ),
)


def remedies(log: str) -> list[str]:
    """The remedies for the errors in a compiler's output; most errors have none here."""
    found = [(re.search(pattern, log), remedy) for pattern, remedy in _REMEDIES]
    return [
        remedy.replace("{0}", next(filter(None, match.groups()), ""))
        for match, remedy in found
        if match
    ]


def with_remedies(log: str) -> str:
    """A compiler's output, with the remedies after it."""
    return "\n\n".join([log, *remedies(log)])
