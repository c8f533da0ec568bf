# cupola/tools/debug/stopped_launch.py - threads, frames, variables and memory of a stopped launch.
"""A stopped launch, as a front end shows it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cupola.exceptions import Error
from cupola.image import dwarf
from cupola.image.debug_values import Type, Types, register_value, value_of
from cupola.image.dwarf import Entry, Place
from cupola.image.source_map import Inlined, Location
from cupola.tools.debug import shared_arrays
from cupola.tools.debug.code import Code, Register, Variable, title_of
from cupola.tools.debug.protocol import Requests

LANES = 32
REGISTER = re.compile(r"%[\w$]+(?:\.[xyzw])?")
Triple = tuple[int, int, int]


@dataclass
class Frame:
    """A function's call in a thread; `level` 0 is where the thread is."""

    level: int  # the depth of the calls that were not inlined
    op: int
    base: int  # the address of the frame's variables in the thread's local memory
    name: str
    at: Location
    inlined: bool = False  # the call that leads to the function of the next frame


class Dim(tuple[int, int, int]):
    """Three numbers with CUDA's names."""

    __slots__ = ()
    x = property(lambda self: self[0])
    y = property(lambda self: self[1])
    z = property(lambda self: self[2])


def triple_of(number: int, shape: Triple) -> Triple:
    """The index of a thread of a block."""
    return number % shape[0], number // shape[0] % shape[1], number // shape[0] // shape[1]


def number_of(index: Triple, shape: Triple) -> int:
    """The number of a thread in its block."""
    return (index[2] * shape[1] + index[1]) * shape[0] + index[0]


class StoppedLaunch:
    """A stopped block, and the thread and frame that are looked at."""

    def __init__(
        self, event: dict[str, Any], launch: dict[str, Any], code: Code, requests: Requests
    ) -> None:
        self.event, self.launch, self.code, self.requests = event, launch, code, requests
        self.reason: str = event["reason"]
        self.block: Triple = tuple(event["block"])
        self.shape: Triple = tuple(launch["block"])
        self.warps: list[dict[str, Any]] = event["warps"]
        self.warp: int = event["warp"]
        self.mask: int = event["lanes"]
        self.units, self.entries = dwarf.read(code.map)
        shared_arrays.add(code, self.units, self.entries)
        self.types = Types(self.entries)
        self.select(self.warp, (self.mask & -self.mask).bit_length() - 1)

    # Threads

    def select(self, warp: int, lane: int) -> None:
        """Look at a lane's innermost frame."""
        self.warp, self.lane, self.depth = warp, lane, 0
        self.frames = list(self._frames())

    def select_thread(self, index: Triple) -> None:
        """Look at a thread of the block by its index. Raises `Error` if there is none."""
        inside = all(0 <= n < most for n, most in zip(index, self.shape, strict=True))
        number = number_of(index, self.shape)
        if not inside or not self.warps[number // LANES]["live"] >> number % LANES & 1:
            raise Error(f"thread {_text(index)}: the block has no such running thread")
        self.select(number // LANES, number % LANES)

    @property
    def thread(self) -> Triple:
        """The index of the thread that is looked at."""
        return triple_of(self.warp * LANES + self.lane, self.shape)

    @property
    def frame(self) -> Frame:
        """The frame that is looked at."""
        return self.frames[self.depth]

    @property
    def active(self) -> int:
        """The lanes that run with the lane that is looked at, as a mask."""
        for mask, _, _ in self.warps[self.warp]["groups"]:
            if mask >> self.lane & 1:
                return int(mask)
        return 0

    def _frames(self) -> Iterator[Frame]:
        stack = self.requests.ask_json("stack", self.warp, self.lane)
        for level, (op, base) in enumerate(stack):
            place: Inlined = self.code.location(op)
            at = place.at
            for name, caller in place.callers:
                yield Frame(level, op, base, title_of(name), at, True)
                at = caller
            yield Frame(level, op, base, self.code.function(op).title, at)

    # Memory and registers

    def read(self, address: int, size: int) -> bytes:
        """Read memory that the thread can read. Raises `Error`."""
        try:
            return self.requests.ask("memory", self.warp, self.lane, address, size)
        except Error as error:
            raise Error(
                f"the thread cannot read {size} bytes at {address:#x}: no memory of its block, "
                "its own, or of the device is there"
            ) from error

    def registers(self) -> dict[str, Register]:
        """The registers of the frame's function that the code uses."""
        return self.code.function(self.frame.op).registers

    def register(self, name: str) -> Any:
        """The value of a register, such as ``%r1`` or ``%p2``. Raises `Error`."""
        known = self.registers().get(name)
        if known is None:
            raise Error(f"{name}: {self.frame.name} uses no register of that name")
        return register_value(self._register_bytes(known), known.type)

    def _register_bytes(self, known: Register) -> bytes:
        return self.requests.ask(
            "register", self.warp, self.lane, self.frame.level, known.offset, known.width
        )

    def address_of(self, variable: Variable) -> int:
        """The address of a variable of the PTX text."""
        base = {
            "shared": self.event["shared"][0],
            "parameter": self.event["parameters"][0],
            "global": 0,
        }
        if variable.space in base:
            return int(base[variable.space] + variable.offset)
        begin, size = self.event["local"]
        number = self.warp * LANES + self.lane
        return int(begin + number * size + self.frame.base + variable.offset)

    def ptx_variables(self) -> dict[str, Variable]:
        """Variables of the PTX text: of the frame's function, and of the module."""
        return {**self.code.variables, **self.code.function(self.frame.op).variables}

    # Variables of the source

    def variables(self) -> dict[str, Entry]:
        """The source's variables where the frame is, by name; empty without ``-G``."""
        line = self.code.lines[self.frame.op]
        found: dict[str, Entry] = {}
        for unit in self.units:
            for entry in unit.children:
                if entry.tag == dwarf.VARIABLE:
                    self._add(entry, found)
            for entry in unit.children:
                low, high = (entry.attributes.get(n) for n in (dwarf.LOW, dwarf.HIGH))
                if entry.tag == dwarf.SUBPROGRAM and dwarf.covers(self.code.map, low, high, line):
                    self._add_scope(entry, line, found)
        return found

    def parameters(self) -> list[str]:
        """The names of the function's parameters; of a kernel without ``-G``, those of the PTX."""
        named = self.variables()
        names = [name for name, each in named.items() if each.tag == dwarf.PARAMETER]
        function = self.code.function(self.frame.op)
        return names or [n for n, each in function.variables.items() if each.space == "parameter"]

    def _add_scope(self, scope: Entry, line: int, found: dict[str, Entry]) -> None:
        for entry in scope.children:
            if entry.tag in (dwarf.VARIABLE, dwarf.PARAMETER):
                self._add(entry, found)
        for entry in scope.children:
            low, high = (entry.attributes.get(n) for n in (dwarf.LOW, dwarf.HIGH))
            if entry.tag == dwarf.BLOCK and dwarf.covers(self.code.map, low, high, line):
                self._add_scope(entry, line, found)

    def _add(self, entry: Entry, found: dict[str, Entry]) -> None:
        name = entry.attributes.get(dwarf.NAME)
        if isinstance(name, str) and dwarf.LOCATION in entry.attributes:
            found.pop(name, None)  # an inner variable comes last, too
            found[name] = entry

    def place(self, name: str) -> tuple[Type, Place | None]:
        """The type of a variable, and where it is now. Raises `KeyError`."""
        entry = self.variables()[name]
        line = self.code.lines[self.frame.op]
        return self.types.of(entry), dwarf.location(
            entry.attributes[dwarf.LOCATION], self.code.map, line
        )

    def value(self, name: str) -> Any:
        """A variable's value, by its name in the source or in the PTX.

        Raises
        ------
        KeyError
            There is no such variable.
        Error
            It has no value here.
        """
        if REGISTER.fullmatch(name):
            return self.register(name)
        if name not in self.variables():
            variable = self.ptx_variables()[name]
            raw = self.read(self.address_of(variable), variable.size)
            return np.frombuffer(raw, np.uint8)
        kind, place = self.place(name)
        if place is None:
            raise Error(f"{name} has no value at this line: the compiler keeps it nowhere")
        if place.register:
            known = self.registers().get(place.register)
            if known is None:
                raise Error(f"{name} is in {place.register}, which the code does not use")
            return value_of(self._register_bytes(known), kind, self.read, self.types)
        address = self.resolve(name, place)
        if kind.unbounded:  # extern __shared__ x[]: to the end of the block's memory
            begin, size = self.event["shared"]
            count = max(begin + size - address, 0) // max(kind.dtype.itemsize, 1)
            kind = Type(kind.name, kind.dtype, (count,))
        return value_of(self.read(address, kind.size), kind, self.read, self.types)

    def resolve(self, name: str, place: Place) -> int:
        """The address of a place in memory. Raises `Error`."""
        if place.address is None:
            return place.offset
        variable = self.ptx_variables().get(place.address.name)
        if variable is None:
            raise Error(f"{name}: the kernel's code does not use {place.address.name}")
        return self.address_of(variable) + place.address.offset + place.offset

    # Expressions

    def evaluate(self, text: str) -> Any:
        """The value of a Python expression over the thread's variables.

        ``threadIdx``, ``blockIdx``, ``blockDim``, ``gridDim``, ``lane`` and ``warp`` are those of
        the thread; ``array(address, dtype, shape)`` reads memory.
        """
        bare = text.strip()
        if REGISTER.fullmatch(bare):
            return self.register(bare)
        if bare in self.variables():  # also a name that Python reserves, such as `in`
            return self.value(bare)
        for word in keyword.kwlist:
            if word in self.variables():
                bare = re.sub(rf"\b{word}\b", f"_{word}_", bare)
        return eval(bare, {"__builtins__": BUILTINS}, _Names(self))  # the user's own text


FUNCTIONS: tuple[Any, ...] = (
    abs, all, any, bool, dict, float, hex, int, len, list, max, min, range, repr, round, set,
    sorted, str, sum, tuple, zip,
)  # fmt: skip
BUILTINS = {each.__name__: each for each in FUNCTIONS}


class _Names(dict[str, Any]):
    """The names of an expression."""

    def __init__(self, stop: StoppedLaunch) -> None:
        super().__init__(
            threadIdx=Dim(stop.thread),
            blockIdx=Dim(stop.block),
            blockDim=Dim(stop.shape),
            gridDim=Dim(stop.launch["shape"]),
            thread=stop.thread,
            block=stop.block,
            lane=stop.lane,
            warp=stop.warp,
            np=np,
            array=self.array,
        )
        self._stop = stop

    def __missing__(self, name: str) -> Any:
        bare = name.strip("_")
        return self._stop.value(bare if keyword.iskeyword(bare) else name)

    def array(self, address: Any, dtype: Any, shape: Any) -> Any:
        """An array of memory."""
        size = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(self._stop.read(int(address), size), dtype).reshape(shape)


def _text(index: Triple) -> str:
    return f"({','.join(map(str, index))})"
