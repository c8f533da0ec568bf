# cupola/core/representation.py - formats an array's elements as text.
"""Text of device arrays, formatted as by NumPy, with few elements copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cupola import Array

CPU_DEVICE = 64  # the CPU device's index beside another driver


def elements(array: Array) -> str:
    """The elements as NumPy prints them.

    For a large array, only the first and last elements that NumPy prints are copied.
    """
    options = np.get_printoptions()
    if array.size <= options["threshold"]:
        return np.array2string(array.get())
    edge = options["edgeitems"]
    return np.array2string(_edges(array, edge), threshold=0, edgeitems=edge)


def _edges(array: Array, edge: int) -> np.ndarray:
    """The array without its middle: one element more along each axis than is printed."""
    for axis, length in enumerate(array.shape):
        if length > 2 * edge + 1:
            before = (slice(None),) * axis
            parts = [
                array[(*before, slice(edge + 1))],
                array[(*before, slice(length - edge, None))],
            ]
            return np.concatenate([_edges(part, edge) for part in parts], axis=axis)
    return array.get()


def summary(array: Array) -> str:
    """The text for ``repr``: elements, dtype, and the shape where the elements don't show it."""
    lead = "cupola.Array("
    text = elements(array).replace("\n", "\n" + " " * len(lead))
    shape = f", shape={array.shape}" if array.size > np.get_printoptions()["threshold"] else ""
    if array.size == 0:
        text, shape = "[]", f", shape={array.shape}"
    device = "'cpu'" if array.device_index == CPU_DEVICE else array.device_index
    return f"{lead}{text}{shape}, dtype={array.dtype}, device={device})"
