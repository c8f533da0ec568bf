# cupola/arrays/cublas.py - products of matrices by cuBLAS, where its library is installed.
"""cuBLAS, found at the first product on a GPU; cupola's own kernels multiply without it."""

from __future__ import annotations

import functools
from ctypes import POINTER, byref, c_double, c_float, c_int, c_longlong, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cupola.array import note_use
from cupola.arrays.planned_call import refuse_plan
from cupola.creation import empty
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

_MOST_FORMS = 256  # forms of operands whose calls are kept
LEAST_WORK = 1 << 21  # multiplications of a product; smaller ones use cupola's own kernels


class Product(NamedTuple):
    """A call of cuBLAS without its addresses, for operands of one form."""

    shape: tuple[int, ...]  # of the result
    dtype: np.dtype[Any]
    # The arguments before and between the addresses of b, of a and of the result, and after these.
    first: tuple[Any, ...]
    of_b: tuple[Any, ...]
    of_a: tuple[Any, ...]
    last: tuple[Any, ...]


class Cublas(MathLibrary):
    """The loaded library.

    Parameters
    ----------
    found : libraries.Library
    """

    def __init__(self, found: libraries.Library) -> None:
        super().__init__(found, "cuBLAS", _PROTOTYPES, "cuBLAS 12")
        self._handles: dict[int, c_void_p] = {}
        self._products: dict[tuple[Any, ...], Product] = {}

    def multiply(
        self, out: Array, a: Matrices, b: Matrices, shape: tuple[int, int, int], count: int
    ) -> Product | None:
        """Queue ``out = a @ b`` on the current stream; the arguments of `matrix_product.multiply`.

        Returns
        -------
        Product or None
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
        product = Product(
            out.shape, out.dtype,
            (int(b.deep), int(not a.deep), columns, rows, inner, byref(kind.one)),
            (kind.data, left, b.batch), (kind.data, right, a.batch, byref(kind.zero)),
            (kind.data, columns, rows * columns, count, kind.compute, _DEFAULT),
        )  # fmt: skip
        note_use(out)
        self._queue(product, out, a.first, b.first)
        return product

    def _queue(self, product: Product, out: Array, a: Array, b: Array) -> None:
        refuse_plan()
        device = out.device_index
        stream = Stream.current(device)
        note_use(a)
        note_use(b)
        with self.lock, Device(device):
            handle = self._handle(device)
            self.call("cublasSetStream_v2", handle, stream.handle)
            self.call(
                "cublasGemmStridedBatchedEx", handle, *product.first, b.ptr, *product.of_b, a.ptr,
                *product.of_a, out.ptr, *product.last,
            )  # fmt: skip

    def keep(self, a: Array, b: Array, product: Product) -> None:
        """Note the product of arrays whose own memory `multiply` got, for `repeated`."""
        if len(self._products) >= _MOST_FORMS:
            self._products.clear()
        self._products[_form(a, b)] = product

    def repeated(self, a: Array, b: Array) -> Array | None:
        """The product of operands, where arrays of this form were multiplied before."""
        product = self._products.get(_form(a, b))
        if product is None:
            return None
        out: Array = empty(product.shape, product.dtype, device=a.device_index)
        self._queue(product, out, a, b)
        return out

    def _handle(self, device: int) -> c_void_p:
        if device not in self._handles:
            made = c_void_p()
            self.call("cublasCreate_v2", byref(made))
            self._handles[device] = made
        return self._handles[device]


def _form(a: Array, b: Array) -> tuple[Any, ...]:
    """All of two operands that a product depends on but their addresses."""
    alignment = a.ptr % a.itemsize, b.ptr % b.itemsize
    return (
        a.dtype, a.shape, a.strides, b.dtype, b.shape, b.strides, alignment,
        a.device_index == b.device_index,
    )  # fmt: skip


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
