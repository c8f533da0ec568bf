# package/cupola/build/compilers/descriptor.py - parameters that one argument of a launch fills.
"""Descriptions of arrays, and of sizes of launches, that become a struct or several parameters.

In the manifest, the first parameter has the description (`cupola.image.descriptor`). So a launch
takes one argument for all parameters that the array becomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

# A value: its offset from the first parameter, its size, both in bytes, and its name.
Value = tuple[int, int, str]


def array(
    name: str,
    element: str,
    shape: Sequence[int | None],
    values: Iterable[Value],
    *,
    steps: Sequence[int | None] = (),
    contiguous: bool = False,
    parameters: int = 1,
    const: bool = False,
    align: int = 1,
) -> dict[str, Any]:
    """The description of an array.

    Parameters
    ----------
    name : str
        The name of the argument.
    element : str
        The element type, as in ``"float32"``.
    shape, steps : sequence of int or None
        The lengths, and the strides in elements, on which the code relies; None: the code takes
        any.
    values : iterable of (int, int, str)
        The numbers that the code reads: ``data``, ``size``, ``itemsize``, ``ndim``, ``shape.0``,
        ``stride.0`` in bytes, ``step.0`` in elements. Other bytes are 0.
    contiguous : bool
        Whether the code relies on C order.
    parameters : int
        The number of the kernel's parameters that are filled.
    const : bool
        Whether the kernel only reads the array.
    align : int
        The alignment of the address, in bytes, on which the code relies; 1: that of the elements.
    """
    return {
        "kind": "array",
        "name": name,
        "parameters": parameters,
        "element": element,
        "shape": list(shape),
        "steps": list(steps) or [None] * len(shape),
        "contiguous": contiguous,
        "const": const,
        "align": align,
        "values": [list(value) for value in values],
    }


def sizes(name: str, ndim: int, values: Iterable[Value]) -> dict[str, Any]:
    """The description of the size of a launch, which is one to four numbers. The values
    ``shape.0``, ... are these numbers, ``size`` is their product, and ``1`` is the number 1.
    """
    return {
        "kind": "sizes",
        "name": name,
        "parameters": 1,
        "shape": [None] * ndim,
        "values": [list(value) for value in values],
    }
