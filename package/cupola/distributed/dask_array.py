# cupola/distributed/dask_array.py - device arrays as blocks of dask.array.
"""Functions that ``dask.array`` dispatches on, and the array backend "cupola"."""

from __future__ import annotations

import math
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.array import dispatch
from dask.array.backends import ArrayBackendEntrypoint
from dask.array.wrap import w as _blocked
from dask.utils import Dispatch

import cupola
from cupola.array import Array
from cupola.exceptions import Error

to_cupola_dispatch = Dispatch("to_cupola_dispatch")


@to_cupola_dispatch.register((Array, np.ndarray))
def _to_device(data: Any, **options: Any) -> Array:
    return cupola.asarray(data, **options)


def _to_host(data: Array, **options: Any) -> np.ndarray[Any, Any]:
    return data.get(**options)


def _numel(x: Array, **options: Any) -> Any:
    """The number of elements that a reduction combines, in each of its results."""
    axis, keepdims = options.get("axis"), options.get("keepdims", False)
    dtype = options.get("dtype", np.float64)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    reduced = {one % x.ndim for one in axes} if x.ndim else set()
    kept = [
        (1 if k in reduced else n) for k, n in enumerate(x.shape) if keepdims or k not in reduced
    ]
    number = math.prod(x.shape[k] for k in reduced)
    return cupola.full(tuple(kept), number, dtype, device=x.device_index)


def _einsum(*operands: Any, **options: Any) -> Any:
    raise Error(
        "dask.array.einsum: cupola has no einsum of device arrays; use dask.array.tensordot, "
        "matmul, or sums of products, or convert the blocks with to_backend('numpy')"
    )


def _percentile(a: Array, q: Array, method: str = "linear") -> tuple[Array | None, int]:
    """One block's percentiles and its elements, which Dask merges with those of other blocks."""
    if not len(a):
        return None, 0
    if a.dtype.kind == "b":
        method = "nearest"  # as Dask does for NumPy's arrays
    return np.percentile(a, q.get(), method=method), len(a)


def register() -> None:
    """Called by the entry point, at the first block that is an object of cupola."""
    dispatch.numel_lookup.register(Array, _numel)
    dispatch.einsum_lookup.register(Array, _einsum)
    dispatch.percentile_lookup.register(Array, _percentile)
    dispatch.empty_lookup.register(Array, cupola.empty)
    dispatch.to_numpy_dispatch.register(Array, _to_host)


def _empty(shape: Any, dtype: Any = None, order: str = "C", meta: Any = None) -> Array:
    return cupola.empty(shape, float if dtype is None else dtype, order=order)


def _zeros(shape: Any, dtype: Any = None, order: str = "C", meta: Any = None) -> Array:
    return cupola.zeros(shape, float if dtype is None else dtype, order=order)


def _ones(shape: Any, dtype: Any = None, order: str = "C", meta: Any = None) -> Array:
    return cupola.ones(shape, float if dtype is None else dtype, order=order)


def _full(
    shape: Any, fill_value: Any = None, dtype: Any = None, order: str = "C", meta: Any = None
) -> Array:
    return cupola.full(shape, fill_value, dtype, order=order)


def _created(function: Any, *args: Any, meta: Any = None, **options: Any) -> Any:
    """A collection of blocks that a function of cupola makes."""
    return _blocked(function)(*args, meta=cupola.empty(()) if meta is None else meta, **options)


class CupolaBackend(ArrayBackendEntrypoint):
    """The backend "cupola" of ``dask.array``: its functions make collections of device arrays.

    Select it with ``dask.config.set({"array.backend": "cupola"})``.
    """

    @classmethod
    def to_backend_dispatch(cls) -> Dispatch:
        return to_cupola_dispatch

    @classmethod
    def to_backend(cls, data: Any, **options: Any) -> Any:
        if isinstance(data._meta, Array):
            return data
        return data.map_blocks(to_cupola_dispatch, **options)

    @property
    def default_bit_generator(self) -> Any:
        return cupola.random.Philox

    @property
    def RandomState(self) -> Any:  # noqa: N802 - Dask's name
        raise Error(
            "cupola has no RandomState: use dask.array.random.default_rng(seed), whose blocks "
            "cupola.random draws"
        )

    @staticmethod
    def empty(*args: Any, **options: Any) -> Any:
        return _created(_empty, *args, **options)

    @staticmethod
    def zeros(*args: Any, **options: Any) -> Any:
        return _created(_zeros, *args, **options)

    @staticmethod
    def ones(*args: Any, **options: Any) -> Any:
        return _created(_ones, *args, **options)

    @staticmethod
    def full(*args: Any, **options: Any) -> Any:
        return _created(_full, *args, **options)

    @staticmethod
    def arange(*limits: Any, like: Any = None, **options: Any) -> Any:
        like = cupola.empty(0) if like is None else like
        with dask.config.set({"array.backend": "numpy"}):  # the function that takes like=
            return da.arange(*limits, like=like, **options)
