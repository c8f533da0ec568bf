# cupola/arrays/element_types.py - the element types that each function on arrays takes.
"""The table `TAKES`. A function that is not in it only moves elements, and takes every type. Those
in `MOVES` launch kernels for that, and refuse elements in the other byte order.
"""

from __future__ import annotations

from typing import NamedTuple

from cupola.array import Array
from cupola.core.element_errors import element_error
from cupola.element import is_native


class Elements(NamedTuple):
    """Element types for which there are kernels."""

    text: str
    chars: str  # NumPy's characters of the types

    def has(self, array: Array) -> bool:
        """Whether the elements of an array are of these types, in the device's byte order."""
        return array.dtype.char in self.chars and array.dtype.isnative


INTEGERS = Elements("integers", "bhilqBHILQ")
INT64 = Elements("integers that int64 holds", "?bhilqBHI")
WHOLE = Elements("bool or integers", "?bhilqBHILQ")
REALS = Elements("bool, integers or floats", "?bhilqBHILQefd")
NUMBERS = Elements("bool or numbers", "?bhilqBHILQefdFD")

_FUNCTIONS: dict[Elements, dict[str, str]] = {
    INTEGERS: {"unravel_index": "indices"},
    WHOLE: {"ravel_multi_index": "multi_index"},
    REALS: {
        "digitize": "x",
        "histogram": "a",
        "interp": "x xp fp",
        "median": "a",
        "percentile": "a",
        "quantile": "a",
        "top_k": "x",
    },
    NUMBERS: {
        "allclose": "a b",
        "argpartition": "a",
        "argsort": "a",
        "argwhere": "a",
        "array_equal": "a1 a2",
        "bincount": "weights",
        "clip": "a",
        "compress": "condition",
        "count_nonzero": "a",
        "cross": "a b",
        "cumprod": "a",
        "cumsum": "a",
        "cumulative_prod": "x",
        "cumulative_sum": "x",
        "diff": "a prepend append",
        "dot": "a b",
        "extract": "condition",
        "flatnonzero": "a",
        "histogram": "weights",
        "inner": "a b",
        "intersect1d": "ar1 ar2",
        "isclose": "a b",
        "isin": "element test_elements",
        "lexsort": "keys",
        "matmul": "x1 x2",
        "nanargmax": "a",
        "nanargmin": "a",
        "nanmax": "a",
        "nanmean": "a",
        "nanmin": "a",
        "nanprod": "a",
        "nansum": "a",
        "nonzero": "a",
        "outer": "a b",
        "partition": "a",
        "round": "a",
        "searchsorted": "a v",
        "setdiff1d": "ar1 ar2",
        "setxor1d": "ar1 ar2",
        "sort": "a",
        "std": "a",
        "tensordot": "a b",
        "trace": "a",
        "union1d": "ar1 ar2",
        "unique": "ar",
        "var": "a",
        "vdot": "a b",
        "where": "condition",
    },
}
TAKES = {
    (function, name): elements
    for elements, functions in _FUNCTIONS.items()
    for function, names in functions.items()
    for name in names.split()
}

MOVES = {"compress", "delete", "diag", "pad", "put", "put_along_axis", "roll", "take"}
MOVES |= {"take_along_axis"}


def require_native(function: str, name: str, array: Array) -> None:
    """Check that the elements of an argument are in the machine's byte order.

    Raises
    ------
    ArgumentTypeError
        Where they are not.
    """
    if not is_native(array.dtype):
        raise element_error(function, name, array, "elements in the machine's byte order")


def require_elements(function: str, name: str, array: Array, elements: Elements) -> None:
    """Check the element type of an argument.

    Raises
    ------
    ArgumentTypeError
        Where there is no kernel for it.
    """
    if elements.has(array):
        return
    wrong_type = array.dtype.char not in elements.chars
    remedy = "copy it with get() and compute on the host" if wrong_type else ""
    raise element_error(function, name, array, elements.text, remedy)
