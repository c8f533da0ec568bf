# cupola/compiler/arguments.py - checks the arguments of a compilation, and makes its request.
"""The arguments of `cupola.compile`, `cupola.load` and the command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cupola.compiler.front_end import FrontEnd
from cupola.compiler.link import linkable, linked_as
from cupola.compiler.options import architecture
from cupola.compiler.request import ARCHITECTURE, Request, Target, include_folders
from cupola.compiler.source_files import sources_of
from cupola.exceptions import (
    ArgumentTypeError,
    ArgumentValueError,
    CompileError,
    MissingFileError,
)
from cupola.toolkit.nvjitlink import nvjitlink

if TYPE_CHECKING:
    from cupola.device import Device


def request_of(
    source: Any,
    target: Target,
    compiler: FrontEnd,
    *,
    options: tuple[str, ...] = (),
    include: Any = (),
    name_expressions: Any = (),
    headers: Any = None,
    link: Any = (),
    name: str | None = None,
    device: Device | None = None,
    driver_links: bool = False,
) -> Request:
    """The request that the arguments describe.

    Parameters
    ----------
    options : tuple of str
        Without an architecture; see `asked_architecture`.
    device : Device, optional
        The device that the image is for; None where it is written to a file.
    driver_links : bool
        Whether the device's driver links PTX, as the CPU device does; else nvJitLink links.
    """
    require_folders("options", include_folders(options))
    sources = sources_of(source, name)
    objects = tuple(
        (title, entry.payload if entry is not None else content)
        for title, content in objects_of(link)
        for entry in [linkable(title, content, target, lto=not driver_links)]
    )
    linked = len(sources) + len(objects) > 1 and not driver_links
    return Request(
        sources,
        target,
        options,
        compiler.folders(folders_of(include)),
        tuple(texts_of("name_expressions", name_expressions)),
        headers_of(headers),
        objects,
        nvjitlink() if linked else None,
        device.index if device is not None else 0,
        linked_as(target, objects, device) if linked and device is not None else None,
    )


def texts_of(what: str, given: Any) -> list[str]:
    listed = [given] if isinstance(given, (str, bytes)) else None
    if listed is None:
        try:
            listed = list(given)
        except TypeError:
            listed = [given]
    elif what != "include":
        raise ArgumentTypeError(f"{what} is a list of texts, got the one text {given!r}")
    for one in listed:
        if not isinstance(one, str) or "\0" in one:
            raise ArgumentTypeError(f"{what} is a list of texts, got {one!r} in it")
    return listed


def options_of(options: Any) -> tuple[str, ...]:
    return tuple(texts_of("options", options))


def folders_of(include: Any, what: str = "include") -> tuple[str, ...]:
    """The folders of headers, each of which exists; `what` names the argument in errors."""
    if isinstance(include, (str, os.PathLike)):
        include = [include]
    try:
        found = tuple(texts_of("include", [os.fspath(folder) for folder in include]))
    except TypeError:
        raise ArgumentTypeError(f"{what} is a list of folders, got {include!r}") from None
    require_folders(what, found)
    return found


def require_folders(what: str, folders: Iterable[str]) -> None:
    """Refuse a folder of headers that does not exist: the compilers ignore it silently."""
    for folder in folders:
        # nvcc takes several after one -I, separated by commas.
        for part in [folder] if os.path.isdir(folder) else folder.split(","):
            if not os.path.isdir(part):
                raise MissingFileError(
                    f"{what}: there is no folder {part!r} (in {os.getcwd()}); give an existing "
                    "folder of headers"
                )


def target_of(
    arch: str, compiler: FrontEnd, what: str = "arch", device: Device | None = None
) -> Target:
    """The target of an architecture that the compiler knows; `what` names it in errors.

    With a device, an architecture that is newer than the device is refused, too.
    """
    read = ARCHITECTURE.fullmatch(arch)
    if read is None:
        raise ArgumentValueError(
            f"{what} is as in 'sm_90' (machine code) or 'compute_90' (PTX), got {arch!r}"
        )
    asked, known = int(read[2]), compiler.architectures
    newest, remedy = known[-1], "choose"
    if device is not None:
        major, minor = device.compute_capability
        newest, remedy = 10 * major + minor, "leave it out for the device's own target, or choose"
    fitting = [number for number in known if number <= newest] or [known[0]]
    # Machine code runs on devices of its own major version alone.
    of_device = device is not None and read[1] == "sm"
    near = fitting[-1] if of_device else min(fitting, key=lambda number: abs(number - asked))
    nearest = f"{read[1]}_{near}"
    if asked not in known:
        listed = ", ".join(str(number) for number in known)
        raise ArgumentValueError(
            f"{what} is {arch!r}, and {compiler} compiles for {listed}: {remedy} one of these, as "
            f"in {nearest!r}"
        )
    if device is not None and asked > newest:
        raise ArgumentValueError(
            f"{what} is {arch!r}, and device {device.index}, {device.name}, has compute capability "
            f"{newest / 10}: {remedy} {nearest!r}"
        )
    return Target(arch, read[1] == "sm")


def headers_of(headers: Any) -> dict[str, str]:
    if headers is None:
        return {}
    if not isinstance(headers, Mapping):
        raise ArgumentTypeError(
            f"headers is a dict of names and texts, got {type(headers).__name__}"
        )
    for name, text in headers.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise ArgumentTypeError(
                f"headers is a dict of names and texts, got a {type(name).__name__} and a "
                f"{type(text).__name__} for {name!r}; pass str, as of bytes.decode()"
            )
        if "\0" in name + text:
            raise ArgumentValueError(f"headers: the text of {name!r} has a NUL character")
    return dict(headers)


def asked_architecture(
    arch: str | None, options: tuple[str, ...]
) -> tuple[str | None, tuple[str, ...]]:
    """The architecture, which may be among the options, and the other options."""
    if arch is not None and not isinstance(arch, str):
        raise ArgumentTypeError(f"arch is a text as in 'sm_90', got {arch!r}")
    asked, left = architecture(options)
    if arch is not None and asked is not None and arch != asked:
        raise ArgumentValueError(f"arch is {arch!r}, and the options name {asked}")
    return arch if asked is None else asked, tuple(left)


def objects_of(link: Any) -> tuple[tuple[str, bytes], ...]:
    if isinstance(link, (str, bytes, os.PathLike)) or not isinstance(link, Iterable):
        raise ArgumentTypeError(f"link is a list of paths and bytes, got {type(link).__name__}")
    found = []
    for place, one in enumerate(link):
        if isinstance(one, (bytes, bytearray, memoryview)):
            found.append((f"link[{place}]", bytes(one)))
        elif isinstance(one, os.PathLike) and isinstance(os.fspath(one), str):
            path = os.fspath(one)
            try:
                with open(path, "rb") as file:
                    found.append((path, file.read()))
            except FileNotFoundError:
                raise MissingFileError(f"there is no {path} to link (in {os.getcwd()})") from None
            except OSError as error:
                raise CompileError(f"{path} can't be read: {error.strerror}") from error
        else:
            raise ArgumentTypeError(f"link is a list of pathlib.Path and bytes, got {one!r} in it")
    return tuple(found)
