# cupola/arrays/products.py - products of matrices, vectors and arrays of more axes.
"""`matmul`, `dot`, `inner`, `outer`, `vdot` and `tensordot`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import require_device, require_writable, result
from cupola.arrays.layouts import overlap
from cupola.arrays.matrix_product import FORMS, multiply
from cupola.arrays.matrix_stacks import matrices
from cupola.arrays.planned_call import offer_product
from cupola.arrays.plans import planned
from cupola.arrays.rows import array_of, axis_of
from cupola.creation import empty
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["dot", "inner", "matmul", "outer", "tensordot", "vdot"]


@partial(planned, products=True)
def matmul(x1: Any, x2: Any, out: Any = None) -> Array:
    """The product of matrices, as ``numpy.matmul`` and ``x1 @ x2``.

    Leading axes broadcast. An argument with one axis is a row or a column. Transposed views are
    multiplied as they are; operands whose elements are apart along both axes are copied first.

    On a GPU cuBLAS multiplies floats and complex numbers, where it is installed, the product has at
    least 2**21 multiplications, and the stream is not being captured; ``python -m cupola paths``
    shows the library. Without it cupola's own kernels do.

    Sums are in the result's type, with products and sums fused: those of float32 and float64 differ
    from the exact sum by at most ``n * eps * (abs(x1) @ abs(x2))`` for `n` products. Sums of
    float16 are of float32, by tensor cores, and rounded once. Those of integers wrap around, and
    those of bool are true where one product is.

    Parameters
    ----------
    x1, x2 : Array
    out : Array, optional
        Of the result's shape, and of a type of the same kind.

    Returns
    -------
    Array
        Of NumPy's common type. The work is queued on the current stream.

    Raises
    ------
    ArgumentTypeError
        Where an argument is no array of a device, or there is no kernel for the type.
    ArgumentValueError
        Where an argument has no axes, the shapes don't fit, or the devices differ.
    """
    a, b = array_of("matmul", "x1", x1), array_of("matmul", "x2", x2)
    for name, one in (("x1", a), ("x2", b)):
        if not one.ndim:
            raise ArgumentValueError(
                f"matmul: argument {name}: expected an array with axes; use * for numbers"
            )
    if a.ndim == 1 or b.ndim == 1:
        return result("matmul", a.dot(b), out)
    return _product("matmul", a, b, out)


@partial(planned, products=True)
def dot(a: Any, b: Any, out: Any = None) -> Array:
    """The sums of products over the last axis of `a` and the last but one of `b`.

    As ``numpy.dot``: of matrices it is `matmul`; of arrays with more axes the result has the others
    of `a` and then those of `b`.

    Parameters
    ----------
    a, b : Array
    out : Array, optional
        Of the result's shape, and of a type of the same kind.

    Returns
    -------
    Array
        As of `matmul`.
    """
    x, y = array_of("dot", "a", a), array_of("dot", "b", b)
    if x.ndim < 2 or y.ndim < 2:
        return x.dot(y, out)
    if x.ndim == 2 and y.ndim == 2:
        return _product("dot", x, y, out)
    return result("dot", _contracted("dot", x, y, [x.ndim - 1], [y.ndim - 2]), out)


@planned
def inner(a: Any, b: Any) -> Array:
    """The sums of products over the last axes of both, as ``numpy.inner``.

    Parameters
    ----------
    a, b : Array

    Returns
    -------
    Array
        As of `matmul`.
    """
    x, y = array_of("inner", "a", a), array_of("inner", "b", b)
    if not x.ndim or not y.ndim:
        return np.multiply(x, y)
    return _contracted("inner", x, y, [x.ndim - 1], [y.ndim - 1])


@planned
def outer(a: Any, b: Any, out: Any = None) -> Array:
    """The product of each element of `a` with each element of `b`, as ``numpy.outer``.

    Parameters
    ----------
    a, b : Array
        Of any shapes; they are flattened.
    out : Array, optional
        Of the shape ``(a.size, b.size)``.

    Returns
    -------
    Array
    """
    x, y = array_of("outer", "a", a), array_of("outer", "b", b)
    return np.multiply(x.reshape(-1, 1), y.reshape(1, -1), out=out)


@planned
def vdot(a: Any, b: Any) -> Array:
    """The sum of products of all elements, those of `a` conjugated, as ``numpy.vdot``.

    Parameters
    ----------
    a, b : Array
        Of the same size; they are flattened.

    Returns
    -------
    Array
        Without axes.
    """
    x, y = array_of("vdot", "a", a), array_of("vdot", "b", b)
    if x.dtype.kind == "c":
        x = np.conjugate(x)
    return x.ravel().dot(y.ravel())


@planned
def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    """The sums of products over several axes, as ``numpy.tensordot``.

    Parameters
    ----------
    a, b : Array
    axes : int or pair of axes
        So many last axes of `a` and first ones of `b`; or the axes of `a` and those of `b`, each an
        int or a sequence of ints.

    Returns
    -------
    Array
        With the other axes of `a` and then those of `b`; as of `matmul`.
    """
    x, y = array_of("tensordot", "a", a), array_of("tensordot", "b", b)
    if hasattr(axes, "__index__"):
        count = operator.index(axes)
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise ArgumentValueError(
                f"tensordot: argument axes: expected at most {min(x.ndim, y.ndim)}, got {count}"
            )
        return _contracted("tensordot", x, y, range(x.ndim - count, x.ndim), range(count))
    try:
        first, second = (one if isinstance(one, Sequence) else (one,) for one in axes)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"tensordot: argument axes: expected an int or a pair of axes, got {axes!r}"
        ) from None
    return _contracted(
        "tensordot", x, y,
        [axis_of("tensordot", axis, x.ndim) for axis in first],
        [axis_of("tensordot", axis, y.ndim) for axis in second],
    )  # fmt: skip


def _contracted(title: str, x: Array, y: Array, over: Sequence[int], by: Sequence[int]) -> Array:
    """Sums over these axes of `x` and these of `y`, as one product of matrices."""
    lengths = [x.shape[axis] for axis in over]
    if lengths != [y.shape[axis] for axis in by]:
        raise ArgumentValueError(
            f"{title}: shapes {x.shape} and {y.shape} don't fit: axes {list(over)} have the "
            f"lengths {lengths}, axes {list(by)} {[y.shape[axis] for axis in by]}"
        )
    left = [axis for axis in range(x.ndim) if axis not in over]
    right = [axis for axis in range(y.ndim) if axis not in by]
    rows, columns = [x.shape[axis] for axis in left], [y.shape[axis] for axis in right]
    n = math.prod(lengths)
    a = x.transpose(*left, *over).reshape(math.prod(rows), n)
    b = y.transpose(*by, *right).reshape(n, math.prod(columns))
    return _product(title, a, b, None).reshape(*rows, *columns)


def _product(title: str, a: Array, b: Array, out: Any) -> Array:
    """The product of two stacks of matrices."""
    require_device(title, "x2", b, a.device_index)
    (rows, n), (other, columns) = a.shape[-2:], b.shape[-2:]
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        lead = None
    if n != other or lead is None:
        raise ArgumentValueError(
            f"{title}: shapes {a.shape} and {b.shape} don't fit: expected (..., m, n) and "
            f"(..., n, k) with leading axes that broadcast, got n = {n} and {other}"
        )
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype not in FORMS:
        raise ArgumentTypeError(
            f"{title}: there is no kernel for products of {a.dtype} and {b.dtype}"
        )
    shape = (*lead, rows, columns)
    target = _target(title, out, shape, dtype, (a, b))
    if target.size:
        x, y = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
        left, right = matrices(x, lead, -1), matrices(y, lead, -2)
        product = multiply(target, left, right, (rows, columns, n), math.prod(lead))
        own = left.first.ptr == a.ptr and right.first.ptr == b.ptr  # not of a copy
        if product is not None and own and out is None:
            offer_product(product, a, b)
    return target if target is out else result(title, target, out)


def _target(title: str, out: Any, shape: Any, dtype: Any, operands: tuple[Array, Array]) -> Array:
    """`out` where the kernel can write it, else a new array."""
    if out is not None:
        require_writable(title, "out", out)
        plain = out.flags.c_contiguous and out.ptr % out.itemsize == 0
        if plain and out.shape == shape and out.dtype == dtype:
            require_device(title, "out", out, operands[0].device_index)
            if not any(overlap(out, one) for one in operands):
                return out
    return empty(shape, dtype, device=operands[0].device_index)
