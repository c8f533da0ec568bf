# package/cupola/core/descriptors.py - arguments that fill a struct or several parameters.
"""Kernels of other compilers take an array as a struct, or as several parameters. A launch gives
the array, and this module makes the values of the struct or of the parameters, as the manifest
describes them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, ImageError
from cupola.image.descriptor import ARRAY, SIZES, Descriptor, Value
from cupola.image.manifest import Parameter

_LETTERS = {1: "b", 2: "h", 4: "i", 8: "q"}


class Descriptors:
    """The arguments of a kernel, of which at least one fills a struct or several parameters.

    Parameters
    ----------
    title : str
        The title of the kernel, for messages.
    parameters : sequence of Parameter
        All parameters that a caller gives, of which one or more have a descriptor.

    Raises
    ------
    ImageError
        Where a descriptor has bytes that its parameters lack.
    """

    def __init__(self, title: str, parameters: Sequence[Parameter]) -> None:
        self.title = title
        self.parameters = parameters
        self.places: list[int] = []  # the index of the first parameter of each argument
        end = 0
        for place, one in enumerate(parameters):
            if place >= end:
                self.places.append(place)
                end = place + (1 if one.descriptor is None else one.descriptor.parameters)
                if one.descriptor is not None:
                    self._require_places(place, one.descriptor)
        self.names = [
            one.name if one.descriptor is None else one.descriptor.name
            for one in (parameters[place] for place in self.places)
        ]

    @property
    def count(self) -> int:
        """The number of arguments."""
        return len(self.places)

    def listed(self) -> str:
        """The arguments with their types, for messages."""
        found = []
        for place, name in zip(self.places, self.names, strict=True):
            one = self.parameters[place]
            pointer = "*" if "pointer" in one.kind else ""
            text = f"{one.type or one.kind}{pointer}"
            found.append(f"{text if one.descriptor is None else one.descriptor.text} {name}")
        return ", ".join(found)

    def shown(self, parameters: Sequence[Any]) -> list[Any]:
        """The arguments, as parameters of a kernel show them."""
        found = []
        for place, name in zip(self.places, self.names, strict=True):
            told = self.parameters[place].descriptor
            one = parameters[place]
            found.append(
                one if told is None else one._replace(name=name, type=told.text, dtype=None)
            )
        return found

    def takes_array(self, place: int) -> bool:
        """Whether the argument for a parameter is an array."""
        told = self.parameters[place].descriptor
        return told is not None and told.kind == ARRAY

    def takes_sizes(self, place: int) -> bool:
        """Whether the argument for a parameter is the size of the launch."""
        told = self.parameters[place].descriptor
        return told is not None and told.kind == SIZES

    def fills_several(self, place: int) -> bool:
        """Whether the parameter is the first of several parameters that one argument fills."""
        told = self.parameters[place].descriptor
        return told is not None and told.parameters > 1

    def packed(self, place: int, value: Any) -> bytes | None:
        """The bytes of the struct for an argument; None where the value is the struct itself.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            Where the value is another array, or another number of sizes, than the kernel takes.
        """
        told = self.parameters[place].descriptor
        assert told is not None
        if told.kind == SIZES and not _is_sizes(value):
            return None
        found = self._numbers(place, told, value)
        made = bytearray(self.parameters[place].size)
        for number, one in zip(found, told.values, strict=True):
            struct.pack_into(f"<{_LETTERS[one.size]}", made, one.offset, _signed(number, one.size))
        return bytes(made)

    def expanded(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The values of all parameters. The caller has converted arrays of other libraries to
        `cupola.Array`.
        """
        found: list[Any] = []
        for place, value in zip(self.places, arguments, strict=True):
            found += self.filled(place, value)
        return tuple(found)

    def filled(self, place: int, value: Any) -> list[Any]:
        """The values of the parameters that an argument fills."""
        told = self.parameters[place].descriptor
        if told is None or told.parameters == 1:
            return [value]
        first = self.parameters[place].offset
        at = {one.offset: index for index, one in enumerate(told.values)}
        numbers = self._numbers(place, told, value)
        found: list[Any] = []
        for parameter in self.parameters[place : place + told.parameters]:
            index = at.get(parameter.offset - first)
            if "pointer" in parameter.kind:
                # Other parameters have the strides, so this one gets the address of the first
                # element.
                found.append(value if value.flags.c_contiguous else _first(value))
            else:
                found.append(0 if index is None else numbers[index])
        return found

    def place(self, name: str) -> int:
        """The index of the first parameter of the argument with this name."""
        return self.places[self.names.index(name)]

    def _numbers(self, place: int, told: Descriptor, value: Any) -> list[int]:
        if told.kind == SIZES:
            shape = (value,) if isinstance(value, int) else tuple(value)
            if len(shape) != len(told.shape):
                self._refuse(place, told, repr(value), ArgumentTypeError)
            if min(shape, default=0) < 0:
                self._refuse(place, told, repr(value), ArgumentValueError)
            size = 1
            for one in shape:
                size *= one
            values = {"shape": shape, "size": size, "ndim": len(shape), "1": 1}
        else:
            self._check_array(place, told, value)
            steps = tuple(one // value.itemsize for one in value.strides)
            values = {
                "data": value.address, "size": value.size, "itemsize": value.itemsize,
                "ndim": value.ndim, "shape": value.shape, "stride": value.strides, "step": steps,
                "1": 1,
            }  # fmt: skip
        return [self._number(place, told, values, one) for one in told.values]

    def _number(self, place: int, told: Descriptor, values: Mapping[str, Any], one: Value) -> int:
        number: int = values[one.name] if one.axis < 0 else values[one.name][one.axis]
        if one.name != "data" and not -1 << 8 * one.size - 1 <= number < 1 << 8 * one.size - 1:
            what = one.name if one.axis < 0 else f"{one.name} {one.axis}"
            self._refuse(
                place, told, f"one whose {what} is {number}, out of the {8 * one.size} bits that "
                "the kernel has for it", ArgumentValueError,
            )  # fmt: skip
        return number

    def _check_array(self, place: int, told: Descriptor, array: Any) -> None:
        dtype = array.dtype
        if dtype.name != told.element or not dtype.isnative:
            self._refuse(place, told, f"elements of {dtype}", ArgumentTypeError)
        if array.ndim != len(told.shape):
            self._refuse(place, told, f"one of {array.ndim} axes", ArgumentTypeError)
        for axis, (expected, length) in enumerate(zip(told.shape, array.shape, strict=True)):
            if expected is not None and expected != length:
                self._refuse(place, told, f"the length {length} of axis {axis}", ArgumentValueError)
        if told.contiguous and not array.flags.c_contiguous:
            self._refuse(
                place, told, "one that is not C-contiguous; pass x.copy()", ArgumentValueError
            )
        for axis, (step, stride) in enumerate(zip(told.steps, array.strides, strict=True)):
            if step is not None and array.shape[axis] > 1 and stride != step * array.itemsize:
                self._refuse(
                    place, told, f"the stride of {stride} bytes of axis {axis}; pass x.copy()",
                    ArgumentValueError,
                )  # fmt: skip
        if array.address % max(told.align, array.itemsize):
            self._refuse(place, told, f"the address {array.address:#x}", ArgumentValueError)
        if not (told.const or array.flags.writeable):
            self._refuse(place, told, "one that is read-only", ArgumentValueError)

    def refuse_count(self, count: int) -> None:
        """Raise the error for a wrong number of arguments."""
        noun = "argument" if self.count == 1 else "arguments"
        raise ArgumentTypeError(
            f"{self.title}: takes {self.count} {noun} ({self.listed()}), got {count}"
        )

    def refuse_value(self, place: int, came: str) -> None:
        """Raise the error for a value that is no array."""
        told = self.parameters[place].descriptor
        assert told is not None
        self._refuse(
            place, told, f"{came}; copy host memory with cupola.to_device(array)",
            ArgumentTypeError,
        )  # fmt: skip

    def _refuse(self, place: int, told: Descriptor, came: str, kind: type[Exception]) -> None:
        index = self.places.index(place)
        raise kind(
            f"{self.title}: argument {index} ({told.name}): expected {told.text}, got {came}"
        )

    def _require_places(self, place: int, told: Descriptor) -> None:
        """Raise unless a descriptor fits the parameters that it fills."""
        filled = self.parameters[place : place + told.parameters]
        first = filled[0].offset
        if told.parameters == 1:
            good = filled[0].kind == "struct" and told.nbytes <= filled[0].size
        else:
            known = {(one.offset - first, one.size): "pointer" in one.kind for one in filled}
            good = told.kind == ARRAY and len(filled) == told.parameters
            good = good and all(
                known.get((one.offset, one.size)) is (one.name == "data") for one in told.values
            )
            good = good and sum(known.values()) == 1
        if not good:
            raise ImageError(
                f"{self.title}: the manifest's descriptor of {told.name} differs from the "
                "kernel's parameters: build the image again"
            )


def _is_sizes(value: Any) -> bool:
    several = value if isinstance(value, (tuple, list)) else (value,)
    return all(isinstance(one, int) and not isinstance(one, bool) for one in several)


def _signed(number: int, size: int) -> int:
    """The signed integer of `size` bytes that has the same bits as the number."""
    return number - (1 << 8 * size) if number >= 1 << 8 * size - 1 else number


def _first(array: Any) -> Any:
    """The first element of an array, as a contiguous array."""
    return array[tuple(slice(0, 1) for _ in array.shape)]
