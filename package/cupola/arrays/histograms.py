# cupola/arrays/histograms.py - how often values occur.
"""`bincount` and `histogram`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cupola.array import Array, read_now
from cupola.arrays.arguments import current_values, integer_of, require_device
from cupola.arrays.bin_rules import number_of_bins
from cupola.arrays.element_types import INT64, require_elements
from cupola.arrays.images import kernel
from cupola.arrays.launching import launch
from cupola.arrays.rows import array_of, packed
from cupola.arrays.searching import ELEMENTS, as_type
from cupola.creation import empty, to_device, zeros
from cupola.device import Device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.kernel_constants import HISTOGRAM_ITEMS, HISTOGRAM_WIDE_ITEMS
from cupola.stream import refuse_captured

__all__ = ["bincount", "histogram"]

COUNTING = 512  # threads of a block that counts
SHARED = 48 << 10  # bytes of shared memory that each device has for a block
# Bytes of counters of a block that leave room for several blocks on a multiprocessor.
SPARING = 16 << 10
MAX_COPIES = 8
# Integer types without a kernel, and for each a type that holds its values and has a kernel.
NEXT = {
    np.dtype(np.int8): np.dtype(np.int32), np.dtype(np.int16): np.dtype(np.int32),
    np.dtype(np.uint16): np.dtype(np.int32), np.dtype(np.uint32): np.dtype(np.int64),
}  # fmt: skip
WAIT = (
    "the number of bins depends on the elements; cupola.histogram(x, n, range=(0, n)) counts the "
    "integers below n"
)


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Array:
    """How often each number occurs, as ``numpy.bincount``.

    Parameters
    ----------
    x : Array
        With one axis, of integers from 0 on.
    weights : Array, optional
        Of the shape of `x`: what an element counts.
    minlength : int
        The least length of the result.

    Returns
    -------
    Array
        Of int64; with weights of float64.

    Raises
    ------
    ArgumentValueError
        Where a number is negative; while the stream is being captured.

    Notes
    -----
    The call waits for the least and the greatest number. The order in which weights are added
    differs from call to call, and so does the rounding.
    """
    array = array_of("bincount", "x", x)
    least = integer_of("bincount", "minlength", minlength)
    if least < 0:
        raise ArgumentValueError(f"bincount: argument minlength is negative: {least}")
    if array.ndim != 1:
        raise ArgumentValueError(f"bincount: argument x has {array.ndim} axes, expected 1")
    require_elements("bincount", "x", array, INT64)
    parts = None if weights is None else _weights("bincount", array, weights)
    if parts is not None and parts.dtype.kind == "c":
        raise ArgumentTypeError("bincount: argument weights: expected real numbers, got complex")
    if array.size:
        refuse_captured(array.device_index, "bincount", WAIT)
        low, high = array.min(), array.max()
        if int(low.item()) < 0:
            raise ArgumentValueError(f"bincount: argument x has a negative number: {low.item()}")
        least = max(least, int(high.item()) + 1)
    kind = np.int64 if array.dtype not in (np.int32, np.uint8) else array.dtype
    parts = parts if array.size else None  # as NumPy does for no elements
    return _counted(packed(as_type(array, np.dtype(kind))), parts, least)


def _counted(index: Array, weights: Array | None, bins: int) -> Array:
    """How often each number from 0 to `bins` - 1 occurs; others are ignored."""
    dtype = np.int64 if weights is None else np.float64
    out: Array = zeros(bins, dtype, device=index.device_index)
    if index.size:
        suffix = ELEMENTS[index.dtype.char]
        if weights is None:
            _launch(f"histogram_counts_{suffix}", 4, bins, index, out, index.size, bins)
        else:
            there = packed(as_type(weights, np.dtype(np.float64)))
            name = f"histogram_weights_{suffix}"
            _launch(name, 8, bins, index, there, out, index.size, bins)
    return out


def _launch(
    name: str, counter: int, bins: int, index: Array, *arguments: Any, edges: int | None = None
) -> None:
    """A launch of blocks that stay: each one adds its own counts once.

    `edges` are the bytes of edges, which are in shared memory, too, where there is room.
    """
    device, copies, shared = index.device_index, 0, 0
    if bins * counter <= SHARED:
        copies = min(max(SPARING // (bins * counter), 1), MAX_COPIES)
        shared = -(-copies * bins * counter // 8) * 8
    if edges is not None:
        staged = copies > 0 and shared + edges <= SHARED
        shared += edges if staged else 0
        arguments = (*arguments, int(staged))
    items = HISTOGRAM_ITEMS if index.itemsize <= 4 else HISTOGRAM_WIDE_ITEMS
    blocks = min(-(-index.size // (COUNTING * items)), 4 * Device(device).multiprocessor_count)
    made = kernel("histogram", name, device)
    made[blocks, COUNTING, None, shared](index, *arguments, copies)


def histogram(
    a: Any, bins: Any = 10, range: Any = None,  # noqa: A002 - NumPy's name
    density: bool | None = None, weights: Any = None,
) -> tuple[Array, Array]:  # fmt: skip
    """How many elements are in each bin, as ``numpy.histogram``.

    Parameters
    ----------
    a : Array
        Real numbers; the shape does not matter.
    bins : int, str, or array_like or Array
        The number of equal bins; or edges in ascending order. Edges on a device are copied to the
        host, and the call waits for them. Or a rule for the number: "auto", "doane", "fd", "rice",
        "scott", "sqrt", "stone" or "sturges", for whose statistics the call waits; one that is
        rounded differently from NumPy's may give a bin more or less.
    range : pair of numbers, optional
        The first and the last edge of equal bins. By default the least and the greatest element,
        for which the call waits.
    density : bool
        Divide by the number of all elements and by the lengths of the bins.
    weights : Array, optional
        Of the shape of `a`: what an element counts.

    Returns
    -------
    counts, edges : Array
        Counts of int64, with weights of their type, with `density` of float64. A bin has its left
        edge and not its right one; the last one has both.

    Notes
    -----
    Sums of weights are rounded as those of `bincount`.
    """
    array = array_of("histogram", "a", a)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    parts = None if weights is None else _weights("histogram", array, weights)
    if isinstance(bins, str) and parts is not None:
        raise ArgumentTypeError(
            f"histogram: argument bins: the rule {bins!r} does not take weights; pass a number"
        )
    edges = _edges(array, bins, range)
    even = np.ndim(bins) == 0 and not isinstance(bins, Array)
    there = current_values(edges, array.device_index)
    counts = _binned(array.reshape(-1), edges, there, even, parts)
    if density:
        lengths = to_device(np.array(np.diff(edges), float), device=array.device_index)
        counts = counts / lengths / counts.sum()
    return counts, there


def _edges(array: Array, bins: Any, limits: Any) -> np.ndarray[Any, Any]:
    """The edges, by NumPy's rules, on the host."""
    if isinstance(bins, str):
        refuse_captured(array.device_index, "histogram", "a rule counts bins; pass their number")
    ends = np.empty(0, array.dtype)
    if isinstance(bins, Array):
        bins = read_now(bins, "histogram: argument bins")
    elif np.ndim(bins) == 0 and limits is None and array.size:
        refuse_captured(array.device_index, "histogram", "the range is that of a; pass range=")
        low, high = array.min(), array.max()
        ends = np.array([low.item(), high.item()], array.dtype)
    try:
        if type(bins) is int and _are_numbers(limits):
            return _equal_edges(array.dtype, bins, *limits)
        if isinstance(bins, str):
            np.histogram_bin_edges(ends, 1, limits)  # checks the limits
            bins = number_of_bins(bins, array, limits, ends, lambda x, n: _tried(x, n, limits))
        return np.histogram_bin_edges(ends, bins, limits)
    except TypeError as error:
        raise ArgumentTypeError(f"histogram: argument bins: {error}") from None
    except ValueError as error:
        raise ArgumentValueError(f"histogram: {error}") from None


def _are_numbers(limits: Any) -> bool:
    return (
        type(limits) is tuple and len(limits) == 2 and all(type(x) in (int, float) for x in limits)
    )


@functools.lru_cache(64, typed=True)
def _equal_edges(dtype: np.dtype[Any], bins: int, low: float, high: float) -> np.ndarray[Any, Any]:
    """The edges of equal bins. They are cached: NumPy needs longer for them than a GPU to count."""
    return np.histogram_bin_edges(np.empty(0, dtype), bins, (low, high))


def _tried(array: Array, bins: int, limits: Any) -> np.ndarray[Any, Any]:
    """The counts on the host, for a rule that tries several numbers of bins."""
    edges = _edges(array, bins, limits)
    there = to_device(edges, device=array.device_index)
    return read_now(_binned(array, edges, there, True, None), "histogram")


def _binned(
    array: Array, edges: np.ndarray[Any, Any], there: Array, even: bool, weights: Array | None
) -> Array:
    """The counts, or the sums of weights; `there` are the edges on the device."""
    bins, device = edges.size - 1, array.device_index
    common = np.result_type(array.dtype, edges.dtype)
    if common.char not in ELEMENTS or common.kind == "c":
        raise ArgumentTypeError(f"histogram: edges of {edges.dtype} are not supported")
    if common.kind in "iub":
        common = np.dtype(np.uint64 if common == np.uint64 else np.int64)
        array = as_type(array, common)
    elif array.dtype.kind == "f":
        common = np.promote_types(common, np.float32)
        array = as_type(array, common)
    else:
        common = np.dtype(np.float64)
        array = as_type(array, NEXT.get(array.dtype, array.dtype))
    start, end = float(edges[0]), float(edges[-1])
    known = as_type(there, common)
    name = f"{ELEMENTS[array.dtype.char]}_{ELEMENTS[common.char]}"
    array = packed(array)
    scale = bins / (end - start) if even else 0.0
    error = _estimate_error(common, edges.dtype, bins, max(abs(start), abs(end)) * scale)
    form = (known, array.size, bins, int(even), start, scale, error)
    if weights is not None:
        index: Array = empty(array.size, np.int64, device=device)
        if array.size:
            known, *rest = form
            name = f"histogram_bins_{ELEMENTS[common.char]}"
            array = as_type(array, common)
            launch("histogram", name, device, array.size, array, known, index, *rest)
        return _sums(index, weights, bins)
    out: Array = zeros(bins, np.int64, device=device)
    if array.size and bins:
        known, *rest = form
        _launch(f"histogram_{name}", 4, bins, array, known, out, *rest, edges=known.nbytes)
    return out


def _estimate_error(
    common: np.dtype[Any], edges: np.dtype[Any], bins: int, largest: float
) -> float:
    """Most bins by which the estimate of an element's bin can be wrong; 1 where it says nothing.

    `largest` is the larger edge, in bins. The difference and the factor are rounded to the common
    type, the edges to theirs.
    """
    if common.kind != "f" or edges.kind != "f" or bins >= 1 << 30:
        return 1.0
    eps = max(float(np.finfo(one).eps) for one in (common, edges))
    error = 8 * eps * (largest + bins)
    return error if error < 0.25 else 1.0


def _sums(index: Array, weights: Array, bins: int) -> Array:
    if weights.dtype.kind == "c":
        real, imaginary = [_counted(index, one, bins) for one in _parts(weights)]
        return (real + imaginary * 1j).astype(weights.dtype)
    return as_type(_counted(index, weights, bins), weights.dtype)


def _parts(weights: Array) -> tuple[Array, Array]:
    """The real and the imaginary parts of a contiguous array."""
    numbers = packed(weights).view(np.float32 if weights.itemsize == 8 else np.float64)
    return numbers[::2], numbers[1::2]


def _weights(title: str, array: Array, weights: Any) -> Array:
    found = array_of(title, "weights", weights)
    require_device(title, "weights", found, array.device_index)
    if found.shape != array.shape:
        raise ArgumentValueError(
            f"{title}: argument weights has the shape {found.shape}, and the values {array.shape}"
        )
    return found.reshape(-1)
