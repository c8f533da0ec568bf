# package/cupola/build/compilers/descriptor.py - parameters that one argument of a launch fills.
"""Descriptions of arrays, and of sizes of launches, that become a struct or several parameters.

The first of the parameters has the description in the manifest (`cupola.image.descriptor`), so that
a launch takes one argument for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

# The offset from the first of the parameters, the size, and the name of a value.
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
        The argument's.
    element : str
        The element type, as in ``"float32"``.
    shape, steps : sequence of int or None
        The lengths, and the strides in elements, that the code relies on; None for any.
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
        The alignment in bytes, of the address, that the code relies on beyond that of elements.
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
    """The description of the size of a launch: one to four numbers become ``shape.0``, ... and
    ``size``; ``1`` is the number 1.
    """
    return {
        "kind": "sizes",
        "name": name,
        "parameters": 1,
        "shape": [None] * ndim,
        "values": [list(value) for value in values],
    }
