# package/cupola/build/compilers/__init__.py - the compilers of kernels written in Python.
"""Compilers of kernels that are written in Python, one module each.

A build runs ``python -m cupola.build.compilers.compile`` for each target. That process imports the
compiler and the sources. The build itself imports neither.

A compiler's module, named in `cupola.build.instances`, has three functions:

- ``version()``: a text as in ``"3.9.0"``;
- ``compile_kernel(function, instance, architecture)``: PTX and a description, for a function of a
  source, a table ``[[tool.cupola.kernels.instances]]``, and an architecture such as 90;
- ``assemble(text, instances, architecture)``: machine code of the joined PTX of all instances, as
  the compiler itself makes it.
"""

from __future__ import annotations

import re

from ...image.reader import read_kernels


class SourceError(Exception):
    """A source or an instance that a compiler refuses."""


def parameter_count(text: str, entry: str) -> int:
    """The number of parameters of a kernel of PTX."""
    for kernel in read_kernels(text.encode()):
        if kernel.name == entry and kernel.parameters is not None:
            return len(kernel.parameters)
    raise SourceError(f"its PTX has no kernel {entry} whose parameters can be read")


def renamed(text: str, old: str, new: str) -> str:
    """The PTX with another name of a kernel and of its parameters."""
    return re.sub(rf"(?<![\w$%.]){re.escape(old)}(?=(_param_\d+)?(?![\w$]))", new, text)
