# cupola/image/source_map.py - the source lines, labels and data sections of a PTX text.
"""Reads ``.file``, ``.loc``, labels and ``.section`` of PTX. The text is not trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')
LOC = re.compile(
    r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)"
    r"(?:\s*,\s*function_name\s+(\S+?)\s*,\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?"
)
LABEL = re.compile(r"([\w$%.]+):")
HEAD = re.compile(r"(?:\.(?:visible|weak|extern)\s+){0,2}\.(?:entry|func)\b")
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
    files: dict[int, str]
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
    files = {int(number): name for number, name in FILE.findall(text)}
    found = SourceMap(lines, False, files, [None], {}, set(), {})
    _read_sections(lines, found)
    place: Inlined | None = None
    inlined: dict[tuple[str, ...], Inlined] = {}
    inside = False
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if bare.startswith(".target"):
            found.debug = "debug" in bare.split("//")[0]
        elif HEAD.match(bare):
            place, inlined = None, {}
        elif bare.startswith(".section"):
            inside = True
        elif bare == "}":
            inside = False
        elif match := LOC.match(bare):
            place = _location(match, files, found, inlined)
        elif not inside and (match := LABEL.match(bare)):
            found.labels[match[1]] = number
            if not match[1].startswith(MARKS):
                found.targets.add(number)
        found.locations.append(None if inside else place)
    return found


def _location(
    match: re.Match[str],
    files: dict[int, str],
    found: SourceMap,
    inlined: dict[tuple[str, ...], Inlined],
) -> Inlined | None:
    file, line, column, function, *caller = match.groups()
    if int(file) not in files or int(line) == 0:
        return None
    place = Inlined(Location(files[int(file)], int(line), int(column)))
    if function and int(caller[0]) in files:
        at = Location(files[int(caller[0])], int(caller[1]), int(caller[2]))
        label, _, offset = function.partition("+")
        name = _string(found, label, int(offset) if offset.isdigit() else 0)
        around = inlined.get(tuple(caller))  # the caller may be inlined itself
        outer = around.callers if around else ()
        place = Inlined(place.at, ((name, at), *outer)[:MAX_INLINED])
    inlined[(file, line, column)] = place
    return place


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
