# cupola/pycuda/_creation.py - functions that make GPUArrays.
"""GPUArrays of zeros, of numbers in order, and of host arrays."""

from __future__ import annotations

import math

import numpy as np

import cupola
from cupola.pycuda import driver as drv
from cupola.pycuda._gpu_array import GPUArray, _on
from cupola.pycuda._strides import like_strides


def to_gpu(ary, allocator=drv.mem_alloc):
    """A copy of a host array, with its strides where it is contiguous in any order."""
    return to_gpu_async(ary, allocator)


def to_gpu_async(ary, allocator=drv.mem_alloc, stream=None):
    """The same, queued in a stream."""
    if not hasattr(ary, "dtype"):
        raise TypeError(
            f"to_gpu: ary: expected a NumPy array, got {type(ary).__name__}: pass "
            "numpy.array(ary, dtype)"
        )
    strides = like_strides(ary.dtype.itemsize, ary.shape, ary.strides)
    made = GPUArray(ary.shape, ary.dtype, allocator, strides=strides)
    made.set(ary, async_=stream is not None, stream=stream)
    return made


empty = GPUArray


def zeros(shape, dtype=np.float64, allocator=drv.mem_alloc, order="C"):
    """An array of zeros."""
    made = GPUArray(shape, dtype, allocator, order=order)
    return made.fill(np.zeros((), made.dtype)[()])


def ones(shape, dtype=np.float64, allocator=drv.mem_alloc, order="C"):
    """An array of ones."""
    return GPUArray(shape, dtype, allocator, order=order).fill(1)


def empty_like(other_ary, dtype=None, order="K"):
    """An array of the shape, dtype and order of another array."""
    kind = other_ary.dtype if dtype is None else np.dtype(dtype)
    allocator = getattr(other_ary, "allocator", drv.mem_alloc)
    if order == "A":
        both = other_ary.flags.f_contiguous and not other_ary.flags.c_contiguous
        order = "F" if both else "C"
    if order == "K":
        strides = like_strides(kind.itemsize, other_ary.shape, other_ary.strides)
        return GPUArray(other_ary.shape, kind, allocator, strides=strides)
    return GPUArray(other_ary.shape, kind, allocator, order=order)


def zeros_like(other_ary, dtype=None, order="K"):
    """`empty_like`, filled with zeros."""
    made = empty_like(other_ary, dtype, order)
    return made.fill(np.zeros((), made.dtype)[()])


def ones_like(other_ary, dtype=None, order="K"):
    """`empty_like`, filled with ones."""
    return empty_like(other_ary, dtype, order).fill(1)


def arange(*args, **kwargs):
    """Numbers from start to stop: ``arange(stop)``, ``arange(start, stop[, step])``.

    Keywords: dtype=, allocator=, stream=.
    """
    names = ("start", "stop", "step")
    if not 1 <= len(args) + sum(name in kwargs for name in names) <= 4:
        raise ValueError("arange takes stop, or start, stop and step")
    if len(args) == 4:
        kwargs["dtype"] = args[3]
        args = args[:3]
    given = dict(zip(names if len(args) > 1 else ("stop",), args, strict=False))
    given.update({name: kwargs.pop(name) for name in names if name in kwargs})
    dtype, stream = kwargs.pop("dtype", None), kwargs.pop("stream", None)
    allocator = kwargs.pop("allocator", None) or drv.mem_alloc
    if kwargs:
        raise ValueError(f"unknown keyword arguments: {', '.join(kwargs)}")
    start, stop, step = given.get("start", 0), given["stop"], given.get("step", 1)
    if dtype is None:
        dtype = np.array([start, stop, step]).dtype
    kind = np.dtype(dtype)
    count = max(math.ceil((stop - start) / step), 0)
    made = GPUArray((count,), kind, allocator)
    if count:
        with _on(stream):
            made.array.set(cupola.arange(start, start + count * step, step, dtype=kind)[:count])
    return made
