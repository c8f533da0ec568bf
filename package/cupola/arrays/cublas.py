# cupola/arrays/cublas.py - products of matrices by cuBLAS, where its library is installed.
"""cuBLAS, found at the first product on a GPU; cupola's own kernels multiply without it."""

from __future__ import annotations

import functools
from ctypes import POINTER, byref, c_int, c_longlong, c_void_p, cast
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cupola.arrays.gemm_call import GemmCall
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
    """cudaDataType, cublasComputeType_t, and the bytes of 1 and 0 for the factors."""

    data: int
    compute: int
    one: bytes
    zero: bytes


_TYPES = {
    np.dtype(code): _Type(data, compute, np.ones((), factor).tobytes(), bytes(16))
    for code, data, compute, factor in [
        ("f2", 2, 68, "f4"), ("f4", 0, 68, "f4"), ("f8", 1, 70, "f8"), ("c8", 4, 68, "c8"),
        ("c16", 5, 70, "c16"),
    ]
}  # fmt: skip

LEAST_WORK = 1 << 21  # multiplications of a product; smaller ones use cupola's own kernels


class Cublas(MathLibrary):
    """The loaded library.

    Parameters
    ----------
    found : libraries.Library
    """

    def __init__(self, found: libraries.Library) -> None:
        super().__init__(found, "cuBLAS", _PROTOTYPES, "cuBLAS 12")
        self._handles: dict[int, int] = {}
        set_stream, multiply = (
            cast(self._calls[name], c_void_p).value or 0
            for name in ("cublasSetStream_v2", "cublasGemmStridedBatchedEx")
        )
        self._functions = set_stream, multiply

    def multiply(
        self, out: Array, a: Matrices, b: Matrices, shape: tuple[int, int, int], count: int
    ) -> GemmCall | None:
        """Queue ``out = a @ b`` on the current stream; the arguments of `matrix_product.multiply`.

        Returns
        -------
        GemmCall or None
            None, with nothing queued, where cuBLAS does not take the operands: other types, steps
            that are negative or overlap, lengths above 2**31 - 1, an empty sum.
        """
        rows, columns, inner = shape
        kind = _TYPES.get(out.dtype)
        # cuBLAS counts by columns: the transposed product b.T @ a.T, in the memory of `out`.
        left = _leading(b, columns, inner)
        right = _leading(a, rows, inner)
        if kind is None or not inner or left is None or right is None:
            return None
        if max(rows, columns, inner, count, left, right) > _MOST or min(a.batch, b.batch) < 0:
            return None
        product = GemmCall(
            self._functions, self._handle(out.device_index), self.lock, out.shape, out.dtype,
            kind.one, kind.zero,
            (
                kind.data, int(b.deep), int(not a.deep), columns, rows, inner, left, b.batch,
                right, a.batch, columns, rows * columns, count, kind.compute, _DEFAULT,
            ),
        )  # fmt: skip
        refuse_plan()
        product.queue(a.first, b.first, out)
        return product

    def _handle(self, device: int) -> int:
        with self.lock:
            if device not in self._handles:
                made = c_void_p()
                with Device(device):
                    self.call("cublasCreate_v2", byref(made))
                self._handles[device] = made.value or 0
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
