# cupola/arrays/family_cases.py - the calls on which the families of arrays are measured.
"""Cases of `cupola.arrays.families`, with references by NumPy that are equal to the bit."""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np

from cupola.arrays.key_order import key_order
from cupola.kernel_constants import SORT_DIGITS
from cupola.tuning.cases import Case
from cupola.tuning.shipped_cases import Cases

# Rows, columns, inner, batches: products whose blocks fill no device, and others.
FEW = (
    (64, 64, 64, 1), (64, 64, 1024, 1), (128, 128, 128, 1), (256, 256, 256, 1),
    (512, 512, 512, 1), (512, 512, 4096, 1), (1000, 1000, 1000, 1), (64, 4096, 1024, 1),
    (4096, 64, 1024, 1), (64, 16384, 256, 1), (32, 32, 32, 1000), (64, 64, 64, 500),
    (128, 1024, 1024, 1), (1024, 128, 1024, 1),
)  # fmt: skip
MANY = (
    (1536, 1536, 1536, 1), (2048, 2048, 64, 1), (2048, 2048, 512, 1), (2048, 2048, 2048, 1),
    (4096, 4096, 256, 1), (4096, 4096, 1024, 1), (3000, 3000, 1000, 1), (256, 16384, 512, 1),
    (16384, 256, 512, 1), (1536, 6144, 1024, 1), (6144, 1536, 1024, 1), (192, 192, 192, 200),
    (256, 256, 256, 256), (1024, 1024, 1024, 8),
)  # fmt: skip
# Rows, and elements of a row.
SORTS = (
    (1, 5000), (1, 10_000), (1, 30_000), (1, 100_000), (1, 300_000), (1, 1_000_000),
    (1, 3_000_000), (1, 10_000_000), (10, 5000), (10, 30_000), (10, 300_000), (100, 5000),
    (100, 30_000), (1000, 5000),
)  # fmt: skip


def product(code: str, size: tuple[int, int, int, int]) -> Case:
    """A product of small integers, whose sums are exact."""
    rows, columns, inner, batches = size
    rng = np.random.default_rng(rows)
    a = rng.integers(-4, 5, (batches, rows, inner)).astype(code)
    b = rng.integers(-4, 5, (batches, inner, columns)).astype(code)
    out = np.zeros((batches, rows, columns), code)
    operands = (a, inner, 1, rows * inner, b, columns, 0, inner * columns)
    arguments = (out, *operands, rows, columns, inner, batches)
    return Case(arguments, {"out": a @ b}, rtol=0, atol=0)


def last_pass(bits: int, pairs: bool, size: tuple[int, int]) -> Case:
    """The last pass of a sort: it reads each key, and writes it in the order of its last digit."""
    rng = np.random.default_rng(size[1])
    dtype = np.dtype(f"u{bits // 8}")
    keys = rng.integers(0, 2**bits, size, dtype)
    shift = bits - 8
    digit = (keys >> dtype.type(shift)).astype(np.uint8)
    counts = np.stack([np.bincount(row, minlength=SORT_DIGITS) for row in digit])
    bins = (np.cumsum(counts, 1) - counts).astype(np.uint64)
    order = np.argsort(digit, 1, kind="stable")
    # The words of the smallest tiles are the most.
    words = np.zeros(size[0] * (size[1] // 1024 + 1) * SORT_DIGITS, np.uint32)
    spec = struct.pack("<4q3i4x", size[1], 0, size[1], SORT_DIGITS, shift, 0, 1)
    state = (words, np.zeros(1, np.uint32), bins, None, spec, key_order(dtype))
    expected: dict[str | int, Any] = {"keys_out": np.take_along_axis(keys, order, 1)}
    arguments: tuple[Any, ...] = (keys, np.zeros_like(keys))
    if pairs:
        values = rng.integers(0, size[1], size, np.uint32)
        arguments += (values, None, np.zeros(size, np.int64))
        expected["indices"] = np.take_along_axis(values, order, 1).astype(np.int64)
    return Case((*arguments, *state), expected, rtol=0, atol=0)


matmul_f32_few = functools.partial(Cases, FEW, functools.partial(product, "f4"))
matmul_f32_many = functools.partial(Cases, MANY, functools.partial(product, "f4"))
matmul_f64_few = functools.partial(Cases, FEW, functools.partial(product, "f8"))
matmul_f64_many = functools.partial(Cases, MANY, functools.partial(product, "f8"))
sort_keys_32, sort_keys_64, sort_pairs_32, sort_pairs_64 = (
    functools.partial(Cases, SORTS, functools.partial(last_pass, bits, pairs))
    for pairs in (False, True)
    for bits in (32, 64)
)
