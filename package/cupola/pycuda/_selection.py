# cupola/pycuda/_selection.py - elements by indices and by conditions, and joined arrays.
"""Take and put, joins of arrays, conditionals."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.pycuda._creation import zeros
from cupola.pycuda._gpu_array import GPUArray, _result_type
from cupola.pycuda._strides import as_shape


def _kernel(arguments: str, operation: str, name: str) -> Any:
    return _kernels((arguments, operation, name))


def _kernels(key: tuple[str, str, str]) -> Any:
    from cupola.pycuda.elementwise import ElementwiseKernel

    if key not in _made:
        _made[key] = ElementwiseKernel(*key)
    return _made[key]


_made: dict[tuple[str, str, str], Any] = {}


def _c(dtype: Any) -> str:
    from cupola.pycuda.tools import dtype_to_ctype

    return dtype_to_ctype(dtype)


def take(a, indices, out=None, stream=None):
    """``a[indices]`` of arrays of one axis."""
    if out is None:
        out = GPUArray(indices.shape, a.dtype, a.allocator)
    if not a.flags.forc or len(a.shape) != 1:
        raise ValueError("take() is for contiguous arrays of one axis")
    kernel = _kernel(
        f"{_c(indices.dtype)} *at, {_c(a.dtype)} *dest, {_c(a.dtype)} *src", "dest[i] = src[at[i]]",
        "take",
    )  # fmt: skip
    kernel(indices, out, a, stream=stream)
    return out


def multi_take(arrays, indices, out=None, stream=None):
    """`take` of several arrays with the same indices."""
    given = [None] * len(arrays) if out is None else out
    return [take(a, indices, one, stream) for a, one in zip(arrays, given, strict=True)]


def multi_put(arrays, dest_indices, dest_shape=None, out=None, stream=None):
    """Arrays whose elements ``dest_indices`` are those of the given ones."""
    if not arrays:
        return []
    shape = as_shape(dest_shape) if dest_shape is not None else dest_indices.shape
    made = [zeros(shape, a.dtype, a.allocator) for a in arrays] if out is None else list(out)
    if len(made) != len(arrays):
        raise ValueError(f"out has {len(made)} arrays, there are {len(arrays)}")
    for a, one in zip(arrays, made, strict=True):
        kernel = _kernel(
            f"{_c(dest_indices.dtype)} *at, {_c(a.dtype)} *dest, {_c(a.dtype)} *src",
            "dest[at[i]] = src[i]", "put",
        )  # fmt: skip
        kernel(dest_indices, one, a, stream=stream)
    return made


def multi_take_put(
    arrays, dest_indices, src_indices, dest_shape=None, out=None, stream=None, src_offsets=None
):
    """Arrays whose elements ``dest_indices`` are the elements ``src_indices`` of the given ones.

    ``src_offsets`` has a number for each array, which is added to the indices.
    """
    if not arrays:
        return []
    if dest_indices.shape != src_indices.shape:
        raise ValueError("src_indices and dest_indices must have the same shape")
    shape = as_shape(dest_shape) if dest_shape is not None else dest_indices.shape
    made = [GPUArray(shape, a.dtype, a.allocator) for a in arrays] if out is None else list(out)
    offsets = [0] * len(arrays) if src_offsets is None else list(src_offsets)
    if not len(made) == len(arrays) == len(offsets):
        raise ValueError("arrays, out and src_offsets must have the same length")
    for a, one, offset in zip(arrays, made, offsets, strict=True):
        kernel = _kernel(
            f"{_c(dest_indices.dtype)} *to, {_c(src_indices.dtype)} *at, long offset, "
            f"{_c(a.dtype)} *dest, {_c(a.dtype)} *src",
            "dest[to[i]] = src[at[i] + offset]", "take_put",
        )  # fmt: skip
        kernel(dest_indices, src_indices, offset, one, a, stream=stream)
    return made


def concatenate(arrays, axis=0, allocator=None):
    """The arrays along an axis that they have."""
    first = arrays[0]
    axis %= max(first.ndim, 1)
    for one in arrays:
        lengths = zip(one.shape, first.shape, strict=False)
        same = all(place == axis or a == b for place, (a, b) in enumerate(lengths))
        if one.ndim != first.ndim or not same:
            raise ValueError("all arrays must have the same shape, but for the axis")
    shape = list(first.shape)
    shape[axis] = sum(one.shape[axis] for one in arrays)
    kind = np.result_type(*(one.dtype for one in arrays))
    made = GPUArray(tuple(shape), kind, allocator or first.allocator)
    begin = 0
    for one in arrays:
        part = (slice(None),) * axis + (slice(begin, begin + one.shape[axis]),)
        made[part] = one
        begin += one.shape[axis]
    return made


def stack(arrays, axis=0, allocator=None):
    """The arrays along a new axis."""
    if not arrays:
        raise ValueError("need at least one array to stack")
    first = arrays[0]
    if any(one.shape != first.shape for one in arrays):
        raise ValueError("arrays must have the same shape")
    axis %= first.ndim + 1
    shape = (*first.shape[:axis], len(arrays), *first.shape[axis:])
    kind = np.result_type(*(one.dtype for one in arrays))
    made = GPUArray(shape, kind, allocator or first.allocator)
    for place, one in enumerate(arrays):
        made[(slice(None),) * axis + (place,)] = one
    return made


def transpose(a, axes=None):
    """A view with the axes in another order."""
    return a.transpose(axes)


def reshape(a, *shape, **kwargs):
    """The elements in another shape."""
    return a.reshape(*shape, **kwargs)


def _chosen(test: str, name: str, criterion: Any, then_: Any, else_: Any, out: Any,
            stream: Any) -> GPUArray:  # fmt: skip
    vectors = [one for one in (criterion, then_, else_) if isinstance(one, GPUArray)]
    if not isinstance(criterion, GPUArray):
        raise TypeError("the criterion is a GPUArray")
    if any(one.shape != criterion.shape for one in vectors):
        raise ValueError("shapes do not match")
    kind = _result_type(then_, else_)
    if isinstance(then_, GPUArray) and isinstance(else_, GPUArray) and then_.dtype != else_.dtype:
        raise ValueError("dtypes do not match")
    out = criterion._like(kind) if out is None else out
    parts = []
    for label, one in (("then_", then_), ("else_", else_)):
        star, at = ("*", "[i]") if isinstance(one, GPUArray) else ("", "")
        type_ = one.dtype if isinstance(one, GPUArray) else kind
        parts.append((f"{_c(type_)} {star}{label}", f"{label}{at}"))
    kernel = _kernel(
        f"{_c(criterion.dtype)} *crit, {parts[0][0]}, {parts[1][0]}, {_c(out.dtype)} *result",
        f"result[i] = crit[i] {test} 0 ? {parts[0][1]} : {parts[1][1]}", name,
    )  # fmt: skip
    kernel(criterion, then_, else_, out, stream=stream)
    return out


def if_positive(criterion, then_, else_, out=None, stream=None):
    """Elements of `then_` where the criterion is above 0, else of `else_`."""
    return _chosen(">", "if_positive", criterion, then_, else_, out, stream)


def where(criterion, then_, else_, out=None, stream=None):
    """Elements of `then_` where the criterion is not 0, else of `else_`."""
    return _chosen("!=", "where", criterion, then_, else_, out, stream)
