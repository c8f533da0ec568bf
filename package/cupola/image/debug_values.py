# cupola/image/debug_values.py - values of a stopped thread, as NumPy has them.
"""Types of DWARF as NumPy's, and pointers into the thread's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cupola.image import dwarf
from cupola.image.dwarf import Entry

ReadMemory = Callable[[int, int], bytes]  # an address and a size
MAX_NESTING = 32
BASES = {1: "u", 2: "b", 3: "c", 4: "f", 5: "i", 6: "i", 7: "u", 8: "u", 0x10: "u"}
PTX_BASES = {"f": "f", "s": "i", "u": "u", "b": "u"}


class Type:
    """A type: its C++ name, and NumPy's type of an element and its shape.

    `target` is the type that a pointer points to.
    """

    def __init__(
        self,
        name: str,
        dtype: np.dtype[Any],
        shape: tuple[int, ...] = (),
        target: Entry | None = None,
        pointer: bool = False,
        unbounded: bool = False,
    ) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape
        self.target, self.pointer, self.unbounded = target, pointer, unbounded

    @property
    def size(self) -> int:
        """Bytes."""
        return self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))


class Types:
    """Converts types of DWARF."""

    def __init__(self, entries: dict[int, Entry]) -> None:
        self._entries = entries

    def of(self, entry: Entry | None, depth: int = 0) -> Type:
        """The type that a variable's or a member's DW_AT_type names."""
        kind = self.target(entry)
        if kind is None or depth > MAX_NESTING:
            return Type("void", np.dtype(np.uint8))
        name = kind.attributes.get(dwarf.NAME, "")
        if kind.tag in (dwarf.CONST, dwarf.VOLATILE, dwarf.TYPEDEF):
            inner = self.of(kind, depth + 1)
            word = {dwarf.CONST: "const ", dwarf.VOLATILE: "volatile "}.get(kind.tag)
            inner.name = f"{word}{inner.name}" if word else name
            return inner
        if kind.tag in (dwarf.POINTER, dwarf.REFERENCE):
            return Type(self._pointer_name(kind, depth), np.dtype(np.uint64), (), kind, True)
        if kind.tag == dwarf.ARRAY:
            return self._array(kind, depth)
        if kind.tag in (dwarf.STRUCTURE, dwarf.CLASS, dwarf.UNION):
            return Type(name, self._record(kind, depth))
        return Type(name, _base(kind))

    def target(self, entry: Entry | None) -> Entry | None:
        """The entry that DW_AT_type names."""
        return None if entry is None else self._entries.get(entry.attributes.get(dwarf.TYPE, -1))

    def _pointer_name(self, kind: Entry, depth: int) -> str:
        mark = "*" if kind.tag == dwarf.POINTER else "&"
        if self.target(kind) is None or depth > 4:
            return f"void{mark}"
        return f"{self.of(kind, depth + 1).name}{mark}"

    def _array(self, kind: Entry, depth: int) -> Type:
        element = self.of(kind, depth + 1)
        shape, unbounded = [], False
        for each in kind.children:
            if each.tag != dwarf.SUBRANGE:
                continue
            upper, count = (each.attributes.get(n) for n in (dwarf.UPPER, dwarf.COUNT))
            length = count if count is not None else (upper + 1 if upper is not None else 0)
            unbounded |= not 0 < length < 1 << 31
            shape.append(length if 0 < length < 1 << 31 else 0)
        name = element.name + "".join(f"[{n}]" if n else "[]" for n in shape)
        whole = (*shape, *element.shape)
        return Type(name, element.dtype, whole, unbounded=unbounded or not shape)

    def _record(self, kind: Entry, depth: int) -> np.dtype[Any]:
        names: list[str] = []
        formats, offsets = [], []
        for each in kind.children:
            place = each.attributes.get(dwarf.MEMBER_LOCATION, 0)
            if isinstance(place, dwarf.Expression):
                place = _plus(place)
            inner = self.of(each, depth + 1)
            if each.tag == dwarf.INHERITANCE:
                names.append(f"base{len(names)}")
            elif each.tag == dwarf.MEMBER:
                names.append(each.attributes.get(dwarf.NAME) or f"member{len(names)}")
            else:
                continue
            formats.append((inner.dtype, inner.shape) if inner.shape else inner.dtype)
            offsets.append(place)
        size = kind.attributes.get(dwarf.SIZE, 0)
        described = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
        try:
            return np.dtype((np.record, described)) if names else np.dtype((np.void, size))
        except ValueError:  # the bytes of the text contradict each other
            return np.dtype((np.void, size))


def _base(kind: Entry) -> np.dtype[Any]:
    size = kind.attributes.get(dwarf.SIZE, 1)
    letter = "i" if kind.tag == dwarf.ENUMERATION else BASES.get(kind.attributes.get(0x3E, 7), "u")
    try:
        return np.dtype(f"{letter}{size}")
    except TypeError:
        return np.dtype((np.void, size))


def _plus(place: dwarf.Expression) -> int:
    """The offset of a member: DW_OP_plus_uconst."""
    value = shift = 0
    for byte in place.data[1:]:
        value |= (byte & 0x7F) << shift
        shift += 7
    return value


class Pointer:
    """A pointer of a stopped thread; indices read memory, as NumPy's values and arrays."""

    def __init__(self, address: int, kind: Type, types: Types, read: ReadMemory) -> None:
        self._pointed = types.of(kind.target)
        self.address, self.dtype, self.name = address, self._pointed.dtype, kind.name
        self._types, self._read = types, read

    def __getitem__(self, index: Any) -> Any:
        step = self._pointed.size
        if isinstance(index, slice):
            start, stop = index.start or 0, index.stop
            if stop is None or index.step not in (None, 1):
                raise IndexError("a slice of a pointer needs an end, and no step: p[0:8]")
            raw = self._read(self.address + start * step, max(stop - start, 0) * step)
            return np.frombuffer(raw, self.dtype).reshape(-1, *self._pointed.shape)
        raw = self._read(self.address + int(index) * step, step)
        return value_of(raw, self._pointed, self._read, self._types)

    def __int__(self) -> int:
        return self.address

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (int, np.integer, Pointer)):
            return NotImplemented
        return self.address == int(other)

    def __hash__(self) -> int:
        return hash(self.address)

    def __repr__(self) -> str:
        return f"({self.name}) {self.address:#x}"


def value_of(raw: bytes, kind: Type, read: ReadMemory, types: Types) -> Any:
    """A value of a type, from its bytes."""
    if kind.pointer:
        return Pointer(int.from_bytes(raw[:8], "little"), kind, types, read)
    if kind.shape:
        return np.frombuffer(raw, kind.dtype).reshape(kind.shape)
    return np.frombuffer(raw, kind.dtype)[0]


def register_value(raw: bytes, kind: str) -> Any:
    """The value of a PTX register."""
    if kind == "pred":
        return bool(raw[0])
    letter = PTX_BASES.get(kind[:1], "u")
    size = len(raw)
    if size > 8 or kind[1:] != str(8 * size):
        return int.from_bytes(raw, "little")
    return np.frombuffer(raw, f"{letter}{size}")[0]
