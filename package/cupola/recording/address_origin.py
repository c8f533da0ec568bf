# cupola/recording/address_origin.py - the argument that an instruction's address comes from.
"""Follows registers of a PTX text from an access back to the parameters that its address is of."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)[^,\[]*?([\w$%]+)(?:\[(\d+)\])?\s*$"
)
_STATEMENT = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+(.*?);", re.DOTALL)
_REGISTER = re.compile(r"%[\w$]+")
_FROM_PARAMETER = re.compile(r"\[\s*([\w$]+)\s*(?:\+\s*(\d+))?\s*\]")
_OPERATIONS = ("add", "sub", "mad", "cvta", "mov", "selp", "cvt", "shl", "or")
_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}


def offsets(ptx: str, kernel: str, line: int) -> set[int]:
    """The offsets of the arguments whose 64-bit values the address at a line is made of.

    Parameters
    ----------
    ptx : str
    kernel : str
        The kernel's name.
    line : int
        The line of the access in the text, from 1.

    Returns
    -------
    set of int
        Offsets among the arguments. Empty where the text does not tell: the address was loaded
        from memory, or the line is in another function.
    """
    found = _body(ptx, kernel)
    if found is None:
        return set()
    parameters, first, body = found
    lines = body.split("\n")
    if not 0 <= line - first < len(lines):
        return set()
    access = _STATEMENT.match(lines[line - first])
    if access is None or "[" not in access[2]:
        return set()
    address = access[2][access[2].index("[") :].partition("]")[0]
    made = _definitions(lines)
    offsets: set[int] = set()
    todo, seen = set(_REGISTER.findall(address)), set[str]()
    while todo:
        register = todo.pop()
        seen.add(register)
        for operation, operands in made.get(register, ()):
            kind = operation.split(".")[0]
            source = _FROM_PARAMETER.search(operands)
            if operation.startswith("ld.param") and operation.endswith("64") and source:
                if source[1] in parameters:
                    offsets.add(parameters[source[1]] + int(source[2] or 0))
            elif kind in _OPERATIONS:
                todo |= set(_REGISTER.findall(operands)) - seen
    return offsets


def _body(ptx: str, kernel: str) -> tuple[dict[str, int], int, str] | None:
    """A kernel's parameters with their offsets, the line of its body's begin, and the body."""
    for entry in _ENTRY.finditer(ptx):
        if entry[1] != kernel:
            continue
        begin = entry.end()
        end = ptx.find("\n}", begin)
        return _placed(entry[2]), ptx.count("\n", 0, begin) + 1, ptx[begin : max(end, begin)]
    return None


def _placed(declared: str) -> dict[str, int]:
    at, found = 0, {}
    for text in declared.split(","):
        one = _PARAMETER.search(text.strip())
        if one is None:
            break
        size = _SIZES.get(re.sub(r"\D", "", one[2]), 1)
        align = int(one[1] or size) or 1
        at = -(-at // align) * align
        found[one[3]] = at
        at += size * int(one[4] or 1)
    return found


def _definitions(lines: list[str]) -> dict[str, list[tuple[str, str]]]:
    """For each register, the operations that write it, with their sources."""
    made: dict[str, list[tuple[str, str]]] = {}
    for operation, operands in _statements(lines):
        target, _, sources = operands.partition(",")
        if _REGISTER.fullmatch(target.strip()):
            made.setdefault(target.strip(), []).append((operation, sources))
    return made


def _statements(lines: list[str]) -> Iterator[tuple[str, str]]:
    for text in lines:
        if found := _STATEMENT.match(text):
            yield found[1], found[2]
