# cupola/arrays/families.py - families of the kernels of arrays.
"""The variants of matrix products and of sorts, which `matrix_product` and `radix_sort` launch."""

from __future__ import annotations

from cupola.arrays.images import kernel
from cupola.arrays.matrix_stacks import MOST_BATCHES
from cupola.kernel_constants import (
    MATMUL_F32_LINES,
    MATMUL_F64_LINES,
    MATMUL_LARGE_PARTS,
    MATMUL_THREADS,
    SORT_KEYS_32_ITEMS,
    SORT_KEYS_32_THREADS,
    SORT_KEYS_64_ITEMS,
    SORT_KEYS_64_THREADS,
    SORT_PAIRS_32_ITEMS,
    SORT_PAIRS_32_THREADS,
    SORT_PAIRS_64_ITEMS,
    SORT_PAIRS_64_THREADS,
)
from cupola.tuning.family import Family
from cupola.tuning.own_source import OwnSource, own_family
from cupola.tuning.own_source import chosen as chosen
from cupola.tuning.own_source import launch_of as launch_of

_CASES = "cupola.arrays.family_cases"
_OF_OPERANDS = ("a", "a_step", "a_deep", "a_batch", "b", "b_step", "b_deep", "b_batch")
_OF_MATMUL = ("out", *_OF_OPERANDS, "rows", "columns", "inner", "batches")
_OF_PASS = ("words", "tickets", "bins", "next_bins", "spec", "order")
_OF_KEYS = ("keys", "keys_out", *_OF_PASS)
_OF_PAIRS = ("keys", "keys_out", "values", "values_out", "indices", *_OF_PASS)


def _matmul(element: str, small: int, many: bool) -> Family:
    """Tiles of HIGH rows and WIDE columns.

    The default depends on the sizes, so there are two families: for products of ``many`` tiles,
    which fill the device, and for those of few.
    """
    large = small * MATMUL_LARGE_PARTS
    name, usual = ("many", large) if many else ("few", small)
    return own_family(
        f"matmul_{element}_{name}",
        OwnSource("kernels/algorithms/matmul.cu", _OF_MATMUL, kernel),
        {
            "kernel": f"matmul_{element}_{{HIGH}}x{{WIDE}}",
            "tunables": {"HIGH": [small, large], "WIDE": [small, large]},
            "default": {"HIGH": usual, "WIDE": usual},
            "key": ["rows", "columns", "inner", "batches"],
            "grid": [
                "ceildiv(rows, HIGH) * ceildiv(columns, WIDE)",
                f"min(batches, {MOST_BATCHES})",
            ],
            "block": MATMUL_THREADS,
            "cases": f"{_CASES}:matmul_{element}_{name}",
        },
    )


def _sort(name: str, threads: int, items: int, fewer: int, names: tuple[str, ...]) -> Family:
    """A pass of a sort, by tiles of THREADS * ITEMS elements.

    The default has the largest tiles; rows that are shorter get more blocks by smaller ones.
    """
    return own_family(
        name,
        OwnSource("kernels/algorithms/sort.cu", names, kernel),
        {
            "kernel": f"{name}_{{THREADS}}x{{ITEMS}}",
            "tunables": {"THREADS": [256, threads], "ITEMS": [fewer, items]},
            "default": {"THREADS": threads, "ITEMS": items},
            "restrictions": [f"THREADS - 256 <= (ITEMS - {fewer}) * {threads}"],
            "sizes": {"rows": "shape(keys, 0)", "n": "shape(keys, 1)"},
            "key": ["rows", "n"],
            "grid": "rows * ceildiv(n, THREADS * ITEMS)",
            "block": "THREADS",
            "cases": f"{_CASES}:{name}",
        },
    )


matmul_f32_few = _matmul("f32", MATMUL_F32_LINES, False)
matmul_f32_many = _matmul("f32", MATMUL_F32_LINES, True)
matmul_f64_few = _matmul("f64", MATMUL_F64_LINES, False)
matmul_f64_many = _matmul("f64", MATMUL_F64_LINES, True)
sort_keys_32 = _sort("sort_keys_32", SORT_KEYS_32_THREADS, SORT_KEYS_32_ITEMS, 9, _OF_KEYS)
sort_keys_64 = _sort("sort_keys_64", SORT_KEYS_64_THREADS, SORT_KEYS_64_ITEMS, 7, _OF_KEYS)
sort_pairs_32 = _sort("sort_pairs_32", SORT_PAIRS_32_THREADS, SORT_PAIRS_32_ITEMS, 11, _OF_PAIRS)
sort_pairs_64 = _sort("sort_pairs_64", SORT_PAIRS_64_THREADS, SORT_PAIRS_64_ITEMS, 7, _OF_PAIRS)
