# cupola/arrays/matrix_product.py - the kernels of matrix products, and their launches.
"""Products of stacks of matrices."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cupola.array import Array
from cupola.arrays import cublas
from cupola.arrays.images import kernel
from cupola.arrays.matrix_stacks import Matrices
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

_MOST_BATCHES = 65535  # blocks along a grid's last axis; a block also computes further batches


class Family(NamedTuple):
    """The kernels of an element type."""

    image: str
    name: str
    tile: int  # rows and columns
    large: int  # rows and columns of a second kernel's tile; 0 if no second kernel exists
    shared: int = 0  # bytes of dynamic shared memory


_REALS = {
    code: Family("matmul", name, lines, lines * MATMUL_LARGE_PARTS)
    for code, name, lines in (("f4", "f32", MATMUL_F32_LINES), ("f8", "f64", MATMUL_F64_LINES))
}
_SIMPLE = {"?": "b8", "c8": "c64", "c16": "c128"}
# Products wrap around, so signed and unsigned integers share a kernel.
_SIMPLE |= {f"{kind}{size}": f"i{8 * size}" for kind in "iu" for size in (1, 2, 4, 8)}
FAMILIES = {
    np.dtype(code): family
    for code, family in {
        "f2": Family("matmul_half", "f16", MATMUL_HALF_LINES, 0, MATMUL_HALF_SHARED),
        **_REALS,
        **{
            code: Family("matmul_simple", name, MATMUL_SIMPLE_LINES, 0)
            for code, name in _SIMPLE.items()
        },
    }.items()
}


def multiply(out: Array, a: Matrices, b: Matrices, shape: tuple[int, int, int], count: int) -> None:
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
    """
    rows, columns, inner = shape
    if count > 1 and b.batch == 0 and a.deep and a.batch == rows * a.step:
        rows, count = rows * count, 1  # one tall matrix
    family = FAMILIES[out.dtype]
    device = out.device_index
    library = cublas.usable(device)
    if library is not None and library.multiply(out, a, b, (rows, columns, inner), count):
        return
    name, tiles = f"matmul_{family.name}", _tiles(rows, columns, family.tile)
    if family.large:
        large = _tiles(rows, columns, family.large)
        many = min(rows, columns) > family.tile
        many = many and large * count >= Device(device).multiprocessor_count
        name += "_large" if many else "_small"
        tiles = large if many else tiles
    grid = tiles, min(count, _MOST_BATCHES)
    kernel(family.image, name, device)[grid, MATMUL_THREADS, None, family.shared](
        out, *a.arguments(), *b.arguments(), rows, columns, inner, count
    )


def _tiles(rows: int, columns: int, side: int) -> int:
    return math.prod(-(-one // side) for one in (rows, columns))
