# cupola/core/loader.py - finds a kernel image and its manifest, by path or by name, and loads it.
"""Finding and loading of kernel images and sources, for `cupola.load`."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, ImageError, MissingFileError
from cupola.image import manifest as manifests
from cupola.image.file_image import FileImage
from cupola.image.processor_levels import LEVELS

__all__ = ["load"]

if TYPE_CHECKING:
    from cupola.device import Device
    from cupola.image.manifest import Manifest
    from cupola.module import Module

SOURCE = ".cu"
SUFFIXES = ("", ".fatbin", ".ptx", ".cubin", SOURCE)
_OTHER_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx")
_PYTHON = (".py", ".pyc", ".pyi", ".pyx", ".ipynb")
_EXPECTED = "load takes images (.fatbin, .cubin, .ptx) and CUDA sources (.cu)"
LARGE = 1 << 20  # bytes; copying more would take a large part of the load time


def load(
    source: Any,
    package: Any = None,
    *,
    device: Device | int | None = None,
    signatures: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    include: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    name_expressions: Iterable[str] = (),
    headers: Mapping[str, str] | None = None,
    arch: str | None = None,
    link: Iterable[os.PathLike[str] | bytes] = (),
    cache: bool = True,
    name: str | None = None,
) -> Module:
    """Load an image of kernels, or compile and load sources.

    Parameters
    ----------
    source : str, os.PathLike or bytes-like, or a sequence of paths of sources
        A path (anything with a separator or a suffix) of a ``.fatbin``, ``.cubin`` or ``.ptx``
        file, or of a ``.cu`` source, which `cupola.compile` compiles. Or the image itself, as
        bytes. Or a bare name, which is searched in the folders of the environment's CUPOLA_PATH,
        then in `package`: unchanged, and with each of these suffixes. Several sources become one
        module.
    package : str or module, optional
        A package with images as resources; with it a name may have a suffix.
    device : Device or int, optional
        The device to load on; by default the current one.
    signatures : dict of str to str, optional
        C parameter lists by kernel name, where neither a manifest nor the compiler provides them:
        ``{"axpy": "float a, const float* x, size_t n"}``. They are checked as by
        `Kernel.declare`.
    options, include, name_expressions, headers, arch, link, cache, name
        As for `cupola.compile`, for sources alone.

    Returns
    -------
    Module
        With a manifest beside the image (the same name with ``.json``), its kernels have the
        parameters' names and types.

    Raises
    ------
    NotFoundError
        Also a FileNotFoundError; names each searched place.
    ImageError
        Where the image or its manifest is invalid, or has no code for the device.
    CompileError
        Where a source does not compile.
    ArgumentTypeError
        Where an image comes with arguments for sources.
    ArgumentValueError
        Where a signature does not fit the image's kernel.
    """
    from cupola.module import Module, declare_all

    how = {
        "options": options,
        "include": include,
        "name_expressions": name_expressions,
        "headers": headers,
        "arch": arch,
        "link": link,
        "cache": cache,
        "name": name,
    }
    if isinstance(source, (bytes, bytearray, memoryview)):
        _refuse_for_image("the image", how)
        return Module(source, "image", None, device, signatures=signatures)
    several = isinstance(source, Sequence) and not isinstance(source, str)
    if several and not source:
        raise ArgumentTypeError("load takes one image, or one or more sources, got none")
    found = [_found(one, package) for one in (source if several else [source])]
    images = [place for _, _, place in found if not place.endswith(SOURCE)]
    if several and images:
        raise ArgumentTypeError(
            f"load takes one image, or several sources ({SOURCE}), and {images[0]} is no source: "
            "give an image that is linked with sources in link=[...]"
        )
    if not images:
        from cupola import compiler

        sources = [_as_source(content, place) for content, _, place in found]
        module = compiler.compile(sources if several else sources[0], device=device, **how)
        if signatures is not None:
            declare_all(module, signatures)
        return module
    image, manifest, place = found[0]
    _refuse_for_image(place, how)
    if manifest is not None:
        manifest.require_complete(place, f"pathlib.Path({place!r})")
    register_cpu_code(place)
    in_package = package is not None and not _is_path(source, package)
    origin = (getattr(package, "__name__", package), source) if in_package else None
    return Module(image, place, manifest, device, signatures=signatures, origin=origin)


def _refuse_for_image(place: str, how: Mapping[str, Any]) -> None:
    given = [name for name, value in how.items() if value not in (None, True, (), [], {})]
    if given:
        raise ArgumentTypeError(
            f"{', '.join(given)}: for sources ({SOURCE}), which are compiled; {place} is loaded as "
            "it is"
        )


def _as_source(content: bytes | FileImage, place: str) -> Any:
    from pathlib import Path

    from cupola.compiler.request import Source

    if os.path.isfile(place):
        return Path(place)
    return Source(place, bytes(content).decode(), place)  # in an archive: it has no folder


def _is_path(source: Any, package: Any) -> bool:
    """Whether it is a path; otherwise it is a name to search."""
    if not isinstance(source, str) or os.sep in source:
        return True
    return package is None and bool(os.path.splitext(source)[1])


def _found(source: Any, package: Any) -> tuple[bytes | FileImage, Manifest | None, str]:
    """Image, manifest and path of what a path or name refers to."""
    try:
        path = os.fspath(source)
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise ArgumentTypeError(
            f"load takes a path, a name or the image as bytes, got {type(source).__name__}"
        )
    if any(mark in path for mark in "\n\0{;") and not os.path.exists(path.replace("\0", "")):
        raise ArgumentTypeError(
            "load takes paths and names, got text: cupola.compile(text) compiles CUDA C++, and "
            "load(text.encode()) loads PTX"
        )
    return from_file(path) if _is_path(source, package) else search(path, package)


def register_cpu_code(place: str) -> None:
    """Register kernels' machine code beside an image with the CPU device, where it exists."""
    stem = os.path.splitext(os.path.abspath(place))[0]
    if not any(os.path.exists(f"{stem}.{level}.so") for level in LEVELS):
        return
    from cupola import driver

    about = driver.info()
    if about.kind != "cpu":
        return
    import ctypes

    add = ctypes.CDLL(about.path)["cupola_cpu_add_ahead"]
    add.restype = ctypes.c_char_p
    objection = add(os.fsencode(stem))
    if objection:
        warnings.warn(
            f"{os.fsdecode(objection)}; its kernels are interpreted", RuntimeWarning, stacklevel=3
        )


def from_file(path: str) -> tuple[bytes | FileImage, Manifest | None, str]:
    """Image, manifest and path of a file."""
    suffix = os.path.splitext(path)[1]
    if suffix == ".cuh":
        raise ImageError(f"{path} is a header: compile or load a source that includes it")
    if suffix in _OTHER_SOURCES:
        raise ImageError(
            f"{path} is no image, and load compiles {SOURCE} files alone: rename it, or use "
            f"cupola.compile(pathlib.Path({path!r}))"
        )
    if suffix in _PYTHON:
        raise ImageError(
            f"{path} is a file of Python, and {_EXPECTED}: name one of these, or import the module"
        )
    try:
        file = io.FileIO(path)
        if os.fstat(file.fileno()).st_size >= LARGE and suffix != SOURCE:
            image: bytes | FileImage = FileImage(file)
        else:
            with file:
                image = file.readall()
    except FileNotFoundError:
        what = "source" if suffix == SOURCE else "image"
        raise MissingFileError(f"there is no {what} {path} (in {os.getcwd()})") from None
    except IsADirectoryError:
        raise ImageError(f"{path} is a folder, and {_EXPECTED}: name a file in it") from None
    except OSError as error:
        raise ImageError(f"{path} can't be read: {error.strerror}") from error
    if suffix in (".json", SOURCE):
        return image, None, path
    mapped = image.map() if isinstance(image, FileImage) else image
    return image, manifests.beside(path, mapped), path


def search(name: str, package: Any = None) -> tuple[bytes | FileImage, Manifest | None, str]:
    """Image, manifest and path for a name, from CUPOLA_PATH, then from a package."""
    tried = []
    folders = [folder for folder in os.environ.get("CUPOLA_PATH", "").split(os.pathsep) if folder]
    for folder in folders:
        for suffix in SUFFIXES:
            path = os.path.join(folder, name + suffix)
            if os.path.isfile(path):
                return from_file(path)
        tried.append(f"{folder} (of CUPOLA_PATH)")
    if package is not None:
        found = in_package(name, package)
        if found is not None:
            return found
        tried.append(f"the package {getattr(package, '__name__', package)}")
    elif not folders:
        folder = ", and the folder of that name is no image" if os.path.isdir(name) else ""
        raise MissingFileError(
            f"there is no image {name!r}{folder}: a bare name is searched in CUPOLA_PATH, which is "
            "not set, and in package=, which was not given; to load a file, give its path"
        )
    names = ", ".join(name + suffix for suffix in SUFFIXES)
    raise MissingFileError(f"there is no image {name}; looked for {names} in {'; '.join(tried)}")


def in_package(name: str, package: Any) -> tuple[bytes, Manifest | None, str] | None:
    """Image, manifest and path of a package's resource, or None."""
    from importlib.resources import files

    try:
        root = files(package)
    except (ImportError, TypeError, ValueError) as error:
        raise MissingFileError(f"there is no package {package!r}: {error}") from error
    for suffix in SUFFIXES:
        resource = root / (name + suffix)
        if resource.is_file():
            beside = root / (os.path.splitext(name + suffix)[0] + ".json")
            image, manifest = resource.read_bytes(), None
            if beside.is_file():
                manifest = manifests.Manifest(beside.read_bytes(), str(beside))
                manifest = manifest if manifest.is_of(resource.name) else None
            _verify(image, manifest, str(resource))
            return image, manifest, str(resource)
    return None


def _verify(image: bytes, manifest: Manifest | None, place: str) -> None:
    """Compare a package's image with its manifest, as far as user and package ask for it."""
    value = os.environ.get("CUPOLA_VERIFY", "")
    if value not in ("", "0", "1"):
        raise ArgumentValueError(f"CUPOLA_VERIFY={value}: expected 0 or 1")
    asked = value == "1"
    if asked and (manifest is None or not manifest.has_digest):
        lacks = "has no manifest" if manifest is None else f"{manifest.place} has no digest of it"
        raise ImageError(
            f"{place}: CUPOLA_VERIFY=1 asks for a comparison with the digest in the manifest, and "
            f"the image {lacks}; build the package again with this version of cupola"
        )
    if manifest is not None:
        manifest.require(image, place, digest=asked or manifest.asks_for_verification)
