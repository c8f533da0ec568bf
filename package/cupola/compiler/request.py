# cupola/compiler/request.py - a compilation's sources, options and target.
"""Requests to compile."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cupola import cache as _cache
from cupola.compiler import headers as _headers
from cupola.compiler.options import architecture
from cupola.exceptions import (
    ArgumentTypeError,
    ArgumentValueError,
    CompileError,
    MissingFileError,
)
from cupola.toolkit.nvjitlink import NvJitLink
from cupola.toolkit.program import Compiled, Compiler, Program

FORMAT = 3  # of cached entries
USUAL_NAME = "kernel.cu"
ARCHITECTURE = re.compile(r"(sm|compute)_(\d{2,3})([af]?)")
_INCLUDE_OPTION = re.compile(r"(?:-I|--include-path=?|-isystem=?|--system-include=?)(.*)")
_PRE_INCLUDE_OPTION = re.compile(r"(?:-include|--pre-include)(?:=(.*))?")
# These options read or write other files.
WITH_FILES = re.compile(r"--?(?:(?:use-|create-)?pch|time|fdevice-time-trace|minimal-pch).*")
# NVRTC searches the folder of a source's name first. For a text that must not be the current
# folder, so this folder is used, which is always empty.
_NOWHERE = "/dev/null/"


@dataclass(frozen=True)
class Target:
    """The target of a compilation."""

    architecture: str  # "sm_90", "compute_90a"
    machine_code: bool

    @property
    def option(self) -> str:
        return f"--gpu-architecture={self.architecture}"


# By a kernel's name in the image: the mangled name of a template whose argument is the kernel's
# type, or "", and the parameters' names, where known.
KernelTypes = dict[str, "tuple[str, list[str]]"]


@dataclass
class Built:
    """A compiled image with its metadata."""

    image: bytes
    names: dict[str, str] = field(default_factory=dict)
    ptx: str = ""  # of the same source, if the image is machine code
    log: str = ""
    types: KernelTypes = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A source for the compiler."""

    title: str  # in messages
    text: str
    name: str  # passed to the compiler

    @property
    def program(self) -> str:
        """The text passed to the compiler."""
        if self.name == self.title:
            return self.text
        quoted = self.title.replace("\\", "\\\\").replace('"', '\\"')
        return f'#line 1 "{quoted}"\n{self.text}'


@dataclass(frozen=True)
class Request:
    """All inputs that determine a compilation's result."""

    sources: tuple[Source, ...]
    target: Target
    options: tuple[str, ...]
    folders: tuple[str, ...]
    expressions: tuple[str, ...]
    headers: dict[str, str]
    objects: tuple[tuple[str, bytes], ...] = ()  # inputs to link: names and contents
    linker: NvJitLink | None = None  # None: the driver links PTX
    device: int = 0  # for the driver's linker
    linked_as: Target | None = None  # the target of nvJitLink; None: `target`

    @property
    def linked(self) -> bool:
        """Whether code has to be linked."""
        return len(self.sources) + len(self.objects) > 1

    @property
    def words(self) -> list[str]:
        """The compiler's options."""
        folders = [f"--include-path={folder}" for folder in self.folders]
        apart = ["--relocatable-device-code=true"] if self.linked else []
        return [self.target.option, *self.options, *apart, *folders]

    def key(self, compiler: Compiler) -> str | None:
        """The cache key; None where the inputs can't be determined."""
        if any(WITH_FILES.fullmatch(option) for option in self.options):
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

    def compile(
        self, compiler: Compiler, source: Source, words: Sequence[str], expressions: Sequence[str]
    ) -> Compiled:
        """Compile one of the sources."""
        program = Program(
            source.program, source.name, source.title, words, self.headers, expressions
        )
        return compiler.compile(program)


def sources_of(source: Any, name: str | None) -> tuple[Source, ...]:
    if isinstance(source, (str, os.PathLike)) or not isinstance(source, Sequence):
        return (source_of(source, name, USUAL_NAME),)
    if not source or isinstance(source, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"compile takes source code, or paths, got {source!r}")
    if name is not None:
        raise ArgumentTypeError("name is for one source; of several, each has its own")
    stem, suffix = os.path.splitext(USUAL_NAME)
    return tuple(
        source_of(one, None, f"{stem}.{place}{suffix}") for place, one in enumerate(source)
    )


def source_of(source: Any, name: str | None, usual: str) -> Source:
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
        raise ArgumentValueError(f"{what} contains a NUL character")
    return text


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


def folders_of(include: Any) -> tuple[str, ...]:
    if isinstance(include, (str, os.PathLike)):
        include = [include]
    try:
        return tuple(texts_of("include", [os.fspath(folder) for folder in include]))
    except TypeError:
        raise ArgumentTypeError(f"include is a list of folders, got {include!r}") from None


def headers_of(headers: Any) -> dict[str, str]:
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


def _values(pattern: re.Pattern[str], options: Sequence[str]) -> list[str]:
    """The values of an option, after its = or in the next word."""
    found = []
    for place, option in enumerate(options):
        read = pattern.fullmatch(option)
        if read is not None:
            found.append(read[1] or "".join(options[place + 1 : place + 2]))
    return found
