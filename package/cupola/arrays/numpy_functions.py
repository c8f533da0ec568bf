# cupola/arrays/numpy_functions.py - which function computes what NumPy's computes, on arrays.
"""For ``__array_function__``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np

import cupola

# NumPy's functions that are functions of cupola's by the same names.
NAMES = (
    "allclose",
    "append",
    "argpartition",
    "argsort",
    "argwhere",
    "array_equal",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "bincount",
    "broadcast_arrays",
    "broadcast_to",
    "clip",
    "column_stack",
    "compress",
    "concatenate",
    "count_nonzero",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "delete",
    "diag",
    "diagonal",
    "diff",
    "digitize",
    "dsplit",
    "dstack",
    "expand_dims",
    "extract",
    "flatnonzero",
    "flip",
    "fliplr",
    "flipud",
    "histogram",
    "hsplit",
    "hstack",
    "inner",
    "insert",
    "interp",
    "intersect1d",
    "isclose",
    "isin",
    "lexsort",
    "median",
    "moveaxis",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nansum",
    "nonzero",
    "outer",
    "pad",
    "partition",
    "percentile",
    "put",
    "put_along_axis",
    "quantile",
    "ravel_multi_index",
    "repeat",
    "roll",
    "rollaxis",
    "rot90",
    "round",
    "searchsorted",
    "setdiff1d",
    "setxor1d",
    "sort",
    "split",
    "squeeze",
    "stack",
    "std",
    "swapaxes",
    "take",
    "take_along_axis",
    "tensordot",
    "tile",
    "trace",
    "tril",
    "triu",
    "union1d",
    "unique",
    "unravel_index",
    "var",
    "vdot",
    "vsplit",
    "vstack",
    "where",
)
# Functions of NumPy that copy an array or make one like it, most by their argument ``like=``. They
# are those of `cupola.arrays.like`, which take NumPy's arguments by NumPy's names.
_LIKE = (
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "copy",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "ravel",
    "zeros",
    "zeros_like",
)
# NumPy's modules of which cupola has functions under the same names, listed in __all__. NumPy
# imports numpy.fft at its first use, which takes milliseconds: only then is the module looked up.
_MODULES = {"numpy.fft": "fft", "numpy.linalg": "linalg"}


@cache
def _functions_of(module: str) -> dict[Callable[..., Any], str]:
    """Names in cupola by NumPy's functions."""
    prefix, names = "", NAMES
    if name := _MODULES.get(module):
        prefix, names = f"{name}.", getattr(cupola, name).__all__
    functions = vars(sys.modules[module])
    # Some functions are newer than NumPy 2.0.
    return {functions[name]: prefix + name for name in names if name in functions}


@cache
def _like_functions() -> dict[Callable[..., Any], Callable[..., Any]]:
    from cupola.arrays import like

    return {getattr(np, name): getattr(like, name) for name in _LIKE}


class NumpyFunctions:
    """The tables from NumPy's functions to cupola's, each imported when it is first used."""

    def __init__(self) -> None:
        self._found: dict[Callable[..., Any], Callable[..., Any]] = {}

    def get(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        """cupola's function for one of NumPy; None if cupola has no such function."""
        found = self._found.get(function)
        if found is None:
            found = self._looked_up(function)
            if found is not None:
                self._found[function] = found
        return found

    def _looked_up(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        if like := _like_functions().get(function):
            return like
        name = _functions_of("numpy").get(function)
        if name is None and function.__module__ in _MODULES:
            name = _functions_of(function.__module__).get(function)
        found: Callable[..., Any] | None = None if name is None else attrgetter(name)(cupola)
        return found


numpy_functions = NumpyFunctions()
