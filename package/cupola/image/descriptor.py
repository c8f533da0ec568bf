# package/cupola/image/descriptor.py - parameters of a manifest that one argument of a launch fills.
"""Descriptors: an array, or the sizes of a launch, that a kernel takes as a struct or as several
parameters. The first of these parameters has the description in the manifest.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

ARRAY, SIZES = "array", "sizes"
_MOST_AXES = 32
_MOST_BYTES = 1 << 12
_VALUE = re.compile(r"(data|size|itemsize|ndim|1)|(shape|stride|step)\.(\d{1,2})")


class Value(NamedTuple):
    """A number that the kernel reads."""

    offset: int  # bytes, from the first parameter
    size: int  # bytes
    name: str  # data, size, itemsize, ndim, shape, stride (in bytes), step (in elements), or 1
    axis: int  # the axis of shape, stride or step; else -1


class Descriptor(NamedTuple):
    """An argument of a launch, and the parameters of the kernel that it fills."""

    kind: str  # ARRAY or SIZES
    name: str  # the name of the argument
    parameters: int  # number of parameters that the argument fills
    shape: tuple[int | None, ...]  # lengths on which the code relies; None: any length
    values: tuple[Value, ...]  # other bytes are 0
    # Only arrays have these:
    element: str = ""  # the element type, as in "float32"
    steps: tuple[int | None, ...] = ()  # strides on which the code relies, in elements
    contiguous: bool = False  # whether the code relies on C order
    const: bool = False  # whether the kernel only reads the array
    align: int = 1  # alignment of the address in bytes; 1: that of the elements

    @property
    def nbytes(self) -> int:
        """The bytes up to the end of the last value."""
        return max((value.offset + value.size for value in self.values), default=0)

    @property
    def text(self) -> str:
        """For messages: ``an array float32[:, ::1]``."""
        if self.kind == SIZES:
            count = len(self.shape)
            return "the size of the launch, " + ("an int" if count == 1 else f"{count} ints")
        axes = [":" if one is None else str(one) for one in self.shape]
        if axes and (self.contiguous or (self.steps and self.steps[-1] == 1)):
            axes[-1] = ("" if axes[-1] == ":" else axes[-1]) + "::1"
        order = " in C order" if self.contiguous and len(axes) > 1 else ""
        align = f", aligned to {self.align} bytes" if self.align > 1 else ""
        return f"a device array {self.element}[{', '.join(axes)}]{order}{align}"


def read(given: Any, name: str) -> Descriptor:
    """The descriptor of a manifest; raises KeyError, TypeError or ValueError where it is invalid.

    ``name`` is the name of the parameter.
    """
    kind, shape = given["kind"], _axes(given["shape"])
    parameters = _number(given["parameters"], 1, _MOST_BYTES)
    values = tuple(_value(one, len(shape)) for one in given["values"])
    name = given.get("name", name)
    if not isinstance(name, str):
        raise TypeError("names are text")
    if kind == SIZES:
        if any(one.name not in ("shape", "size", "ndim", "1") for one in values):
            raise ValueError("a size of a launch has no address")
        return Descriptor(SIZES, name, parameters, shape, values)
    if kind != ARRAY:
        raise ValueError(f"a descriptor of kind {kind!r}")
    element, align, steps = given["element"], given["align"], _axes(given["steps"])
    if not isinstance(element, str):
        raise TypeError("types are text")
    if len(steps) != len(shape):
        raise ValueError(f"{len(steps)} strides for {len(shape)} axes")
    if _number(align, 1, 1 << 16) & (align - 1):
        raise ValueError(f"an alignment of {align!r}")
    return Descriptor(
        ARRAY, name, parameters, shape, values, element, steps, given["contiguous"] is True,
        given["const"] is True, align,
    )  # fmt: skip


def _axes(given: Any) -> tuple[int | None, ...]:
    if not isinstance(given, list) or len(given) > _MOST_AXES:
        raise TypeError(f"axes of {given!r}")
    return tuple(None if one is None else _number(one, 0, 1 << 62) for one in given)


def _value(given: Any, ndim: int) -> Value:
    offset, size, text = given
    found = _VALUE.fullmatch(text)
    if found is None or size not in (1, 2, 4, 8):
        raise ValueError(f"a value {given!r}")
    axis = -1 if found[3] is None else _number(int(found[3]), 0, ndim - 1)
    return Value(_number(offset, 0, _MOST_BYTES), size, found[1] or found[2], axis)


def _number(given: Any, least: int, most: int) -> int:
    if type(given) is not int or not least <= given <= most:
        raise ValueError(f"a number of {given!r}")
    return given
