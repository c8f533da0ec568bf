# cupola/arrays/cublas.py - products of matrices by cuBLAS, where its library is installed.
"""cuBLAS, found at the first product on a GPU; cupola's own kernels multiply without it."""

from __future__ import annotations

import functools
from ctypes import POINTER, byref, c_double, c_float, c_int, c_longlong, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cupola.array import note_use
from cupola.arrays.planned_call import refuse_plan
from cupola.device import Device, is_cpu
from cupola.exceptions import Error
from cupola.stream import Stream
from cupola.toolkit import libraries
from cupola.toolkit.math_library import MathLibrary

if TYPE_CHECKING:
    from cupola.array import Array
    from cupola.arrays.matrix_stacks import Matrices

_PROTOTYPES: dict[str, list[Any]] = {
    "cublasCreate_v2": [POINTER(c_void_p)],
    "cublasSetStream_v2": [c_void_p, c_void_p],
    "cublasGemmStridedBatchedEx": [
        c_void_p, c_int, c_int, c_int, c_int, c_int, c_void_p,
        c_void_p, c_int, c_int, c_longlong, c_void_p, c_int, c_int, c_longlong, c_void_p,
        c_void_p, c_int, c_int, c_longlong, c_int, c_int, c_int,
    ],
}  # fmt: skip
_MOST = 2**31 - 1  # the largest value of a C int
_DEFAULT = -1  # CUBLAS_GEMM_DEFAULT


class _Type(NamedTuple):
    """cudaDataType, cublasComputeType_t, and 1 and 0 for the factors."""

    data: int
    compute: int
    one: Any
    zero: Any


_TYPES = {
    np.dtype("f2"): _Type(2, 68, c_float(1), c_float(0)),
    np.dtype("f4"): _Type(0, 68, c_float(1), c_float(0)),
    np.dtype("f8"): _Type(1, 70, c_double(1), c_double(0)),
    np.dtype("c8"): _Type(4, 68, (c_float * 2)(1, 0), (c_float * 2)(0, 0)),
    np.dtype("c16"): _Type(5, 70, (c_double * 2)(1, 0), (c_double * 2)(0, 0)),
}

LEAST_WORK = 1 << 21  # multiplications of a product; smaller ones use cupola's own kernels


class Cublas(MathLibrary):
    """The loaded library.

    Parameters
    ----------
    found : libraries.Library
    """

    def __init__(self, found: libraries.Library) -> None:
        super().__init__(found, "cuBLAS", _PROTOTYPES, "cuBLAS 12")
        self._handles: dict[int, c_void_p] = {}

    def multiply(
        self, out: Array, a: Matrices, b: Matrices, shape: tuple[int, int, int], count: int
    ) -> bool:
        """Queue ``out = a @ b`` on the current stream; the arguments of `matrix_product.multiply`.

        Returns
        -------
        bool
            False, with nothing queued, where cuBLAS does not take the operands: other types, steps
            that are negative or overlap, lengths above 2**31 - 1, an empty sum.
        """
        rows, columns, inner = shape
        kind = _TYPES.get(out.dtype)
        # cuBLAS counts by columns: the transposed product b.T @ a.T, in the memory of `out`.
        left = _leading(b, columns, inner)
        right = _leading(a, rows, inner)
        if kind is None or not inner or left is None or right is None:
            return False
        if max(rows, columns, inner, count, left, right) > _MOST or min(a.batch, b.batch) < 0:
            return False
        refuse_plan()
        device = out.device_index
        stream = Stream.current(device)
        for array in (out, a.first, b.first):
            note_use(array)
        with self.lock, Device(device):
            handle = self._handle(device)
            self.call("cublasSetStream_v2", handle, stream.handle)
            self.call(
                "cublasGemmStridedBatchedEx",
                handle, int(b.deep), int(not a.deep), columns, rows, inner, byref(kind.one),
                b.first.ptr, kind.data, left, b.batch, a.first.ptr, kind.data, right, a.batch,
                byref(kind.zero), out.ptr, kind.data, columns, rows * columns, count,
                kind.compute, _DEFAULT,
            )  # fmt: skip
        return True

    def _handle(self, device: int) -> c_void_p:
        if device not in self._handles:
            made = c_void_p()
            self.call("cublasCreate_v2", byref(made))
            self._handles[device] = made
        return self._handles[device]


def _leading(x: Matrices, lines: int, inner: int) -> int | None:
    """The leading dimension of an operand; None where its columns overlap."""
    length, others = (inner, lines) if x.deep else (lines, inner)
    step = length if others == 1 else x.step
    return max(step, 1) if step >= length else None


def usable(device: int) -> Cublas | None:
    """cuBLAS for the current stream of a device.

    None on the CPU device, where it is not installed, and while the stream is being captured:
    cuBLAS may allocate memory.
    """
    if is_cpu(device):
        return None
    found = _installed()
    return None if found is None or Stream.current(device).capturing else found


@functools.cache
def _installed() -> Cublas | None:
    try:
        return Cublas(libraries.load("cublas"))
    except Error:
        return None
