# cupola/core/linking.py - cupola.link: kernels of packages with functions that their users define.
"""Links of fragments at run time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cupola.core.kernel_library import KernelLibrary
from cupola.exceptions import ArgumentTypeError
from cupola.image.manifest import Manifest

__all__ = ["link"]

if TYPE_CHECKING:
    from cupola.compiler.fragments import LinkedImage
    from cupola.compiler.request import Source
    from cupola.device import Device
    from cupola.module import Module

_EXPECTED = (
    "a fragment is a module of kernels (from heat import kernels), a source (a path or text), or "
    "an image (a path or bytes)"
)


@dataclass
class _Library:
    """An image to link, with its manifest, and the names of its kernels in the package."""

    image: LinkedImage
    manifest: Manifest | None = None
    names: Mapping[str, str] = field(default_factory=dict)  # the module's attributes


def link(
    fragments: Sequence[ModuleType | str | os.PathLike[str] | bytes],
    *,
    lto: bool = True,
    options: Sequence[str] = (),
    include: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    name_expressions: Iterable[str] = (),
    headers: Mapping[str, str] | None = None,
    arch: str | None = None,
    cache: bool = True,
    device: Device | int | None = None,
) -> Module:
    """Link kernels of packages with functions that the user defines, and load the result.

    Parameters
    ----------
    fragments : sequence
        Each is a module of a package's kernels, built with ``lto = true``, or a source, as
        `cupola.compile` takes it, or an image. An image is the path or the bytes of a fatbin, PTX
        or LTO-IR. For a GPU it can be a cubin, an object or an archive of relocatable code, too.
    lto : bool
        For a GPU: whether nvJitLink optimises across the fragments, which inlines functions into
        the kernels. It needs LTO-IR of each module. If false, PTX and machine code are linked, and
        calls stay calls. The CPU device always links PTX.
    options, include, name_expressions, headers
        As for `cupola.compile`, for the sources.
    arch : str, optional
        ``"sm_90"``: the architecture to link for. By default the device's.
    cache : bool
        Whether to use the disk cache (`cupola.cache`).
    device : Device or int, optional
        The device to link for and load on; by default the current one.

    Returns
    -------
    Module
        All kernels of the fragments. Those of a package have the names and types of its manifest,
        and are also found by the names that they have in the package's module.

    Raises
    ------
    CompileError
        A source does not compile, a function is missing, is defined twice or has other parameters,
        or a fragment has no code for the device.
    NotFoundError
        Also a FileNotFoundError: NVRTC, nvJitLink, or a file was not found.
    ArgumentTypeError
        A fragment is something else.
    """
    from cupola import compiler
    from cupola.compiler import fragments as inputs
    from cupola.device import Device, is_cpu
    from cupola.module import Module

    where = device if isinstance(device, Device) else Device(device)
    cpu = is_cpu(where.index)
    sources, libraries = _separated(fragments)
    request, compiled_by = inputs.request_of(
        sources,
        [one.image for one in libraries],
        where,
        cpu=cpu,
        lto=lto,
        options=options,
        include=include,
        name_expressions=name_expressions,
        headers=headers,
        arch=arch,
    )
    built = compiler.build(request, compiled_by, cache)
    title = ", ".join([*(one.image.title for one in libraries), *(one.title for one in sources)])
    names = {name: exact for one in reversed(libraries) for name, exact in one.names.items()}
    texts = [] if cpu else [built.ptx, *(one.image.ptx for one in libraries)]
    return Module(
        built.image,
        title,
        _manifest([one.manifest for one in libraries if one.manifest is not None], title),
        where,
        names={**names, **built.names},
        ptx="\n".join(filter(None, texts)),
        log=built.log,
        types=built.types,
    )


def _separated(fragments: Any) -> tuple[list[Source], list[_Library]]:
    """The sources and the images of the fragments."""
    from cupola.compiler import source_files

    if isinstance(fragments, (str, bytes)) or not isinstance(fragments, Sequence):
        raise ArgumentTypeError(
            f"link takes a list of fragments, as in [kernels, 'less.cu'], got {fragments!r}"
        )
    if not fragments:
        raise ArgumentTypeError(f"link takes at least one fragment: {_EXPECTED}")
    sources: list[Source] = []
    libraries: list[_Library] = []
    for place, one in enumerate(fragments):
        library = vars(one).get("_library") if isinstance(one, ModuleType) else one
        if isinstance(library, KernelLibrary):
            image, manifest, _ = library.found()
            content = image if isinstance(image, bytes) else image.read()
            libraries.append(_library(library.name, content, manifest, library.kernels))
        elif isinstance(one, (bytes, bytearray, memoryview)):
            libraries.append(_library(f"fragments[{place}]", bytes(one)))
        elif isinstance(one, (str, os.PathLike)):
            path = os.fspath(one)
            if isinstance(path, str) and source_files.is_image(path):
                libraries.append(_of_file(path))
            else:
                usual = f"fragment.{place}.cu"
                sources.append(source_files.source_of(one, None, usual))
        else:
            raise ArgumentTypeError(f"fragments[{place}] is {_what(one)}; {_EXPECTED}")
    return sources, libraries


def _what(one: Any) -> str:
    if isinstance(one, ModuleType):
        return f"the module {one.__name__}, which is no library of kernels"
    if type(one).__name__ == "Module":
        return "a loaded cupola.Module, which is linked already: give its source"
    return f"of the type {type(one).__name__}"


def _of_file(path: str) -> _Library:
    from pathlib import Path

    from cupola.compiler import arguments
    from cupola.image import manifest as manifests

    ((title, content),) = arguments.objects_of([Path(path)])
    manifest = manifests.beside(path, content) if path.endswith((".fatbin", ".ptx")) else None
    return _library(title, content, manifest)


def _library(
    title: str,
    content: bytes,
    manifest: Manifest | None = None,
    names: Mapping[str, str] | None = None,
) -> _Library:
    from cupola.compiler.fragments import LinkedImage

    image = LinkedImage(title, content)
    if manifest is not None:
        image = LinkedImage(title, content, manifest.open, str(manifest.head.get("toolkit", "")))
    return _Library(image, manifest, names or {})


def _manifest(found: Sequence[Manifest], title: str) -> Manifest | None:
    """One manifest of several, for the linked image."""
    if len(found) < 2:
        return found[0] if found else None
    variables = {
        name: one for each in found for name, one in each.head.get("variables", {}).items()
    }
    kernels = {name: each.about(name) for each in found for name in each}
    head = {"format": 1, "variables": variables, "kernels": list(kernels.values())}
    return Manifest(json.dumps(head).encode(), title)
