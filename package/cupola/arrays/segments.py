# cupola/arrays/segments.py - reductions of segments along an axis.
"""The method ``reduceat`` of NumPy's ufuncs."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array, read_now
from cupola.arrays.element_types import NUMBERS, require_elements
from cupola.arrays.images import kernel
from cupola.arrays.operations import OPERATIONS, operation_of
from cupola.arrays.outputs import check_out, stored
from cupola.arrays.rows import array_of, rows_of
from cupola.creation import empty, to_device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.kernel_constants import SEGMENTS_THREADS

# Segments with at least this mean length are reduced by a block, shorter segments by a warp.
_LONG = 2048


def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Array:
    """The method ``reduceat`` of numpy.add, multiply, minimum and maximum.

    Segment i is from ``indices[i]`` to ``indices[i + 1]``, or to the end of the axis for the last
    one. Where it would have no elements, it is the element at ``indices[i]``. One warp or block
    reduces a segment, in an order that follows from the shape and the indices: a result has the
    same bits in each run.

    Indices in memory of a device are copied to the host, which waits for the device, since they
    must be in range. A captured stream refuses that.

    Raises
    ------
    ArgumentTypeError
        Where an argument has a wrong type, or there is no kernel for the type.
    ArgumentValueError
        Where an index or the axis is out of range, or `out` does not fit.
    """
    function = f"numpy.{ufunc.__name__}.reduceat"
    if ufunc not in OPERATIONS:
        names = ", ".join(one.__name__ for one in OPERATIONS)
        raise ArgumentTypeError(
            f"{function} is not supported on a device, which has those of {names}; copy the array "
            "with get()"
        )
    x = array_of(function, "array", array)
    require_elements(function, "array", x, NUMBERS)
    operation = operation_of(function, ufunc, x, dtype, out)
    rows = rows_of(function, operation.x, axis)
    places = _indices(function, indices, rows.n)
    shape = tuple(places.size if k == rows.axis else one for k, one in enumerate(rows.shape))
    to = check_out(function, out, x, shape, operation.dtype)
    made = empty((*rows.x.shape[:-1], places.size), operation.made, device=x.device_index)
    if made.size:
        total = rows.count * places.size
        is_long = rows.n > _LONG * places.size
        name = f"segments_by_{'blocks' if is_long else 'warps'}_{operation.kernel}"
        blocks = total if is_long else -(-total // (SEGMENTS_THREADS // 32))  # a warp each
        kernel("segments", name, x.device_index)[blocks, SEGMENTS_THREADS](
            rows.x, to_device(places, device=x.device_index), made, rows.count, rows.n,
            places.size, operation.spec,
        )  # fmt: skip
    made = rows._replace(shape=shape).restored(made)
    return stored(to, made if made.dtype == operation.dtype else made.astype(operation.dtype))


def _indices(function: str, indices: Any, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    if isinstance(indices, Array):
        indices = read_now(indices, f"{function}: argument indices")
    places = np.asarray(indices)
    if places.ndim != 1 or (places.size and places.dtype.kind not in "iu"):
        raise ArgumentTypeError(
            f"{function}: argument indices: expected integers of one axis, got {places.dtype} of "
            f"the shape {places.shape}"
        )
    wrong = places[(places < 0) | (places >= n)]
    if wrong.size:
        raise ArgumentValueError(
            f"{function}: argument indices: {wrong[0]} is out of bounds for an axis of {n} elements"
        )
    return places.astype(np.int64)
