# cupola/arrays/matrix_product.py - the kernels of matrix products, and their launches.
"""Products of stacks of matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cupola.array import Array
from cupola.arrays import cublas
from cupola.arrays.images import kernel
from cupola.arrays.matrix_stacks import MOST_BATCHES, Matrices
from cupola.device import Device
from cupola.kernel_constants import (
    MATMUL_F32_LINES,
    MATMUL_F64_LINES,
    MATMUL_HALF_LINES,
    MATMUL_HALF_SHARED,
    MATMUL_LARGE_PARTS,
    MATMUL_SIMPLE_LINES,
    MATMUL_THREADS,
)

if TYPE_CHECKING:
    from cupola.arrays.gemm_call import GemmCall
    from cupola.declare.family import Variant
    from cupola.tuning.family import Family


class Form(NamedTuple):
    """The kernels of an element type."""

    image: str
    name: str
    tile: int  # rows and columns
    shared: int = 0  # bytes of dynamic shared memory


# The forms in several variants, of `cupola.arrays.families`; the tile is the smallest.
_REALS = {
    "f4": Form("matmul", "f32", MATMUL_F32_LINES),
    "f8": Form("matmul", "f64", MATMUL_F64_LINES),
}
_SIMPLE = {"?": "b8", "c8": "c64", "c16": "c128"}
# Products wrap around, so signed and unsigned integers share a kernel.
_SIMPLE |= {f"{kind}{size}": f"i{8 * size}" for kind in "iu" for size in (1, 2, 4, 8)}
FORMS = {
    np.dtype(code): form
    for code, form in {
        "f2": Form("matmul_half", "f16", MATMUL_HALF_LINES, MATMUL_HALF_SHARED),
        **_REALS,
        **{
            code: Form("matmul_simple", name, MATMUL_SIMPLE_LINES) for code, name in _SIMPLE.items()
        },
    }.items()
}


def multiply(
    out: Array, a: Matrices, b: Matrices, shape: tuple[int, int, int], count: int
) -> GemmCall | None:
    """Queue ``out = a @ b`` for matrices of rows x inner and inner x columns.

    Parameters
    ----------
    out : Array
        Contiguous, without memory of the operands.
    a, b : Matrices
    shape : tuple of int
        Rows, columns, inner.
    count : int
        Matrices of the stack.

    Returns
    -------
    GemmCall or None
        The product by cuBLAS; None where cupola's own kernels multiply.
    """
    rows, columns, inner = shape
    if count > 1 and b.batch == 0 and a.deep and a.batch == rows * a.step:
        rows, count = rows * count, 1  # one tall matrix
    form = FORMS[out.dtype]
    device = out.device_index
    # A call of cuBLAS costs more of the host's time than a small product takes.
    large = math.prod(shape) * count >= cublas.LEAST_WORK
    library = cublas.usable(device) if large else None
    if library is not None:
        product = library.multiply(out, a, b, (rows, columns, inner), count)
        if product is not None:
            return product
    sizes = rows, columns, inner, count
    if form.image == "matmul":
        _launch(form, sizes, device)(out, *a.arguments(), *b.arguments(), *sizes)
        return None
    grid = _tiles(rows, columns, form.tile), min(count, MOST_BATCHES)
    kernel(form.image, f"matmul_{form.name}", device)[grid, MATMUL_THREADS, None, form.shared](
        out, *a.arguments(), *b.arguments(), *sizes
    )
    return None


def _launch(form: Form, sizes: tuple[int, int, int, int], device: int) -> Any:
    """The kernel with its grid, of the variants for many tiles, or for few.

    Many large tiles fill the device.
    """
    from cupola.arrays import families

    rows, columns, _, count = sizes
    large = _tiles(rows, columns, form.tile * MATMUL_LARGE_PARTS)
    many = min(rows, columns) > form.tile
    many = many and large * count >= Device(device).multiprocessor_count
    family = getattr(families, f"matmul_{form.name}_{'many' if many else 'few'}")
    return families.chosen(family, device, sizes, _configured)


def _configured(family: Family, variant: Variant, device: int, sizes: tuple[int, ...]) -> Any:
    from cupola.arrays.families import launch_of

    launch = launch_of(family, variant, sizes)
    return family.kernel(variant, (), device)[launch.grid, launch.block]


def _tiles(rows: int, columns: int, side: int) -> int:
    return math.prod(-(-one // side) for one in (rows, columns))
