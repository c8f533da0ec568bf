# cupola/compiler.py - cupola.compile: CUDA C++ to a loaded module, by NVRTC and the cache.
"""Compiling at run time."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cupola import cache as _cache
from cupola import headers as _headers
from cupola.exceptions import (
    ArgumentTypeError,
    ArgumentValueError,
    CompileError,
    ImageError,
    MissingFileError,
)
from cupola.nvjitlink import NvJitLink, nvjitlink
from cupola.nvrtc import Compiled, Nvrtc, nvrtc

if TYPE_CHECKING:
    from cupola.device import Device
    from cupola.module import Module

FORMAT = 1  # of what is cached
USUAL_NAME = "kernel.cu"
_ARCHITECTURE = re.compile(r"(sm|compute)_(\d{2,3})([af]?)")
_ARCHITECTURE_OPTION = re.compile(r"(?:-arch|--gpu-architecture)(?:=(.*))?")
_INCLUDE_OPTION = re.compile(r"(?:-I|--include-path=?)(.*)")
_PRE_INCLUDE_OPTION = re.compile(r"(?:-include|--pre-include)(?:=(.*))?")
# They read or write files of their own.
_UNCACHED = re.compile(r"--?(?:(?:use-|create-)?pch|time|fdevice-time-trace|minimal-pch).*")
# NVRTC searches the folder of a source's name first. That of a text, which is no file, shall not
# be the current one; and never is there anything in this one.
_NOWHERE = "/dev/null/"
_LTO_IR = b"\xedCN\x7f"  # what LTO-IR begins with


@dataclass(frozen=True)
class Target:
    """What is compiled for."""

    architecture: str  # "sm_90", "compute_90a"
    machine_code: bool

    @property
    def option(self) -> str:
        return f"--gpu-architecture={self.architecture}"


@dataclass
class Built:
    """An image, and what is known of it."""

    image: bytes
    names: dict[str, str] = field(default_factory=dict)
    ptx: str = ""  # of the same source, where the image is machine code
    log: str = ""


@dataclass(frozen=True)
class Source:
    """A source as the compiler is given it."""

    title: str  # in messages
    text: str
    name: str  # as the compiler is given it

    @property
    def program(self) -> str:
        """The text as the compiler is given it."""
        if self.name == self.title:
            return self.text
        quoted = self.title.replace("\\", "\\\\").replace('"', '\\"')
        return f'#line 1 "{quoted}"\n{self.text}'


@dataclass(frozen=True)
class Request:
    """All that determines what comes out."""

    sources: tuple[Source, ...]
    target: Target
    options: tuple[str, ...]
    folders: tuple[str, ...]
    expressions: tuple[str, ...]
    headers: dict[str, str]
    objects: tuple[tuple[str, bytes], ...] = ()  # what is linked to them: names and contents
    linker: NvJitLink | None = None  # None: what is linked is PTX, by the driver
    device: int = 0  # for the driver's linker
    linked_as: Target | None = None  # what nvJitLink makes; None: the target

    @property
    def linked(self) -> bool:
        """Whether there is more than one source's own code."""
        return len(self.sources) + len(self.objects) > 1

    @property
    def words(self) -> list[str]:
        """The compiler's options."""
        folders = [f"--include-path={folder}" for folder in self.folders]
        apart = ["--relocatable-device-code=true"] if self.linked else []
        return [self.target.option, *self.options, *apart, *folders]

    def key(self, compiler: Nvrtc) -> str | None:
        """What it is cached by; None where that can't be told."""
        if any(_UNCACHED.fullmatch(option) for option in self.options):
            return None
        found = _headers.digest(
            [(source.name, source.text.encode()) for source in self.sources]
            + [
                ("", f'#include "{name}"\n'.encode())
                for name in _values(_PRE_INCLUDE_OPTION, self.options)
            ],
            self.headers,
            [*self.folders, *_values(_INCLUDE_OPTION, self.options)],
        )
        if found is None:
            return None
        return _cache.key_of(
            [
                FORMAT,
                [[source.title, source.text, source.name] for source in self.sources],
                [self.target.architecture, self.target.machine_code],
                self.options,
                self.folders,
                self.expressions,
                self.headers,
                [[name, hashlib.sha256(content).hexdigest()] for name, content in self.objects],
                compiler.identity,
                self.linker.identity if self.linker else "",
                [self.linked_as.architecture, self.linked_as.machine_code]
                if self.linked_as
                else [],
                found.hex(),
            ]
        )


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
    """Compile CUDA C++ with NVRTC, and load it.

    Parameters
    ----------
    source : str or os.PathLike, or a sequence of them
        The text, or a file's path. Several are compiled each for itself and linked: on a GPU by
        nvJitLink with optimisation across them, on the CPU device as PTX.
    options : sequence of str
        For NVRTC, as in ``["--fmad=false", "--std=c++20", "-DN=4"]``.
    include : path or iterable of paths
        Folders of headers, searched in this order; after them CUDA's own.
    name_expressions : iterable of str
        Instances of templates that shall be compiled, and names in namespaces, as C++ writes
        them: ``["axpy<float>"]``. By these ``module["axpy<float>"]`` finds the kernels, and
        ``module.globals["&scale<int>"]`` the variables.
    headers : dict of str to str, optional
        Headers in memory: what ``#include`` names, and the text.
    arch : str, optional
        ``"sm_90"`` gives machine code, ``"compute_90"`` PTX. By default machine code for the
        device, or PTX where NVRTC doesn't know the device yet. The CPU device always has PTX.
        On a GPU, what is linked to anything but LTO-IR becomes machine code for the device.
    link : iterable of os.PathLike or bytes
        What else is linked: PTX; for a GPU also cubins, fatbins, LTO-IR, objects and archives, as
        ``nvcc -dc`` makes them.
    cache : bool
        Whether what was compiled is kept on disk, and looked for there (`cupola.cache`).
    name : str, optional
        Of the source, for messages; by default its path, or ``"kernel.cu"``. In the folder of
        the source's path, or of a text's name where it has one, ``#include "..."`` looks first.
        Several sources have no name but their own; texts are ``"kernel.0.cu"`` and so on.
    device : Device or int, optional
        What is compiled for, and loaded on; by default the current one.

    Returns
    -------
    Module
        `Module.log` holds warnings, `Module.image` what was compiled.

    Raises
    ------
    CompileError
        Where the source does not compile: names file and line; `log` is all the compiler said.
    NotFoundError
        Also a FileNotFoundError: there is no NVRTC, or no such file.
    ImageError
        Where the driver refuses what was compiled, as it does PTX newer than itself.
    """
    from cupola import driver
    from cupola.device import Device
    from cupola.module import Module

    where = device if isinstance(device, Device) else Device(device)
    compiler = nvrtc()
    words = _options(options)
    arch, words = _asked_architecture(arch, words)
    cpu = driver.info().kind == "cpu"
    sources, objects = _sources(source, name), _objects(link)
    several = len(sources) + len(objects) > 1
    target = _target(arch, where, compiler, cpu)
    made = Request(
        sources,
        target,
        words,
        (*_folders(include), *compiler.found.headers()),
        tuple(_texts("name_expressions", name_expressions)),
        _in_memory(headers),
        objects,
        nvjitlink() if several and not cpu else None,
        where.index,
        _linked_as(target, objects, where) if several and not cpu else None,
    )
    built = build(made, compiler, cache)
    title = ", ".join(one.title for one in made.sources)
    try:
        return Module(
            built.image, title, None, where, names=built.names, ptx=built.ptx, log=built.log
        )
    except ImageError as error:
        if "UNSUPPORTED_PTX_VERSION" not in str(error):
            raise
        version = driver.info().version
        release = f"{version // 1000}.{version % 1000 // 10}"
        raise ImageError(
            f"{error}\n  it was written by {compiler}: nvidia-cuda-nvrtc=={release}.* is of this "
            "driver's version; machine code (arch='sm_...') may be newer",
            error.log,
        ) from None


def build(request: Request, compiler: Nvrtc, cache: bool) -> Built:
    """Compile, or take it from the cache."""
    key = None
    if cache and _cache.folder() is not None:
        _cache.limit()  # refuses a wrong one before the work and not after it
        key = request.key(compiler)
    if key is not None:
        found = _cache.read(key)
        if found is not None:
            return Built(found[1], **found[0])
    built = _compiled(request, compiler)
    # A file that changed meanwhile belongs to another key.
    if key is not None and request.key(compiler) == key:
        about = {"names": built.names, "ptx": built.ptx, "log": built.log}
        _cache.write(key, about, built.image)
    return built


def _compiled(request: Request, compiler: Nvrtc) -> Built:
    if request.linked:
        return _linked(request, compiler)
    (source,) = request.sources
    made = _one(request, compiler, source, request.words, request.expressions)
    image = made.cubin if request.target.machine_code else made.ptx
    if not image:
        raise CompileError(
            f"{source.title}: {compiler} made no "
            f"{'machine code' if request.target.machine_code else 'PTX'} with the options "
            f"{' '.join(request.options)}",
            made.log,
        )
    ptx = made.ptx.decode(errors="replace") if request.target.machine_code else ""
    return Built(image, made.names, ptx, made.log)


def _one(
    request: Request,
    compiler: Nvrtc,
    source: Source,
    words: Sequence[str],
    expressions: Sequence[str],
) -> Compiled:
    return compiler.compile(
        source.program, source.name, source.title, words, request.headers, expressions
    )


def _linked(request: Request, compiler: Nvrtc) -> Built:
    built, inputs = Built(b""), []
    missing: dict[str, CompileError] = {}
    for source in request.sources:
        made, names = _with_its_expressions(request, compiler, source, missing)
        built.names |= names
        built.log = "\n".join(filter(None, (built.log, made.log)))
        built.ptx += made.ptx.decode(errors="replace") + "\n"
        content = made.ptx
        if request.linker is not None:
            words = [*request.words, "-dlto"]
            content = _one(request, compiler, source, words, list(names)).ltoir
        inputs.append((source.title, content))
    for expression in request.expressions:
        if expression not in built.names:
            raise missing[expression]
    if request.linker is None:
        from cupola.module import link_images

        try:
            built.image = link_images([*inputs, *request.objects], request.device)
        except ImageError as error:
            titles = ", ".join(name for name, _ in (*inputs, *request.objects))
            raise CompileError(f"{titles}: linking failed: {error}", error.log) from None
        built.image, built.ptx = built.image.rstrip(b"\0"), ""
        return built
    outcome = request.linked_as or request.target
    words = [f"-arch={outcome.architecture.replace('compute', 'sm')}", "-lto"]
    if not outcome.machine_code:
        words.append("-ptx")
    built.image, log = request.linker.link(
        [*inputs, *request.objects], words, not outcome.machine_code
    )
    built.log = "\n".join(filter(None, (built.log, log)))
    return built


def _with_its_expressions(
    request: Request, compiler: Nvrtc, source: Source, missing: dict[str, CompileError]
) -> tuple[Compiled, dict[str, str]]:
    """One of several sources, with those name expressions that mean something in it."""
    try:
        made = _one(request, compiler, source, request.words, request.expressions)
        return made, made.names
    except CompileError as error:
        if not request.expressions:
            raise
        all_of_them = error
    made = _one(request, compiler, source, request.words, ())  # an error of the source's own
    known = []
    for expression in request.expressions:
        try:
            _one(request, compiler, source, request.words, [expression])
            known.append(expression)
        except CompileError:
            missing.setdefault(expression, all_of_them)
    if known:
        made = _one(request, compiler, source, request.words, known)
    return made, made.names


def _target(arch: str | None, device: Device, compiler: Nvrtc, cpu: bool) -> Target:
    major, minor = device.compute_capability
    capability = 10 * major + minor
    if arch is not None:
        read = _ARCHITECTURE.fullmatch(arch)
        if read is None:
            raise ArgumentValueError(
                f"arch is as in 'sm_90' (machine code) or 'compute_90' (PTX), got {arch!r}"
            )
        if cpu:  # it runs PTX alone, of whichever architecture was asked for
            return Target(f"compute_{read[2]}{read[3]}", False)
        return Target(arch, read[1] == "sm")
    if not cpu and capability in compiler.architectures:
        return Target(f"sm_{capability}", True)
    older = [known for known in compiler.architectures if known <= capability]
    if not older:
        raise ArgumentValueError(
            f"{compiler} compiles for compute capability {compiler.architectures[0] / 10} and "
            f"newer; device {device.index}, {device.name}, has {major}.{minor}: an older NVRTC is "
            "needed"
        )
    return Target(f"compute_{older[-1]}", False)


def _linked_as(target: Target, objects: Iterable[tuple[str, bytes]], device: Device) -> Target:
    """What nvJitLink can make of it: PTX of LTO-IR alone, and machine code of anything."""
    if target.machine_code or all(content.startswith(_LTO_IR) for _, content in objects):
        return target
    read = _ARCHITECTURE.fullmatch(target.architecture)
    capability = "{}{}".format(*device.compute_capability)
    # Code with features of one architecture or family links for that alone.
    features = read[3] if read and read[2][:-1] == capability[:-1] else ""
    return Target(f"sm_{capability}{features}", True)


def _asked_architecture(
    arch: str | None, options: tuple[str, ...]
) -> tuple[str | None, tuple[str, ...]]:
    """The architecture, which may be among the options, and the other options."""
    if arch is not None and not isinstance(arch, str):
        raise ArgumentTypeError(f"arch is a text as in 'sm_90', got {arch!r}")
    left, waiting = [], list(options)
    while waiting:
        option = waiting.pop(0)
        read = _ARCHITECTURE_OPTION.fullmatch(option)
        if read is None:
            left.append(option)
            continue
        asked = read[1] if read[1] is not None else waiting.pop(0) if waiting else ""
        if arch is not None and arch != asked:
            raise ArgumentValueError(f"arch is {arch!r}, and the options say {option}")
        arch = asked
    return arch, tuple(left)


def _values(pattern: re.Pattern[str], options: Sequence[str]) -> list[str]:
    """What an option says, after its = or in the next word."""
    found = []
    for place, option in enumerate(options):
        read = pattern.fullmatch(option)
        if read is not None:
            found.append(read[1] or "".join(options[place + 1 : place + 2]))
    return found


def _sources(source: Any, name: str | None) -> tuple[Source, ...]:
    if isinstance(source, (str, os.PathLike)) or not isinstance(source, Sequence):
        return (_source(source, name, USUAL_NAME),)
    if not source or isinstance(source, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"compile takes source code, or paths, got {source!r}")
    if name is not None:
        raise ArgumentTypeError("name is for one source; of several, each has its own")
    stem, suffix = os.path.splitext(USUAL_NAME)
    return tuple(_source(one, None, f"{stem}.{place}{suffix}") for place, one in enumerate(source))


def _objects(link: Any) -> tuple[tuple[str, bytes], ...]:
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


def _source(source: Any, name: str | None, usual: str) -> Source:
    if name is not None and (not isinstance(name, str) or "\0" in name or not name):
        raise ArgumentTypeError(f"name is a text, got {name!r}")
    if isinstance(source, str):
        if re.fullmatch(r"[^\s{};]+\.cuh?", source):
            raise ArgumentTypeError(
                f"compile takes source code, or a path as pathlib.Path({source!r}); "
                f"cupola.load({source!r}) takes the path as it is"
            )
        title = name or usual
        beside = title if os.path.dirname(title) else _NOWHERE + title
        return Source(title, _text(source, "source"), beside)
    try:
        path = os.fspath(source)
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise ArgumentTypeError(
            f"compile takes source code as str, or a path, got {type(source).__name__}"
        )
    try:
        with open(path, encoding="utf-8") as file:
            return Source(name or path, _text(file.read(), path), path)
    except FileNotFoundError:
        raise MissingFileError(f"there is no source {path} (in {os.getcwd()})") from None
    except OSError as error:
        raise CompileError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CompileError(f"{path} is no UTF-8 text: {error}") from error


def _text(text: str, what: str) -> str:
    if "\0" in text:
        raise ArgumentValueError(f"{what} has a NUL character in it")
    return text


def _texts(what: str, given: Any) -> list[str]:
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


def _options(options: Any) -> tuple[str, ...]:
    return tuple(_texts("options", options))


def _folders(include: Any) -> tuple[str, ...]:
    if isinstance(include, (str, os.PathLike)):
        include = [include]
    try:
        return tuple(_texts("include", [os.fspath(folder) for folder in include]))
    except TypeError:
        raise ArgumentTypeError(f"include is a list of folders, got {include!r}") from None


def _in_memory(headers: Any) -> dict[str, str]:
    if headers is None:
        return {}
    if not isinstance(headers, Mapping):
        raise ArgumentTypeError(
            f"headers is a dict of names and texts, got {type(headers).__name__}"
        )
    for name, text in headers.items():
        if not isinstance(name, str) or not isinstance(text, str) or "\0" in name + text:
            raise ArgumentTypeError(f"headers is a dict of names and texts, got {name!r}")
    return dict(headers)
