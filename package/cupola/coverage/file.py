# cupola/coverage/file.py - reads the coverage files that csrc/cpu/coverage/record.cpp writes.
"""Reads coverage files. Their bytes are untrusted: they give counts or a `CoverageFileError`."""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

from cupola.coverage.report import Counter, Function, Module, Report, Site, add_function
from cupola.exceptions import Error

HEADER = b"cupola-coverage 1\n"
NUMBER_DIGITS = 20  # digits of a number of 64 bits
MAX_LINE = 1 << 31


class CoverageFileError(Error, ValueError):
    """A coverage file is malformed, or of another version."""

    __module__ = "cupola.coverage"


class CountsFile:
    """The modules and counts of a coverage file, which may grow while it is read.

    Parameters
    ----------
    path : path
        The file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.modules: dict[str, Module] = {}
        self._offset = 0

    def update(self) -> None:
        """Read what other processes have appended since the last call.

        Raises
        ------
        OSError
            The file cannot be read.
        CoverageFileError
            It is malformed.
        """
        with open(self.path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            file.seek(self._offset)
            data = file.read()
        try:
            self._offset += self._read(data, self._offset == 0)
        except (ValueError, IndexError, KeyError) as error:
            if isinstance(error, CoverageFileError):
                raise
            raise CoverageFileError(
                f"{self.path}: a record after byte {self._offset} is malformed ({error}); "
                "remove the file, and run the program again"
            ) from None

    def report(self, context: str | None = None, function: str | None = None) -> Report:
        """The counts by source file.

        Parameters
        ----------
        context : str, optional
            Only those of this context.
        function : str, optional
            Only those of the function, or the instantiation, with this linkage name.
        """
        made = Report()
        for module in self.modules.values():
            for each in module.functions:
                if function is None or each.name == function:
                    add_function(made, module, each, context)
        return made

    def contexts(self) -> list[str]:
        """The names of the contexts that have counts."""
        found = {
            context
            for module in self.modules.values()
            for function in module.functions
            for context in function.counts
        }
        return sorted(found)

    def functions(self) -> list[str]:
        """The linkage names of all functions with lines."""
        found = {
            function.name
            for module in self.modules.values()
            for function in module.functions
            if function.counters
        }
        return sorted(found)

    def _read(self, data: bytes, first: bool) -> int:
        """Read whole records; return the number of bytes that they have."""
        at = 0
        if first:
            if not data:
                return 0
            if not data.startswith(HEADER):
                raise CoverageFileError(
                    f"{self.path} is not a coverage file of this version of cupola: "
                    f"expected it to begin with {HEADER.decode().strip()!r}"
                )
            at = len(HEADER)
        while at < len(data):
            end = data.index(b"\n", at, at + 64) + 1
            name, size, crc = data[at:end].split()
            body = data[end : end + _number(size)]
            if name != b"record" or len(body) != _number(size) or zlib.crc32(body) != int(crc, 16):
                raise ValueError("its checksum or its length is wrong")
            self._read_record(body.decode("utf-8", "surrogateescape"))
            at = end + len(body)
        return at

    def _read_record(self, text: str) -> None:
        module, context, fresh = Module(), "", False
        readers: dict[str, Callable[[list[str]], None]] = {
            "file": lambda words: module.files.append(os.path.normpath(_name(words[0]))),
            "scope": lambda words: module.scopes.append(_scope(words, module)),
            "function": lambda words: module.functions.append(
                Function(_name(words[1]) if len(words) > 1 else "", words[0] == "entry")
            ),
            "lines": lambda words: _add_counter(module, "lines", words),
            "branch": lambda words: _add_counter(module, "branch", words),
            "table": lambda words: _add_counter(module, "table", words),
        }
        for line in text.removesuffix("\n").split("\n"):
            name, *words = line.split(" ")
            if name == "module":
                module = self.modules.setdefault(words[0], Module())
                fresh = not module.functions
            elif name == "context":
                context = _name(words[0])
            elif name == "counts":
                _add_counts(module, context, words)
            elif name not in readers:
                raise ValueError(f"unknown statement {name[:20]!r}")
            elif fresh:
                readers[name](words)


def read(path: str | os.PathLike[str]) -> CountsFile:
    """The counts of a coverage file.

    Parameters
    ----------
    path : path
        A file that `start` or ``CUPOLA_CPU_COVERAGE`` named.

    Returns
    -------
    CountsFile
        Its ``report()`` has the counts by source file.

    Raises
    ------
    OSError
        The file cannot be read.
    CoverageFileError
        It is malformed.
    """
    made = CountsFile(path)
    made.update()
    return made


def _number(word: str | bytes) -> int:
    if not word.isdigit() or len(word) > NUMBER_DIGITS:
        raise ValueError("expected a number")
    return int(word)


def _name(word: str) -> str:
    return os.fsdecode(unquote_to_bytes(word.encode("utf-8", "surrogateescape")))


def _scope(words: Iterable[str], module: Module) -> tuple[int, int, int]:
    parent, file, line = map(_number, words)
    if parent >= len(module.scopes) or file >= len(module.files):
        raise ValueError("a scope in no scope or file")
    return parent, file, line


def _sites(words: Iterable[str], module: Module) -> Iterator[Site]:
    for word in words:
        scope, file, line = map(_number, word.split(":"))
        if scope >= len(module.scopes) or file >= len(module.files) or line >= MAX_LINE:
            raise ValueError("a line in no scope or file")
        yield scope, file, line


def _add_counter(module: Module, kind: str, words: list[str]) -> None:
    sites = list(_sites(words[1:], module))
    own = len(sites) if kind == "lines" else 1
    if not sites or (kind == "branch" and len(sites) != 3):
        raise ValueError("a counter without lines or sides")
    counter = Counter(kind, _number(words[0]), sites[:own], sites[own:])
    module.functions[-1].counters.append(counter)


def _add_counts(module: Module, context: str, words: list[str]) -> None:
    counts = module.functions[_number(words[0])].counts.setdefault(context, {})
    for word in words[1:]:
        at, count = map(_number, word.split(":"))
        counts[at] = counts.get(at, 0) + count
