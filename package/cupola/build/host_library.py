# package/cupola/build/host_library.py - the steps that make a shared library of host launchers.
"""A host library: CUDA sources with ``<<<>>>`` as a shared library, and the module that loads it.

The library needs ``libcudart.so`` of the compiler's CUDA version. The module loads cupola's, which
runs on the driver that cupola has chosen, so the library needs no GPU. Extension modules of the
project link the library where their ``libraries`` name it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from . import image, older_drivers
from .architectures import Architectures
from .kernels import Kernels
from .nvcc import compile_source
from .step import Step
from .toolkit import Toolkit

_CUDART = Path(__file__).resolve().parents[1] / "lib" / "cudart"
_MODULE = '''\
{mark}{sources}: the next build writes it anew.
"""Functions of these sources that are extern "C": ``{name}.library.function(...)``, by ctypes.

Import this module before an extension module that links the library.
"""

import ctypes as _ctypes

from cupola.core.host_library import load as _load

library: _ctypes.CDLL = _load(__name__, {major})
'''


def steps(
    kernels: Kernels, toolkit: Toolkit, architectures: Architectures, root: Path, work: Path
) -> list[Step]:
    """Steps that make the shared library in the folder ``work``; its module is not among them."""
    code = image.code_options(kernels.options, kernels.include)
    device = [*architectures.options(), f"-rdc={'true' if kernels.links else 'false'}"]
    # Drivers before CUDA 12.4 read no code that nvcc compressed by zstd.
    code += [*device, "-no-compress", "-cudart=shared", "-Xcompiler=-fPIC", "-c"]
    objects, compiled = [], []
    for source in map(Path, kernels.sources):
        target = work / "objects" / "-".join(source.with_suffix(".o").parts)
        made, label = image.as_compiled(target), f"{kernels.library}: compile {source}"
        compiled.append(compile_source(toolkit, source, made, code, label=label))
        compiled.append(older_drivers.step(made, target, root, f"{kernels.library}: {source}"))
        objects.append(target)
    target = work / file_name(kernels)
    folders = (_CUDART / "link" / str(toolkit.version[0]), _CUDART)
    # Local symbols have the names of nvcc's temporary files, which contain its process number.
    link = ["-shared", *device, "-cudart=shared", "-Xlinker=-z,defs", "-Xlinker=--discard-all"]
    link.append("-Xlinker=-soname")
    link += [f"-Xlinker={target.name}", "-o", str(target), *map(str, objects)]
    linked = Step(
        target=target,
        inputs=tuple(objects),
        command=(str(toolkit.nvcc), *(f"-L{folder}" for folder in folders), *link),
        key=("host library", toolkit.release, *link),
        label=f"link {target.name}",
    )
    return [*compiled, linked]


def module_text(kernels: Kernels, toolkit: Toolkit, mark: str) -> str:
    """The text of the module that loads the library."""
    return _MODULE.format(
        mark=mark,
        sources=", ".join(kernels.sources),
        name=kernels.name,
        major=toolkit.version[0],
    )


def file_name(kernels: Kernels) -> str:
    """The file beside the module, for ``-l`` and the module's name."""
    return f"lib{kernels.name}.so"


def is_module(path: Path) -> bool:
    """Whether a module that a build made loads a host library."""
    return "from cupola.core.host_library import" in path.read_text(errors="replace")


def link_extensions(extensions: Iterable[Any], made: Iterable[tuple[Kernels, Path]]) -> bool:
    """Let extension modules whose ``libraries`` name a host library find it, in the build and at
    run time; whether there is one.
    """
    found = False
    for kernels, folder in made:
        for extension, package in _users(extensions, kernels.name):
            up = os.path.relpath("/".join(kernels.package.split(".")), "/".join(package) or ".")
            extension.library_dirs = [str(folder), *(extension.library_dirs or ())]
            extension.runtime_library_dirs = [
                os.path.normpath(f"$ORIGIN/{up}"), *(extension.runtime_library_dirs or ())
            ]  # fmt: skip
            found = True
    return found


def _users(extensions: Iterable[Any], name: str) -> Iterator[tuple[Any, list[str]]]:
    for extension in extensions:
        if name in (extension.libraries or ()):
            yield extension, extension.name.split(".")[:-1]
