# cupola/compiler/__init__.py - cupola.compile: CUDA C++ to a loaded module, by NVRTC and the cache.
"""Compiling at run time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cupola import cache as _cache
from cupola.compiler import kept_ptx
from cupola.compiler.arguments import asked_architecture, options_of, request_of, target_of
from cupola.compiler.front_end import FrontEnd
from cupola.compiler.lines import DEBUG, with_lines
from cupola.compiler.link import link as link_sources
from cupola.compiler.parameter_types import kernel_types
from cupola.compiler.request import Built, Request, Target
from cupola.exceptions import ArgumentValueError, CompileError, ImageError
from cupola.toolkit.nvrtc import nvrtc
from cupola.toolkit.program import Compiler

__all__ = ["compile"]

if TYPE_CHECKING:
    from cupola.device import Device
    from cupola.image.manifest import Manifest
    from cupola.module import Module


def compile(  # noqa: A001 - only ever used as cupola.compile
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    options: Sequence[str] = (),
    include: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    name_expressions: Iterable[str] = (),
    headers: Mapping[str, str] | None = None,
    arch: str | None = None,
    link: Iterable[os.PathLike[str] | bytes] = (),
    cache: bool = True,
    name: str | None = None,
    device: Device | int | None = None,
) -> Module:
    """Compile CUDA C++ with NVRTC, or with nvcc where it has host code, and load it.

    Parameters
    ----------
    source : str or os.PathLike, or a sequence of them
        A file's path, or the text. A string is a path if it is one line that ends in ``.cu`` or
        another suffix of C++; any other string is text. Several sources are compiled separately
        and linked: for a GPU by nvJitLink with link-time optimization, for the CPU device as PTX.
    options : sequence of str
        Options of NVRTC or nvcc, as in ``["--fmad=false", "--std=c++20", "-DN=4"]``.
    include : path or iterable of paths
        Folders of headers, searched in this order, before CUDA's own.
    name_expressions : iterable of str
        C++ names of template instances to compile, and names in namespaces:
        ``["axpy<float>"]``. ``module["axpy<float>"]`` then finds the kernel, and
        ``module.globals["&scale<int>"]`` a variable.
    headers : dict of str to str, optional
        Headers in memory: the name in ``#include``, and the text.
    arch : str, optional
        ``"sm_90"`` gives machine code, ``"compute_90"`` PTX. By default, the result is machine code
        for the device. It is PTX where NVRTC does not support the device yet, or where NVRTC has a
        newer major version than the driver. The CPU device always gets PTX. For a GPU, linking with
        anything except LTO-IR gives machine code for the device.
    link : iterable of os.PathLike or bytes
        Further inputs to link: PTX; for a GPU also cubins, fatbins, LTO-IR, and objects and
        archives from ``nvcc -dc``.
    cache : bool
        Whether to use the disk cache (`cupola.cache`).
    name : str, optional
        The source's name in messages; by default its path, or ``"kernel.cu"``. ``#include "..."``
        searches first in the folder of the path or name. Several sources can't be named; texts
        are then called ``"kernel.0.cu"`` and so on.
    device : Device or int, optional
        The device to compile for and load on; by default the current one.

    Returns
    -------
    Module
        `Module.log` has the warnings, `Module.image` the compiled image.

    Raises
    ------
    CompileError
        Where the source does not compile; has file and line, `log` is the compiler's output.
    NotFoundError
        Also a FileNotFoundError: NVRTC, a file or a folder of `include` was not found.
    ImageError
        Where the driver refuses the image, for example a statement that needs a newer driver.
    """
    from cupola import driver
    from cupola.device import Device, is_cpu
    from cupola.module import Module

    where = device if isinstance(device, Device) else Device(device)
    compiler = FrontEnd(nvrtc())
    arch, words = asked_architecture(arch, options_of(options))
    cpu = is_cpu(where.index)
    request = request_of(
        source,
        target_on(arch, where, compiler, cpu),
        compiler,
        options=with_lines(words) if cpu else words,
        include=include,
        name_expressions=name_expressions,
        headers=headers,
        link=link,
        name=name,
        device=where,
        driver_links=cpu,
    )
    built = build(request, compiler, cache)
    title = ", ".join(one.title for one in request.sources)
    if built.ptx:
        kept_ptx.keep(built.image, built.ptx)
    try:
        return Module(
            built.image,
            title,
            _manifest(built, request, title),
            where,
            names=built.names,
            ptx=built.ptx,
            log=built.log,
            types=built.types,
        )
    except ImageError as error:
        if "UNSUPPORTED_PTX_VERSION" not in str(error):
            raise
        version = driver.info().version
        release = f"{version // 1000}.{version % 1000 // 10}"
        raise ImageError(
            f"{error}\n  it was written by {compiler}; nvidia-cuda-nvrtc=={release}.* is of this "
            "driver's version",
            error.log,
        ) from None


def _manifest(built: Built, request: Request, title: str) -> Manifest | None:
    """The types of structs and variables, where an option asks for debug information."""
    if not any(option in DEBUG for option in request.options):
        return None
    from cupola.image import debug_manifest

    return debug_manifest.read(built.ptx or built.image.decode(errors="replace"), title)


def build(request: Request, compiler: Compiler | None, cache: bool) -> Built:
    """Compile, or read the result from the cache. A request without sources needs no compiler."""
    key = None
    if cache and _cache.folder() is not None:
        _cache.limit()  # raises for an invalid size before the compilation
        key = request.key(compiler)
    if key is not None:
        found = _cache.read(key)
        if found is not None:
            return Built(found[1], **found[0])
    built = _compiled(request, compiler)
    # A file that changed during the compilation has another key.
    if key is not None and request.key(compiler) == key:
        about = {
            "names": built.names,
            "ptx": built.ptx,
            "log": built.log,
            "types": built.types,
        }
        _cache.write(key, about, built.image)
    return built


def _compiled(request: Request, compiler: Compiler | None) -> Built:
    if request.linked or compiler is None:
        return link_sources(request, compiler)
    (source,) = request.sources
    made = request.compile(compiler, source, request.words, request.expressions)
    image = made.cubin if request.target.machine_code else made.ptx
    if not image:
        raise CompileError(
            f"{source.title}: {compiler} made no "
            f"{'machine code' if request.target.machine_code else 'PTX'} with the options "
            f"{' '.join(request.options)}",
            made.log,
        )
    ptx = made.ptx.decode(errors="replace")
    types = kernel_types(request, compiler, source, ptx)
    return Built(image, made.names, ptx if request.target.machine_code else "", made.log, types)


def target_on(arch: str | None, device: Device, compiler: FrontEnd, cpu: bool) -> Target:
    """The target for a device: the architecture that the user asks for, or the device's own."""
    from cupola import driver

    major, minor = device.compute_capability
    capability = 10 * major + minor
    if arch is not None:
        target = target_of(arch, compiler, device=device)
        if cpu:  # the CPU device runs PTX alone
            return Target(target.architecture.replace("sm_", "compute_"), False)
        return target
    # A driver refuses machine code of a toolkit with a newer major number. Its PTX gets the
    # driver's version when it is loaded.
    takes_code = not cpu and driver.info().version // 1000 >= compiler.nvrtc.version[0]
    if takes_code and capability in compiler.architectures:
        return Target(f"sm_{capability}", True)
    older = [known for known in compiler.architectures if known <= capability]
    if not older:
        raise ArgumentValueError(
            f"{compiler} compiles for compute capability {compiler.architectures[0] / 10} and "
            f"newer; device {device.index}, {device.name}, has {major}.{minor}: an older NVRTC is "
            "needed"
        )
    return Target(f"compute_{older[-1]}", False)
