# cupola/image/dwarf.py - reads DWARF 2 to 4 from the data sections of a PTX text.
"""Entries of ``.debug_info``. The bytes are not trusted: what is malformed ends the reading.

PTX has addresses by name: of labels, of variables, and of registers, whose names are the number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cupola.image.source_map import Section, SourceMap

MAX_ENTRIES = 1_000_000
MAX_DEPTH = 100

# Tags and attributes that the debugger uses.
ARRAY, CLASS, ENUMERATION, PARAMETER = 0x01, 0x02, 0x04, 0x05
BLOCK, MEMBER, POINTER, REFERENCE = 0x0B, 0x0D, 0x0F, 0x10
STRUCTURE, TYPEDEF, UNION, INHERITANCE, SUBRANGE = 0x13, 0x16, 0x17, 0x1C, 0x21
BASE, CONST, SUBPROGRAM, VARIABLE, VOLATILE = 0x24, 0x26, 0x2E, 0x34, 0x35
LOCATION, NAME, SIZE, LOW, HIGH = 0x02, 0x03, 0x0B, 0x11, 0x12
UPPER, ENCODING, COUNT, MEMBER_LOCATION, TYPE = 0x2F, 0x3E, 0x37, 0x38, 0x49
ORIGIN, SPECIFICATION, ADDRESS_CLASS = 0x31, 0x47, 0x33
LINKAGE = (0x6E, 0x2007)


class Address(NamedTuple):
    """The address of a name, plus a number."""

    name: str
    offset: int


class Expression(NamedTuple):
    """A location: bytes, and the addresses in them by offset."""

    data: bytes
    addresses: dict[int, tuple[str, int]]


@dataclass
class Entry:
    """A debugging information entry."""

    tag: int
    offset: int
    attributes: dict[int, Any] = field(default_factory=dict)
    children: list[Entry] = field(default_factory=list)


class _Reader:
    def __init__(self, section: Section, at: int = 0) -> None:
        self.section, self.at = section, at

    def bytes(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.section.data):
            raise EOFError
        self.at += size
        return bytes(self.section.data[self.at - size : self.at])

    def number(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), "little")

    def address(self, size: int) -> Address | int:
        known = self.section.addresses.get(self.at)
        value = self.number(size)
        return Address(*known) if known else value

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value
            if shift > 512:
                raise EOFError

    def sleb(self) -> int:
        start = self.at
        value = self.uleb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def string(self) -> str:
        end = self.section.data.find(0, self.at)
        if end < 0:
            raise EOFError
        return self.bytes(end - self.at + 1)[:-1].decode(errors="replace")

    def expression(self, size: int) -> Expression:
        start = self.at
        data = self.bytes(size)
        near = {k - start: v for k, v in self.section.addresses.items() if start <= k < self.at}
        return Expression(data, near)


def read(sources: SourceMap) -> tuple[list[Entry], dict[int, Entry]]:
    """The units' entries, and all entries by their offsets; none without DWARF."""
    info, abbreviations = sources.sections.get(".debug_info"), sources.sections.get(".debug_abbrev")
    units: list[Entry] = []
    known: dict[int, Entry] = {}
    if info is None or abbreviations is None:
        return units, known
    reader = _Reader(info)
    try:
        while reader.at < len(info.data):
            start = reader.at
            end = reader.number(4) + reader.at
            version, table = reader.number(2), reader.address(4)
            width = reader.number(1)
            if not 2 <= version <= 4 or width != 8:
                break
            offset = table.offset if isinstance(table, Address) else table
            shapes = _shapes(abbreviations, offset)
            _read_unit(reader, start, end, shapes, sources, units, known)
            reader.at = end
    except (EOFError, KeyError, IndexError):
        pass
    return units, known


def _shapes(section: Section, offset: int) -> dict[int, tuple[int, bool, list[tuple[int, int]]]]:
    reader, shapes = _Reader(section, offset), {}
    while code := reader.uleb():
        tag, children, pairs = reader.uleb(), bool(reader.number(1)), []
        while (pair := (reader.uleb(), reader.uleb())) != (0, 0):
            pairs.append(pair)
        shapes[code] = (tag, children, pairs)
    return shapes


def _read_unit(
    reader: _Reader,
    start: int,
    end: int,
    shapes: dict[int, tuple[int, bool, list[tuple[int, int]]]],
    sources: SourceMap,
    units: list[Entry],
    known: dict[int, Entry],
) -> None:
    open_: list[Entry] = []
    while reader.at < end and len(known) < MAX_ENTRIES:
        offset = reader.at
        code = reader.uleb()
        if code == 0:
            if open_:
                open_.pop()
            continue
        tag, children, pairs = shapes[code]
        entry = Entry(tag, offset)
        for attribute, form in pairs:
            entry.attributes[attribute] = _value(reader, form, start, sources)
        known[offset] = entry
        (open_[-1].children if open_ else units).append(entry)
        if children and len(open_) < MAX_DEPTH:
            open_.append(entry)


def _value(reader: _Reader, form: int, unit: int, sources: SourceMap) -> Any:
    fixed = {0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1}
    references = {0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8}
    blocks = {0x03: 2, 0x04: 4, 0x0A: 1}
    if form == 0x01:
        return reader.address(8)
    if form in fixed or form == 0x17:
        return reader.address(fixed.get(form, 4))
    if form in references:
        return unit + reader.number(references[form])
    if form in blocks:
        return reader.expression(reader.number(blocks[form]))
    if form in (0x09, 0x18):
        return reader.expression(reader.uleb())
    if form == 0x08:
        return reader.string()
    if form == 0x0D:
        return reader.sleb()
    if form == 0x0E:
        place = reader.address(4)
        label, offset = place if isinstance(place, Address) else (".debug_str", place)
        section = sources.sections.get(label)
        return sources.text(label) if section is None else _Reader(section, offset).string()
    if form == 0x0F:
        return reader.uleb()
    if form == 0x10:
        place = reader.address(4)
        return place.offset if isinstance(place, Address) else place
    if form == 0x15:
        return unit + reader.uleb()
    if form == 0x19:
        return 1
    raise EOFError  # the data use a form of another version


class Place(NamedTuple):
    """Where a value is: in a register by its name, or at an address."""

    register: str = ""
    address: Address | None = None
    offset: int = 0


def place_of(expression: Expression) -> Place | None:
    """A location's place; None for kinds of locations that nvcc does not write."""
    section = Section(bytearray(expression.data), dict(expression.addresses))
    reader = _Reader(section)
    place = None
    try:
        while reader.at < len(section.data):
            operation = reader.number(1)
            if operation == 0x90 and place is None:  # DW_OP_regx: the number is the name's bytes
                number = reader.uleb()
                text = number.to_bytes((number.bit_length() + 7) // 8, "big")
                place = Place(text.decode(errors="replace"))
            elif operation == 0x03 and place is None:
                address = reader.address(8)
                if isinstance(address, Address):
                    place = Place("", address)
                else:
                    place = Place("", None, address)
            elif operation == 0x23 and place is not None:
                place = place._replace(offset=place.offset + reader.uleb())
            else:
                return None
    except EOFError:
        return None
    return place


def location(value: Any, sources: SourceMap, line: int) -> Place | None:
    """The place of a variable at a line of the PTX text; None if it has no place at this line."""
    if isinstance(value, Expression):
        return place_of(value)
    section = sources.sections.get(".debug_loc")
    if section is None:
        return None
    reader = _Reader(section, value.offset if isinstance(value, Address) else value)
    try:
        while True:
            low, high = reader.address(8), reader.address(8)
            if not isinstance(low, Address) or not isinstance(high, Address):
                return None  # this entry ends the list
            expression = reader.expression(reader.number(2))
            if covers(sources, low, high, line):
                return place_of(expression)
    except EOFError:
        return None


def covers(sources: SourceMap, low: Any, high: Any, line: int) -> bool:
    """Whether a line of the text is between two labels."""
    if not isinstance(low, Address) or not isinstance(high, Address):
        return False
    first, last = sources.labels.get(low.name), sources.labels.get(high.name)
    return first is not None and last is not None and first < line < last
