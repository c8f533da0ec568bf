# cupola/chunks/host_arrays.py - checks and numbers the host arrays of a pipeline.
"""The inputs and outputs of a pipeline."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from cupola.element import is_native
from cupola.exceptions import ArgumentTypeError, ArgumentValueError


class HostArrays:
    """The distinct host arrays, with the indices of inputs and outputs."""

    def __init__(self, inputs: Any, outputs: Any) -> None:
        self.arrays: list[np.ndarray] = []
        self.given: list[object] = []
        self.inputs = tuple(self._add(array, "input", i) for i, array in enumerate(inputs))
        self.outputs = tuple(self._add(array, "output", i) for i, array in enumerate(outputs))
        if not self.arrays:
            raise ArgumentValueError("a pipeline has at least one input or output")
        lengths = {len(array) for array in self.arrays}
        if len(lengths) > 1:
            raise ArgumentValueError(
                "inputs and outputs are cut along their first axis, which must be equally long in "
                f"all; they have the shapes {', '.join(str(a.shape) for a in self.arrays)}"
            )
        self.rows = len(self.arrays[0])
        self._refuse_overlaps()

    def _add(self, value: object, what: str, number: int) -> int:
        name = f"{what} {number}"
        array = _host_array(value, name)
        if what == "output":
            if not array.flags.writeable:
                raise ArgumentValueError(f"{name} is read-only")
            if not _is_same(array, _as_array(value)):  # a temporary array
                raise ArgumentTypeError(f"{name}: a {type(value).__name__} can't be written to")
        known = self.find(value)
        if known is not None:
            return known
        self.arrays.append(array)
        self.given.append(value)
        return len(self.arrays) - 1

    def _refuse_overlaps(self) -> None:
        for i in self.outputs:
            for k, other in enumerate(self.arrays):
                if k != i and _may_overlap(self.arrays[i], other):
                    raise ArgumentValueError(
                        f"output {self.outputs.index(i)} shares memory with another array, so "
                        "that one chunk's results could be another's input; to work in place, "
                        "pass the same array as input and output"
                    )

    def find(self, value: object) -> int | None:
        """The index of an array that was added before, or None."""
        for i, given in enumerate(self.given):
            if given is value:
                return i
            if isinstance(value, np.ndarray) and value.size and _is_same(self.arrays[i], value):
                return i
        return None


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.__array_interface__ == other.__array_interface__


def _as_array(value: Any) -> np.ndarray:
    """An array over a buffer's memory; for other values a new array."""
    if not isinstance(value, np.ndarray):
        with contextlib.suppress(TypeError):
            value = memoryview(value)  # NumPy would read bytes as a string
    return np.asarray(value)


def _host_array(value: object, name: str) -> np.ndarray:
    if hasattr(value, "__cuda_array_interface__"):
        raise ArgumentTypeError(
            f"{name} is on a device already; inputs and outputs are host arrays: pass device "
            "arrays in arguments="
        )
    try:
        array = _as_array(value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"{name}: a {type(value).__name__} can't be made an array: {error}"
        ) from error
    if array.ndim == 0:
        raise ArgumentValueError(f"{name} has no axis to be cut along")
    if array.dtype.hasobject:
        raise ArgumentTypeError(f"{name}: a device can't hold Python objects")
    if not is_native(array.dtype):
        raise ArgumentTypeError(
            f"{name} has {array.dtype}, of the other byte order, and is copied as it is: pass "
            "native = array.astype(array.dtype.newbyteorder('=')) in its place; for an output, "
            "run array[...] = native after the call"
        )
    return array


def _may_overlap(one: np.ndarray, other: np.ndarray) -> bool:
    try:
        return bool(np.shares_memory(one, other, max_work=10_000))
    except Exception as error:  # TooHardError's module depends on NumPy's version
        if type(error).__name__ == "TooHardError":
            return True
        raise


def row_bytes(array: np.ndarray) -> int:
    return int(np.prod(array.shape[1:], dtype=np.int64)) * array.itemsize
