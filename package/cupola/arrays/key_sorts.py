# cupola/arrays/key_sorts.py - sorts of several keys: complex numbers and lexsort.
"""Stable sorts one after another, of which the last has the first key."""

from __future__ import annotations

import numpy as np

from cupola.array import Array
from cupola.arrays.images import kernel
from cupola.arrays.key_order import key_order
from cupola.arrays.radix_sort import sort_rows
from cupola.creation import empty
from cupola.kernel_constants import SORT_KEY_THREADS


def argsort_rows(x: Array, indices: Array) -> None:
    """Write the indices that sort each row.

    Parameters
    ----------
    x : Array
        Contiguous; of bool or numbers.
    indices : Array
        Of int64 and the shape of `x`.
    """
    if x.dtype.kind != "c":
        sort_rows(x, None, indices)
    elif x.size:
        _argsort_complex(x, indices)


def _argsort_complex(x: Array, indices: Array) -> None:
    blocks = -(-x.size // SORT_KEY_THREADS)
    if x.dtype == np.complex64:
        keys = empty(x.shape, np.uint64, device=x.device_index)
        launch = kernel("sort_gather", "sort_key_of_complex64", x.device_index)
        launch[blocks, SORT_KEY_THREADS](x, keys, x.size, key_order(np.dtype(np.float32)))
        sort_rows(keys, None, indices)
        return
    high, low = (empty(x.shape, np.uint64, device=x.device_index) for _ in range(2))
    launch = kernel("sort_gather", "sort_keys_of_complex128", x.device_index)
    launch[blocks, SORT_KEY_THREADS](x, high, low, x.size, key_order(np.dtype(np.float64)))
    first = empty(x.shape, np.int64, device=x.device_index)
    sort_rows(low, None, first)
    resort(high, first, indices)


def resort(keys: Array, first: Array, indices: Array) -> None:
    """Sort rows, which the indices `first` permute, by further keys."""
    permuted = empty(keys.shape, keys.dtype, device=keys.device_index)
    gather(keys, first, permuted)
    second = empty(keys.shape, np.int64, device=keys.device_index)
    argsort_rows(permuted, second)
    gather(first, second, indices)


def gather(x: Array, indices: Array, out: Array) -> None:
    """Write the elements of each row at the indices of the row."""
    if x.size:
        launch = kernel("sort_gather", f"sort_gather_{8 * x.itemsize}", x.device_index)
        launch[-(-x.size // SORT_KEY_THREADS), SORT_KEY_THREADS](
            x, indices, out, x.size, x.shape[-1]
        )
