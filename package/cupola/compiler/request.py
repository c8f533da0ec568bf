# cupola/compiler/request.py - a compilation's sources, options and target.
"""Requests to compile."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from cupola import cache as _cache
from cupola.compiler import headers as _headers
from cupola.compiler.shared_symbols import SharedText
from cupola.toolkit.nvjitlink import NvJitLink
from cupola.toolkit.program import Compiled, Compiler, Program, line_directive

FORMAT = 3  # version of the format of cached entries
ARCHITECTURE = re.compile(r"(sm|compute)_(\d{2,3})([af]?)")
_INCLUDE_OPTION = re.compile(r"(?:-I|--include-path=?|-isystem=?|--system-include=?)(.*)")
_PRE_INCLUDE_OPTION = re.compile(r"(?:-include|--pre-include)(?:=(.*))?")
_RELOCATABLE = ("--relocatable-device-code", "-rdc")
# These options read or write other files.
WITH_FILES = re.compile(r"--?(?:(?:use-|create-)?pch|time|fdevice-time-trace|minimal-pch).*")


@dataclass(frozen=True)
class Target:
    """The target of a compilation."""

    architecture: str  # "sm_90", "compute_90a"
    machine_code: bool

    @property
    def option(self) -> str:
        return f"--gpu-architecture={self.architecture}"


# For each kernel's name in the image, the mangled name of a template whose argument is the kernel's
# type, or "", and the parameters' names, where known.
KernelTypes = dict[str, "tuple[str, list[str]]"]


@dataclass
class Built:
    """A compiled image with its metadata."""

    image: bytes
    names: dict[str, str] = field(default_factory=dict)
    ptx: str = ""  # PTX of the same source, if the image is machine code
    log: str = ""
    types: KernelTypes = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A source for the compiler."""

    title: str  # the source's name in messages
    text: str
    name: str  # passed to the compiler

    @property
    def program(self) -> str:
        """The text passed to the compiler."""
        if self.name == self.title:
            return self.text
        return line_directive(self.title) + self.text


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
    lto: bool = True  # whether nvJitLink optimises across its inputs
    libraries: tuple[SharedText, ...] = ()  # the PTX of objects that may leave symbols open

    @property
    def linked(self) -> bool:
        """Whether code has to be linked."""
        return len(self.sources) > 1 or bool(self.objects)

    @property
    def words(self) -> list[str]:
        """The compiler's options."""
        folders = [f"--include-path={folder}" for folder in self.folders]
        if not self.linked:
            return [self.target.option, *self.options, *folders]
        # NVRTC before 13.0 refuses an option with a value that is given twice.
        options = _without(_RELOCATABLE, self.options)
        return [self.target.option, *options, f"{_RELOCATABLE[0]}=true", *folders]

    def key(self, compiler: Compiler | None) -> str | None:
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
            [*self.folders, *include_folders(self.options)],
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
                compiler.identity if compiler else "",
                self.linker.identity if self.linker else "",
                [self.linked_as.architecture, self.linked_as.machine_code]
                if self.linked_as
                else [],
                self.lto,
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


def _without(names: Sequence[str], options: Sequence[str]) -> list[str]:
    """The options without the option that has one of these names. Its value follows = or is the
    next word.
    """
    left, waiting = [], list(options)
    while waiting:
        word = waiting.pop(0)
        if word in names:
            del waiting[:1]
        elif word.partition("=")[0] not in names:
            left.append(word)
    return left


def include_folders(options: Sequence[str]) -> list[str]:
    """The folders of headers that options name."""
    return _values(_INCLUDE_OPTION, options)


def _values(pattern: re.Pattern[str], options: Sequence[str]) -> list[str]:
    """The values of an option, after its = or in the next word."""
    found = []
    for place, option in enumerate(options):
        read = pattern.fullmatch(option)
        if read is not None:
            found.append(read[1] or "".join(options[place + 1 : place + 2]))
    return found
