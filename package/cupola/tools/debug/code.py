# cupola/tools/debug/code.py - a kernel's operations with their source lines and functions.
"""Maps the operations of a decoded kernel to source lines, and lines to operations."""

from __future__ import annotations

import bisect
import os
from typing import Any, NamedTuple

from cupola.image import source_map
from cupola.image.cxx_names import demangle
from cupola.image.source_map import Inlined, Location, SourceMap
from cupola.tools.debug.protocol import Requests

BEGIN = 1 << 31


class Register(NamedTuple):
    """A register of a function: its place in the warp's register file."""

    name: str
    type: str  # such as "f32"
    offset: int
    width: int  # bytes a lane; 0 for a predicate


class Variable(NamedTuple):
    """A variable of the PTX text, in bytes. `offset`: in its space; for "global", an address."""

    name: str
    space: str
    offset: int
    size: int


class Function(NamedTuple):
    """A function of a kernel's code, from the operation `start`."""

    name: str
    start: int
    registers: dict[str, Register]
    variables: dict[str, Variable]

    @property
    def title(self) -> str:
        """The function's C++ name without parameters."""
        return title_of(self.name)


class Code:
    """A kernel's code.

    Without ``.loc`` in the text, lines are those of the PTX, in a file ``KERNEL.ptx``.
    """

    def __init__(self, kernel: str, requests: Requests, maps: dict[str, SourceMap]) -> None:
        self.kernel = kernel
        text = requests.ask("text").decode(errors="replace")
        if text not in maps:
            maps[text] = source_map.read(text)
        self.map = maps[text]
        raw = requests.ask("lines")
        self.lines = memoryview(raw).cast("I").tolist()
        described = requests.ask_json("kernel")
        self.functions = [_function(each) for each in described["functions"]]
        self.variables = {
            name: Variable(name, space, offset, size)
            for name, space, offset, size in described["variables"]
        }
        self._starts = [each.start for each in self.functions]
        self.sources = any(self.place(op) for op in range(len(self.lines)))
        self._describe()

    def function(self, op: int) -> Function:
        """The function of an operation."""
        return self.functions[max(0, bisect.bisect_right(self._starts, op) - 1)]

    def place(self, op: int) -> Inlined | None:
        """The source line of an operation; None for code that the compiler added."""
        line = self.lines[op]
        return self.map.locations[line] if 0 < line < len(self.map.locations) else None

    def location(self, op: int) -> Inlined:
        """As `place`, with the line of the PTX where there is no source line."""
        found = self.place(op) if self.sources else None
        return found or Inlined(Location(f"{self.kernel}.ptx", self.lines[op], 0))

    def _describe(self) -> None:
        """Number the statements, and find the operations that begin one."""
        known: dict[Any, int] = {}
        self.statements: list[int] = []
        self.inlined = bytearray()
        before, line_before, seen = 0, 0, None
        # By function: its first line; under -G the first line of its prologue.
        heads: dict[int, Location] = {}
        for op, line in enumerate(self.lines):
            place = self.place(op) if self.sources else None
            function = bisect.bisect_right(self._starts, op) - 1
            key: Any = (function, line) if not self.sources else None
            prologue = False  # in the prologue, parameters have no values yet
            if place:
                prologue = self.map.debug and heads.setdefault(function, place.at) == place.at
                key = (function, place.at.file, place.at.line, place.callers, prologue)
            number = known.setdefault(key, len(known) + 1) if key and line else 0
            self.inlined.append(min(len(place.callers), 255) if place else 0)
            fresh = op in self._starts or seen != function
            target = any(n in self.map.targets for n in range(line_before + 1, line + 1))
            begins = number and (number != before or fresh or (target and line > line_before))
            self.statements.append(number | (BEGIN if begins and not prologue else 0))
            before, line_before, seen = number or before, line, function

    def statement_bytes(self) -> bytes:
        """The numbers of the statements and the depths, as the driver takes them."""
        numbers = b"".join(each.to_bytes(4, "little") for each in self.statements)
        return numbers + bytes(self.inlined)

    def ops_of_function(self, name: str) -> list[int]:
        """The first operations of functions with a name: a symbol, or a C++ name in full or in
        part.
        """
        found = []
        for index, function in enumerate(self.functions):
            title = function.title
            plain = title.partition("<")[0]
            if name not in (function.name, title, plain, plain.rpartition("::")[2]):
                continue
            end = self._starts[index + 1] if index + 1 < len(self._starts) else len(self.lines)
            begins = [op for op in range(function.start, end) if self.statements[op] & BEGIN]
            found += begins[:1]
        return found

    def ops_of_line(self, file: str, line: int) -> tuple[int, list[int]]:
        """The line with code at or after a line of a file, and where it begins in this kernel.

        Raises
        ------
        LookupError
            The module has no such file, or no code from there on.
        """
        places = self.map.locations if self.sources else []
        lines = {p.at.line for p in places if p and same_file(p.at.file, file)}
        if not self.sources and same_file(f"{self.kernel}.ptx", file):
            lines = set(self.lines)
        later = [each for each in lines if each >= line]
        if not later:
            raise LookupError
        real = min(later)
        found: dict[Any, int] = {}
        for op, statement in enumerate(self.statements):
            at = self.location(op)
            if not (statement & BEGIN and at.at.line == real and same_file(at.at.file, file)):
                continue
            # Optimised code comes back to a line in pieces, exact code does by a loop.
            again = self.map.debug and (self.statements[op - 1] | BEGIN) != statement
            found.setdefault((self.function(op).start, at.callers, op if again else -1), op)
        return real, list(found.values())


def title_of(symbol: str) -> str:
    """The C++ name of a function without its parameters and the type of its result."""
    signature = demangle(symbol)
    depth, start = 0, 0
    for at, letter in enumerate(signature):
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter == "(":
            return signature[start:at]
        if depth == 0 and letter == " ":
            start = at + 1
    return signature


def same_file(path: str, wanted: str) -> bool:
    """Whether a path is the wanted file, which may leave folders out."""
    full, part = os.path.normpath(path), os.path.normpath(wanted)
    return full == part or full.endswith(os.sep + part)


def _function(described: dict[str, Any]) -> Function:
    registers = {}
    for name, element, kind, offset, width in described["registers"]:
        title = name if element == 0 else f"{name}.{'xyzw'[element]}"
        registers[title] = Register(title, kind, offset, width)
    variables = {
        name: Variable(name, space, offset, size)
        for space, key in (("local", "frame"), ("parameter", "parameters"))
        for name, offset, size in described[key]
    }
    return Function(described["name"], described["start"], registers, variables)
