# cupola/image/cubin.py - reads kernels' layouts from cubins, and cubins from fatbins.
"""Bounded readers of fatbins and of CUDA's ELF files.

Every offset and size is checked against the data; one that does not fit raises ImageError.

cupola.build uses this module, also before cupola can be imported: its imports are relative.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..exceptions import ImageError
from .unpack import UnpackerMissingError, unpack

_LZ4, _ZSTD = 0x2000, 0x8000  # flags of an entry

FATBIN_MAGIC = 0xBA55ED50
EM_CUDA = 190
SHT_NOBITS = 8
STO_CUDA_ENTRY = 0x10  # in a symbol's st_other: a kernel, not a device function

# Attributes in .nv.info sections.
REGISTER_COUNT = 0x2F
FRAME_SIZE = 0x11
STACK_SIZE = 0x12  # of a function with all functions that it calls, if the linker knows them
PARAMETER = 0x17

# Since sm_90 a kernel's shared memory starts with bytes reserved by the system; a section of this
# name has their size. The driver and ptxas do not count them.
RESERVED_SHARED = 1024


def _unpack(layout: str, data: memoryview, offset: int, what: str) -> tuple[int, ...]:
    if offset < 0 or offset + struct.calcsize(layout) > len(data):
        raise ImageError(f"{what} at offset {offset} lies outside of the {len(data)} bytes")
    return struct.unpack_from(layout, data, offset)


def _slice(data: memoryview, offset: int, size: int, what: str) -> memoryview:
    if offset < 0 or size < 0 or offset + size > len(data):
        raise ImageError(f"{what} ({size} bytes at offset {offset}) passes the end of the data")
    return data[offset : offset + size]


def _text(data: memoryview, offset: int, what: str) -> str:
    if offset >= len(data):
        raise ImageError(f"{what}: name at offset {offset} lies outside of the string table")
    return bytes(data[offset : offset + 65536]).split(b"\0", 1)[0].decode("utf-8", "replace")


@dataclass(frozen=True)
class Entry:
    """One piece of code in a fatbin."""

    kind: str  # "ptx" or "cubin", else the number
    architecture: int
    payload: bytes
    compressed: bool = False  # and the payload still is


def read_fatbin(image: bytes | memoryview, *, everything: bool = False) -> list[Entry]:
    """The entries of a fatbin, in their order.

    Compressed entries, and those of other kinds, are an error unless ``everything`` is set. It
    decompresses them, where this machine can.
    """
    data = memoryview(image)
    magic, version, header, size = _unpack("<IHHQ", data, 0, "fatbin header")
    if magic != FATBIN_MAGIC:
        raise ImageError("not a fatbin: wrong magic number")
    if version != 1 or header < 16:
        raise ImageError(f"fatbin of unknown version {version} with a header of {header} bytes")
    body = _slice(data, header, size, "fatbin body")
    entries = []
    offset = 0
    while offset < len(body):
        what = f"fatbin entry at offset {header + offset}"
        kind, _, head, padded, packed = _unpack("<HHIQI", body, offset, what)
        architecture = _unpack("<I", body, offset + 28, what)[0]
        flags = _unpack("<Q", body, offset + 40, what)[0]
        if head < 64:
            raise ImageError(f"{what}: its header has {head} bytes")
        compressed = bool(packed or flags & (_LZ4 | _ZSTD))
        if compressed and not everything:
            raise ImageError(f"{what} is compressed (build it with -no-compress)")
        if kind not in (1, 2) and not everything:
            raise ImageError(f"{what}: unknown kind {kind}")
        payload = bytes(_slice(body, offset + head, padded, what))
        if compressed:
            size = _unpack("<Q", body, offset + 56, what)[0]
            with contextlib.suppress(UnpackerMissingError):
                payload = unpack(payload[: packed or padded], size, bool(flags & _ZSTD))
                compressed = False
        if kind == 1 and not compressed:
            payload = payload.split(b"\0", 1)[0]
        name = {1: "ptx", 2: "cubin"}.get(kind, f"kind {kind}")
        entries.append(Entry(name, architecture, payload, compressed))
        offset += head + padded
    return entries


@dataclass(frozen=True)
class Section:
    """An ELF section; ``data`` is empty where the file has no bytes for it."""

    name: str
    kind: int
    size: int
    link: int
    data: memoryview


@dataclass
class Parameter:
    """A parameter's offset and size, in bytes."""

    offset: int
    size: int


@dataclass
class Kernel:
    """A kernel's data in a cubin, in bytes except for registers."""

    name: str
    parameters: list[Parameter] = field(default_factory=list)
    registers: int = 0
    shared: int = 0
    local: int = 0  # a thread's stack: the kernel's frame and those of called functions
    constant: int = 0


def architecture_of(image: bytes) -> int:
    """The architecture of a cubin: 90 is sm_90."""
    if len(image) < 64 or image[:4] != b"\x7fELF":
        raise ImageError("not a cubin: no 64-bit little-endian ELF header")
    # In the flags; one byte higher since toolkit 13 (ABI version 8).
    flags = int.from_bytes(image[48:52], "little")
    return flags >> 8 & 0xFF if image[8] >= 8 else flags & 0xFF


def read_cubin(image: bytes) -> list[Kernel]:
    """All kernels of a cubin, by name."""
    sections = _sections(memoryview(image))
    by_name = {section.name: section for section in sections}
    names = _kernel_names(sections)
    kernels = {name: Kernel(name) for name in names.values()}
    reserved = RESERVED_SHARED if ".nv.shared.reserved.0" in by_name else 0
    constant = by_name[".nv.constant3"].size if ".nv.constant3" in by_name else 0
    for name, kernel in kernels.items():
        kernel.constant = constant
        if f".nv.shared.{name}" in by_name:
            kernel.shared = by_name[f".nv.shared.{name}"].size - reserved
        if f".nv.info.{name}" in by_name:
            kernel.parameters = _parameters(by_name[f".nv.info.{name}"], name)
    if ".nv.info" in by_name:
        for attribute, payload in _attributes(by_name[".nv.info"]):
            if attribute not in (REGISTER_COUNT, FRAME_SIZE, STACK_SIZE):
                continue
            symbol, value = _unpack("<II", payload, 0, ".nv.info")
            if symbol not in names:
                continue
            kernel = kernels[names[symbol]]
            if attribute == REGISTER_COUNT:
                kernel.registers = value
            else:
                kernel.local = max(kernel.local, value)
    return [kernels[name] for name in sorted(kernels)]


def _sections(data: memoryview) -> list[Section]:
    if bytes(data[:6]) != b"\x7fELF\x02\x01":
        raise ImageError("not a cubin: no 64-bit little-endian ELF header")
    if _unpack("<H", data, 0x12, "ELF header")[0] != EM_CUDA:
        raise ImageError("not a cubin: an ELF file of another machine")
    start = _unpack("<Q", data, 0x28, "ELF header")[0]
    entry, count, names = _unpack("<HHH", data, 0x3A, "ELF header")
    if entry != 64 or names >= count:
        raise ImageError("cubin with an impossible section table")
    headers = [
        _unpack("<IIQQQQIIQQ", data, start + i * entry, f"section header {i}") for i in range(count)
    ]

    def content(i: int) -> memoryview:
        kind, offset, size = headers[i][1], headers[i][4], headers[i][5]
        return data[:0] if kind in (0, SHT_NOBITS) else _slice(data, offset, size, f"section {i}")

    strings = content(names)
    return [
        Section(_text(strings, head[0], f"section {i}"), head[1], head[5], head[6], content(i))
        for i, head in enumerate(headers)
    ]


def _kernel_names(sections: list[Section]) -> dict[int, str]:
    """Names of kernels by the index of their symbol."""
    table = next((section for section in sections if section.name == ".symtab"), None)
    if table is None:
        return {}
    if table.link >= len(sections):
        raise ImageError(f"symbol table with an impossible string table {table.link}")
    strings = sections[table.link].data
    found = {}
    for index in range(len(table.data) // 24):
        name, _, other = _unpack("<IBB", table.data, index * 24, "symbol")
        if other & STO_CUDA_ENTRY:
            found[index] = _text(strings, name, f"symbol {index}")
    return found


def _attributes(section: Section) -> Iterator[tuple[int, memoryview]]:
    data, offset = section.data, 0
    while offset < len(data):
        form, attribute, value = _unpack("<BBH", data, offset, section.name)
        if form == 4:
            yield attribute, _slice(data, offset + 4, value, section.name)
            offset += value
        elif form not in (1, 2, 3):  # the word itself is the value
            raise ImageError(f"{section.name}: unknown form {form} at offset {offset}")
        offset += 4


def _parameters(section: Section, kernel: str) -> list[Parameter]:
    found: dict[int, Parameter] = {}
    for attribute, payload in _attributes(section):
        if attribute == PARAMETER:
            _, ordinal, offset, word = _unpack("<IHHI", payload, 0, section.name)
            found[ordinal] = Parameter(offset, word >> 18)
    ordered = [found[ordinal] for ordinal in sorted(found)]
    if sorted(found) != list(range(len(found))):
        raise ImageError(f"{kernel}: parameters {sorted(found)} are not numbered from 0")
    end = 0
    for i, parameter in enumerate(ordered):
        if parameter.offset < end or parameter.size == 0:
            raise ImageError(f"{kernel}: parameter {i} overlaps the one before it")
        end = parameter.offset + parameter.size
    return ordered
