# cupola/image/source_map.py - the source lines, labels and data sections of a PTX text.
"""Reads labels and ``.section`` of PTX, and joins them to the lines that `reader.read_lines` gives.

The text is not trusted.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from cupola.image import reader

LABEL = re.compile(r"([\w$%.]+):")
DATA = re.compile(r"\.(b8|b16|b32|b64)\s+(.*?);?$")
BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}
# Labels that no branch goes to.
MARKS = ("$L__tmp", "$L__func", "$L__info", "$L__debug")
MAX_INLINED = 64


class Location(NamedTuple):
    """A place in a source file."""

    file: str
    line: int
    column: int


class Inlined(NamedTuple):
    """A location, and the calls that were inlined around it, the outermost last."""

    at: Location
    callers: tuple[tuple[str, Location], ...] = ()  # the callee's name, and where it was called


@dataclass
class Section:
    """The bytes of a section, and the addresses in it, by their offsets: a name and a number."""

    data: bytearray = field(default_factory=bytearray)
    addresses: dict[int, tuple[str, int]] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)


@dataclass
class SourceMap:
    """The source lines, labels and data of a PTX text."""

    lines: list[str]
    debug: bool  # compiled with -G
    locations: list[Inlined | None]  # the source location of each line of the PTX, from line 1 on
    labels: dict[str, int]  # the line of each
    targets: set[int]  # lines of labels that branches may go to
    sections: dict[str, Section]

    def text(self, label: str) -> str:
        """The string at a label of a data section; empty if there is none."""
        for section in self.sections.values():
            if label in section.labels:
                start = section.labels[label]
                end = section.data.find(0, start)
                return section.data[start : end if end >= 0 else None].decode(errors="replace")
        return ""


def read(text: str) -> SourceMap:
    """Read a PTX text. Malformed parts are left out."""
    lines = text.split("\n")
    found = SourceMap(lines, False, [], {}, set(), {})
    _read_sections(lines, found)
    inside = False
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if bare.startswith(".target"):
            found.debug = "debug" in bare.split("//")[0]
        elif bare.startswith(".section"):
            inside = True
        elif bare == "}":
            inside = False
        elif not inside and (match := LABEL.match(bare)):
            found.labels[match[1]] = number
            if not match[1].startswith(MARKS):
                found.targets.add(number)
    found.locations = _locations(text, found)
    return found


def _locations(text: str, found: SourceMap) -> list[Inlined | None]:
    read = reader.read_lines(text.encode())

    callers: list[tuple[tuple[str, Location], ...]] = [()]
    for parent, file, line, column, function in read.calls[1:]:  # a parent stands before its calls
        label, _, offset = function.partition("+")
        name = _string(found, label, int(offset) if offset.isdigit() else 0)
        at = Location(read.files[file], line, column)
        callers.append(((name, at), *callers[parent])[:MAX_INLINED])

    @functools.cache
    def inlined(place: tuple[int, int, int, int] | None) -> Inlined | None:
        if place is None or place[1] == 0:  # code that the compiler added has line 0
            return None
        file, line, column, call = place
        return Inlined(Location(read.files[file], line, column), callers[call])

    return [inlined(place) for place in read.places]


def _string(found: SourceMap, label: str, offset: int) -> str:
    section = found.sections.get(label)
    if section is None:
        return found.text(label)
    end = section.data.find(0, offset)
    return section.data[offset : end if end >= 0 else None].decode(errors="replace")


def _read_sections(lines: list[str], found: SourceMap) -> None:
    section: Section | None = None
    for line in lines:
        bare = line.strip()
        if bare.startswith(".section"):
            name = bare.split()[1].rstrip("{") if len(bare.split()) > 1 else ""
            section = found.sections.setdefault(name, Section())
        elif bare == "}":
            section = None
        elif section is not None:
            if match := LABEL.match(bare):
                section.labels[match[1]] = len(section.data)
                bare = bare[match.end() :].strip()
            if match := DATA.match(bare):
                for word in match[2].split(","):
                    _append(section, word.strip(), BYTES[match[1]])


def _append(section: Section, word: str, size: int) -> None:
    try:
        section.data += (int(word, 0) % (1 << 8 * size)).to_bytes(size, "little")
    except ValueError:
        name, _, offset = word.partition("+")
        plain = offset.strip().isdigit()
        section.addresses[len(section.data)] = (name.strip(), int(offset) if plain else 0)
        section.data += bytes(size)
