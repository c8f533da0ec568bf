# cupola/tools/debug/breakpoints.py - breakpoints by function or line, with conditions.
"""The table of breakpoints, and where they are in a kernel's code."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cupola.exceptions import ArgumentValueError
from cupola.tools.debug.code import Code
from cupola.tools.debug.protocol import Gone
from cupola.tools.debug.stopped_launch import StoppedLaunch, Triple, number_of

LINE = re.compile(r"(?:(.+):)?([0-9]{1,9})")
# A symbol or a C++ name, such as step<16, 16>, ns::f, operator+ or (anonymous namespace)::f.
FUNCTION = re.compile(r"(?:::)?[A-Za-z_$(~](?:[^:]|::)*")
MAX_INDEX = (1 << 31) - 1


@dataclass
class Breakpoint:
    """A place to stop: a function, or a line of a file.

    `block` and `thread` are indices that the driver compares; `condition` is the rest.
    """

    number: int
    file: str = ""
    line: int = 0
    function: str = ""
    block: Triple | None = None
    thread: Triple | None = None
    condition: str = ""
    temporary: bool = False
    enabled: bool = True
    ignore: int = 0
    hits: int = 0
    real_line: int = 0  # the line where a kernel has the breakpoint; 0 until then
    found: bool = False  # a kernel has it
    blank: bool = False  # the file's line has no text

    @property
    def place(self) -> str:
        """The place of the breakpoint, as the user gave it."""
        return "*" if self.every else self.function or f"{self.file}:{self.line}"

    @property
    def every(self) -> bool:
        """Whether it is at the first line of each kernel."""
        return not self.function and not self.file

    def ops(self, code: Code) -> list[int]:
        """Where it is in a kernel's code."""
        if self.every:
            return code.ops_of_function(code.kernel)
        if self.function:
            return code.ops_of_function(self.function)
        try:
            self.real_line, found = code.ops_of_line(self.file, self.line)
        except LookupError:
            return []
        return found

    def note(self, code: Code) -> bool:
        """Find it in a kernel's code; whether it was found for the first time."""
        before, self.found = self.found, self.found or bool(self.ops(code))
        return self.found and not before

    def stops(self, stop: StoppedLaunch) -> bool:
        """Whether a hit stops: selects the first lane for which the condition is true.

        A condition that raises an error stops, too: it would be missed otherwise.
        """
        if self.condition:
            mask, chosen = stop.mask, None
            while mask and chosen is None:
                lane = (mask & -mask).bit_length() - 1
                mask &= mask - 1
                stop.select(stop.warp, lane)
                try:
                    if stop.evaluate(self.condition):
                        chosen = lane
                except Gone:
                    raise
                except Exception as error:
                    stop.event["error"] = f"condition '{self.condition}': {error}"
                    chosen = lane
            if chosen is None:
                return False
        if self.ignore > 0:
            self.ignore -= 1
            return False
        self.hits += 1
        return True


class Breakpoints:
    """The breakpoints of a session, by their numbers."""

    def __init__(self) -> None:
        self.table: dict[int, Breakpoint] = {}
        self._last = 0

    def add(self, place: str, condition: str = "", *, file: str = "", **fields: Any) -> Breakpoint:
        """Add a breakpoint at ``FUNCTION``, ``FILE:LINE``, or ``LINE`` of `file`.

        Raises
        ------
        ArgumentValueError
            The place or the condition cannot be read.
        """
        made = Breakpoint(self._last + 1, **fields)
        if match := LINE.fullmatch(place):
            made.file, made.line = match[1] or file, int(match[2])
            if not made.file:
                raise ArgumentValueError(f"breakpoint {place}: no file is shown; use FILE:LINE")
            _check_line(made)
        elif place != "*":
            if not FUNCTION.fullmatch(place):
                raise ArgumentValueError(
                    f"breakpoint '{place}': expected KERNEL, FUNCTION, FILE:LINE or LINE"
                )
            made.function = place
        self.set_condition(made, condition)
        self._last = made.number
        self.table[made.number] = made
        return made

    @staticmethod
    def set_condition(point: Breakpoint, condition: str) -> None:
        """Set a condition: ``block == (x, y, z)`` and ``thread == (x, y, z)`` go to the driver.

        Raises
        ------
        ArgumentValueError
            It is not an expression of Python.
        """
        try:
            tree = ast.parse(condition.strip() or "True", mode="eval").body
        except SyntaxError as error:
            raise ArgumentValueError(f"condition '{condition}': {error.msg}") from error
        except (ValueError, MemoryError, RecursionError) as error:  # NUL, or too deep
            raise ArgumentValueError(
                f"condition '{condition[:40]}': {error or 'too deep'}"
            ) from error
        parts = [tree]
        if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
            parts = list(tree.values)
        rest = []
        for part in parts:
            name, index = _index_of(part)
            if name:
                setattr(point, name, index)
            else:
                rest.append(ast.unparse(part))
        point.condition = " and ".join(f"({each})" for each in rest) if condition.strip() else ""

    def resolve(self, code: Code, shape: Triple) -> str:
        """The lines by which the driver takes the breakpoints of a kernel."""
        lines = []
        for point in self.table.values():
            if not point.enabled:
                continue
            block = ",".join(map(str, point.block)) if point.block else "*"
            thread = str(number_of(point.thread, shape)) if point.thread else "*"
            lines += [f"{point.number} {op} {block} {thread}" for op in point.ops(code)]
        return "\n".join(lines)

    def unreachable(self, without_lines: list[str]) -> list[str]:
        """A message for each breakpoint that no kernel has had.

        Parameters
        ----------
        without_lines
            The kernels that have no lines of a source.
        """
        hint = ""
        if without_lines:
            names = ", ".join(sorted(without_lines)[:5])
            hint = f"; no line information is in {names}: compile with -lineinfo or -G"
        return [
            f"Breakpoint {point.number} at {point.place}: no kernel that was launched has code "
            f"there{hint if point.file else ''}"
            for point in self.table.values()
            if not point.found and not point.every and point.enabled
        ]

    def hit(self, stop: StoppedLaunch) -> list[Breakpoint]:
        """The breakpoints that stop here; removes temporary ones."""
        known = [self.table[n] for n in stop.event["breakpoints"] if n in self.table]
        found = [point for point in known if point.stops(stop)]
        for point in found:
            if point.temporary:
                del self.table[point.number]
        return found


def _check_line(point: Breakpoint) -> None:
    """Refuse a line that the file cannot have; a file that cannot be read here may be elsewhere."""
    if point.line == 0:
        raise ArgumentValueError(f"breakpoint {point.place}: lines are counted from 1")
    lines = _lines(point.file)
    if lines is not None and point.line > len(lines):
        raise ArgumentValueError(f"breakpoint {point.place}: the file has {len(lines)} lines")
    point.blank = lines is not None and not lines[point.line - 1].strip()


def _lines(file: str) -> list[str] | None:
    try:
        return Path(file).read_text(errors="replace").splitlines()
    except (OSError, ValueError):
        return None


def _index_of(node: ast.expr) -> tuple[str, Triple | None]:
    """``block == (0, 0, 0)`` as ("block", (0, 0, 0)); ("", None) for other nodes."""
    if not (isinstance(node, ast.Compare) and len(node.ops) == 1):
        return "", None
    name, right = node.left, node.comparators[0]
    if not (isinstance(name, ast.Name) and name.id in ("block", "thread")):
        return "", None
    try:
        value = ast.literal_eval(right)
    except (ValueError, TypeError):
        return "", None
    whole = isinstance(value, tuple) and len(value) == 3 and all(type(n) is int for n in value)
    known = whole and min(value) >= 0 and max(value) <= MAX_INDEX
    if not (known and isinstance(node.ops[0], ast.Eq)):
        return "", None
    return name.id, value
