# cupola/tools/debug/shared_arrays.py - shared arrays of functions, which NVRTC's DWARF lacks.
"""Entries for ``__shared__`` variables of functions. NVRTC's ``-G`` does not describe them.

The PTX has their names and sizes. The type of an element is that of the instructions that access
the variable. PTX does not tell signed from unsigned integers: they are signed here. Dimensions are
lost.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from cupola.image import dwarf
from cupola.image.dwarf import Entry, Expression
from cupola.tools.debug.code import Code, Variable

SYMBOL = re.compile(r"E(\d+)")
NUMBER = re.compile(
    r"(?:_\d|__\d+_)?"
)  # the ending of the name of a second variable with the same name
STATEMENT = re.compile(r"(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+([^;]*);")
OPERAND = re.compile(r"[%$\w]+")
ACCESS = re.compile(r"(?:ld|st|atom|red)\.")
ADDRESSES = re.compile(r"(?:mov|cvta|cvt|add|sub|mad|or)\.")  # instructions that pass an address on
TYPE = re.compile(r"\.(f|s|u|b)(8|16|32|64)$")
REGISTER = re.compile(r"\.reg\s+\.(\w+)\s+%([A-Za-z]+)<")
NAMES = {"f2": "half", "f4": "float", "f8": "double", "i1": "char", "i2": "short"}
NAMES |= {"i4": "int", "i8": "long long"}
ENCODINGS = {"f": 4, "i": 5}
ADDRESS = b"\x03" + bytes(8)  # DW_OP_addr, and an address by name


def add(code: Code, units: list[Entry], entries: dict[int, Entry]) -> None:
    """Add entries for the shared variables of the kernel's code that DWARF does not have."""
    known = {
        name
        for entry in entries.values()
        if isinstance(place := entry.attributes.get(dwarf.LOCATION), Expression)
        for name, _ in place.addresses.values()
    }
    missing = [
        each
        for each in code.variables.values()
        if each.space == "shared" and each.name not in known and name_of(each.name)
    ]
    if not units or not missing:
        return
    types = element_types([each.name for each in missing], code.map.lines)
    for variable in missing:
        _add(variable, types[variable.name], units[0], entries)


def _add(variable: Variable, kind: str, unit: Entry, entries: dict[int, Entry]) -> None:
    size = int(kind[1:])
    if size == 0 or variable.size % size:
        kind, size = "i1", 1
    free = min(entries, default=0) - 1  # real offsets are not negative
    base = Entry(dwarf.BASE, min(free, -1))
    base.attributes = {
        dwarf.NAME: NAMES[kind], dwarf.SIZE: size, dwarf.ENCODING: ENCODINGS[kind[0]],
    }  # fmt: skip
    count = Entry(dwarf.SUBRANGE, base.offset - 1, {dwarf.COUNT: variable.size // size})
    array = Entry(dwarf.ARRAY, base.offset - 2, {dwarf.TYPE: base.offset}, [count])
    whole = base if variable.size == size else array
    place = Expression(ADDRESS, {1: (variable.name, 0)})
    named = {
        dwarf.NAME: name_of(variable.name), dwarf.LOCATION: place, dwarf.TYPE: whole.offset,
    }  # fmt: skip
    made = Entry(dwarf.VARIABLE, base.offset - 3, named)
    entries |= {each.offset: each for each in (base, count, array, made)}
    unit.children.append(made)


def name_of(symbol: str) -> str:
    """``tile`` of ``_ZZ4leftE4tile``, a variable of a function; "" for other symbols."""
    if not symbol.startswith("_ZZ"):
        return ""
    for found in reversed(list(SYMBOL.finditer(symbol))):
        size, rest = int(found[1][:6]), symbol[found.end() :]
        if 0 < size <= len(rest) and NUMBER.fullmatch(rest[size:]):
            return rest[:size]
    return ""


def element_types(symbols: Iterable[str], lines: list[str]) -> dict[str, str]:
    """The type of the elements of each variable, such as "f4".

    "i1" where nothing accesses the variable by its name, or instructions of different types do.
    """
    wanted, found = set(symbols), defaultdict[str, set[str]](set)
    holders: dict[str, str] = {}  # the variable whose address a register of the function has
    registers: dict[str, str] = {}
    for line in lines:
        bare = line.strip()
        if ".entry" in bare or ".func" in bare:
            holders, registers = {}, {}
        if declared := REGISTER.match(bare):
            registers[declared[2]] = declared[1]
        statement = STATEMENT.match(bare.removeprefix("{").strip())
        if not statement:
            continue
        operation, operands = statement[1], OPERAND.findall(statement[2])
        if ACCESS.match(operation):
            inside = re.search(r"\[([%$\w]+)", statement[2])
            base = inside[1] if inside else ""
            if (symbol := base if base in wanted else holders.get(base, "")) in wanted:
                found[symbol].add(_type_of(operation, operands, registers))
        elif operands:
            given = [holders.get(one, one) for one in operands[1:]]
            of = {one for one in given if one in wanted}
            holders.pop(operands[0], None)
            if ADDRESSES.match(operation) and len(of) == 1:
                holders[operands[0]] = of.pop()
    return {each: _common(found[each]) for each in wanted}


def _common(kinds: set[str]) -> str:
    """The type of all accesses. The constants of a float variable are stored as integers."""
    floats = {kind for kind in kinds if kind[0] == "f"}
    if len(floats) == 1 and kinds <= floats | {f"i{next(iter(floats))[1:]}"}:
        kinds = floats
    return next(iter(kinds)) if len(kinds) == 1 else "i1"


def _type_of(operation: str, operands: list[str], registers: dict[str, str]) -> str:
    kind = TYPE.search(operation)
    if kind is None:
        return "i1"
    letter, bits = kind[1], int(kind[2])
    if letter == "b":  # .b32 names no type: use the type of the value's register
        for one in operands:
            declared = registers.get(re.sub(r"\d+$", "", one.removeprefix("%")), "")
            if declared == f"f{bits}":
                letter = "f"
    return f"{'f' if letter == 'f' and bits >= 16 else 'i'}{bits // 8}"
