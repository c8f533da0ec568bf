# cupola/pycuda/_reductions.py - reductions, extremes and truth values of GPUArrays.
"""Functions of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.pycuda import driver as drv
from cupola.pycuda._gpu_array import GPUArray, _raw, _reduced, _result_type
from cupola.pycuda._selection import take


def _extreme(ufunc: Any, name: str) -> Any:
    def extreme(a, b, out=None, stream=None):
        if not isinstance(a, GPUArray) and not isinstance(b, GPUArray):
            return ufunc(a, b)
        array = a if isinstance(a, GPUArray) else b
        return array._compute(ufunc, a, b, out=out, stream=stream)

    extreme.__name__ = name
    extreme.__doc__ = f"The elementwise {name} of two arrays, or of an array and a number."
    return extreme


minimum, maximum = _extreme(np.fmin, "minimum"), _extreme(np.fmax, "maximum")


def sum(a, dtype=None, stream=None, allocator=None):
    """The sum of all elements, in the array's dtype unless another one is given."""
    return _reduced(a, "sum", a.dtype if dtype is None else dtype, stream, allocator)


def any(a, stream=None, allocator=None):
    """Whether any element is true."""
    return a.any(stream, allocator)


def all(a, stream=None, allocator=None):
    """Whether all elements are true."""
    return a.all(stream, allocator)


def max(a, stream=None, allocator=None):
    """The largest element."""
    return _reduced(a, "max", a.dtype, stream, allocator)


def min(a, stream=None, allocator=None):
    """The smallest element."""
    return _reduced(a, "min", a.dtype, stream, allocator)


def dot(a, b, dtype=None, stream=None, allocator=None):
    """The sum of the products of elements."""
    kind = np.dtype(dtype) if dtype is not None else _result_type(a, b)
    products = a._compute(np.multiply, a, b, dtype=kind, stream=stream)
    return sum(products, kind, stream, allocator or a.allocator)


def subset_sum(subset, a, dtype=None, stream=None, allocator=None):
    """The sum of the elements with these indices."""
    return sum(take(a, subset, stream=stream), dtype, stream, allocator)


def subset_dot(subset, a, b, dtype=None, stream=None, allocator=None):
    """`dot` of the elements with these indices."""
    parts = [take(one, subset, stream=stream) for one in (a, b)]
    return dot(*parts, dtype, stream, allocator)


def subset_max(subset, a, stream=None, allocator=None):
    """The largest of the elements with these indices."""
    return max(take(a, subset, stream=stream), stream, allocator)


def subset_min(subset, a, stream=None, allocator=None):
    """The smallest of the elements with these indices."""
    return min(take(a, subset, stream=stream), stream, allocator)


# Truth values.


def _logical(name: str) -> Any:
    ufunc = getattr(np, name)

    def logical(x1, x2, /, out=None, *, allocator=None):
        if not isinstance(x1, GPUArray) and not isinstance(x2, GPUArray):
            return ufunc(x1, x2)
        array = x1 if isinstance(x1, GPUArray) else x2
        if out is None:
            out = GPUArray(array.shape, np.int8, allocator or array.allocator)
        return array._into(out, ufunc(_raw(x1), _raw(x2)))

    logical.__name__ = name
    logical.__doc__ = f"NumPy's `{name}`; the result has the dtype int8."
    return logical


logical_and, logical_or = _logical("logical_and"), _logical("logical_or")


def logical_not(x, /, out=None, *, allocator=drv.mem_alloc):
    """NumPy's `logical_not`; the result has the dtype int8."""
    if not isinstance(x, GPUArray):
        return np.logical_not(x)
    out = GPUArray(x.shape, np.int8, allocator) if out is None else out
    return x._into(out, np.logical_not(x.array))
