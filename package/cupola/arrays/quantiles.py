# cupola/arrays/quantiles.py - median, percentile and quantile.
"""Elements and means of sorted arrays, by NumPy's rules."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cupola.array import Array
from cupola.arrays.images import kernel
from cupola.arrays.outputs import check_out, stored
from cupola.arrays.plans import planned
from cupola.arrays.quantile_methods import Positions, positions
from cupola.arrays.radix_sort import sort_rows
from cupola.arrays.rows import array_of, axis_of, packed
from cupola.creation import empty, full
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.kernel_constants import QUANTILE_MOST, QUANTILE_THREADS

__all__ = ["median", "percentile", "quantile"]

_MEAN, _LOW = -1.0, -2.0  # weights with a meaning


@planned
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """The middle element of a sorted array, or the mean of the two in the middle.

    A NaN gives NaN. The work is queued on the current stream.

    Parameters
    ----------
    a : Array
        Of bool, integers or floats.
    axis : None, int or tuple of int, optional
        The axes of the elements; None is all of them.
    out : Array, optional
        The output, of the shape of the result and a type of the same kind.
    overwrite_input : bool, optional
        For NumPy's signature; `a` is not changed.
    keepdims : bool, optional
        Keep the axes, with a length of 1.

    Returns
    -------
    Array
        Of float64 for bool and integers, else of the type of `a`; NaN of no elements.

    Raises
    ------
    ArgumentTypeError
        Where an argument has a wrong type.
    ArgumentValueError
        Where there is no such axis, or `out` does not fit.
    """
    rows = _sorted("median", a, axis)
    n, middle = rows.n, rows.n // 2
    low = np.array([middle - 1 + n % 2])
    weight = np.array([_LOW if n % 2 else _MEAN])
    dtype = np.result_type(rows.dtype, np.float16 if rows.dtype.kind == "f" else np.float64)
    shape = rows.kept(keepdims)
    to = check_out("median", out, rows.x, shape, dtype)
    if n == 0:
        made = full((rows.count,), np.nan, dtype, device=rows.x.device_index)
    else:
        made = _combined(rows, Positions(low, np.array([middle]), weight), dtype)
    return stored(to, made.reshape(shape))


@planned
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: Any = None,
) -> Array:  # fmt: skip
    """The quantiles of an array.

    A NaN gives NaN. The work is queued on the current stream.

    Parameters
    ----------
    a : Array
        Of integers or floats; bool for methods that take one element.
    q : float or array_like of float
        On the host, in [0, 1]; of at most one axis.
    axis : None, int or tuple of int, optional
        The axes of the elements; None is all of them.
    out : Array, optional
        The output, of the shape of the result and a type of the same kind.
    overwrite_input : bool, optional
        For NumPy's signature; `a` is not changed.
    method : str, optional
        NumPy's name of a method.
    keepdims : bool, optional
        Keep the axes, with a length of 1.
    weights : None
        Weights are not supported.

    Returns
    -------
    Array
        Of the shape of `q` and of the axes that are kept. Methods that take one element have the
        type of `a`. The others have its common type with float64, or with float for a Python
        number `q`.

    Raises
    ------
    ArgumentTypeError
        Where an argument has a wrong type, or there are weights.
    ArgumentValueError
        Where `q`, `axis`, `method` or `out` does not fit, or there are no elements.
    """
    return _quantile("quantile", a, q, 1, axis, out, method, keepdims, weights)


@planned
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: Any = None,
) -> Array:  # fmt: skip
    """The percentiles of an array: `quantile` with `q` in [0, 100].

    The other parameters, the result and errors are those of `quantile`.
    """
    return _quantile("percentile", a, q, 100, axis, out, method, keepdims, weights)


class _Sorted(NamedTuple):
    """An array whose rows are sorted and have the elements of one result each."""

    x: Array  # with two axes
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: np.dtype

    @property
    def count(self) -> int:
        return self.x.shape[0]

    @property
    def n(self) -> int:
        return self.x.shape[1]

    def kept(self, keepdims: bool) -> tuple[int, ...]:
        """The shape of a result for each row."""
        return tuple(
            1 if k in self.axes else length
            for k, length in enumerate(self.shape)
            if keepdims or k not in self.axes
        )


def _sorted(function: str, a: Any, axis: Any) -> _Sorted:
    x = array_of(function, "a", a)
    given = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(axis_of(function, one, x.ndim) for one in given)
    if len(set(axes)) < len(axes):
        raise ArgumentValueError(f"{function}: argument axis: an axis stands twice in {axis}")
    kept = [k for k in range(x.ndim) if k not in axes]
    count, n = (math.prod(x.shape[k] for k in some) for some in (kept, axes))
    rows = packed(x.transpose(*kept, *sorted(axes)) if x.ndim else x).reshape(count, n)
    out = empty(rows.shape, rows.dtype, device=rows.device_index)
    sort_rows(rows, out, None)
    return _Sorted(out, x.shape, axes, x.dtype)


def _quantile(
    function: str, a: Any, q: Any, whole: int, axis: Any, out: Any, method: str, keepdims: bool,
    weights: Any,
) -> Array:  # fmt: skip
    if weights is not None:
        raise ArgumentTypeError(f"{function}: argument weights: weights are not supported")
    is_weak = type(q) in (int, float)
    q = _fractions(function, q, whole)
    rows = _sorted(function, a, axis)
    if rows.n == 0:
        raise ArgumentValueError(f"{function}: argument a: there are no elements along the axes")
    found = positions(function, method, rows.n, q)
    dtype = rows.dtype
    if found.weight is not None:
        if dtype.kind == "b":
            raise ArgumentTypeError(
                f"{function}: argument a: bool has no means; expected numbers, or a method that "
                "takes one element, as method='nearest'"
            )
        dtype = np.result_type(dtype, 0.5 if is_weak else found.weight.dtype)
    shape = q.shape + rows.kept(keepdims)
    to = check_out(function, out, rows.x, shape, dtype)
    return stored(to, _combined(rows, found, dtype).reshape(shape))


def _fractions(function: str, q: Any, whole: int) -> np.ndarray[Any, Any]:
    """The quantiles as an array of the host."""
    if isinstance(q, Array):
        raise ArgumentTypeError(
            f"{function}: argument q: expected numbers of the host, got a cupola.Array; copy it "
            "with q.get()"
        )
    values = np.asarray(q)
    if values.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"{function}: argument q: expected real numbers, got {q!r}")
    if values.ndim > 1:
        raise ArgumentValueError(
            f"{function}: argument q: expected a number or one axis, got the shape {values.shape}"
        )
    if not np.all((values >= 0) & (values <= whole)):
        raise ArgumentValueError(f"{function}: argument q: expected numbers in [0, {whole}]")
    return np.asarray(np.true_divide(values, whole)) if whole != 1 else values


def _combined(rows: _Sorted, found: Positions, dtype: np.dtype) -> Array:
    """The results of all rows, for one quantile after another."""
    x = rows.x
    spec, name = (), f"quantile_{x.dtype}"
    if found.weight is None:
        bits = 8 * x.itemsize
        infinity = np.array(np.inf if x.dtype.kind == "f" else 0, x.dtype)
        name, made, spec = f"quantile_pick_{bits}", x.dtype, (int(infinity.view(f"u{x.itemsize}")),)
    elif x.dtype == np.bool_:  # a median
        x, name, made = x.view(np.uint8), "quantile_uint8", np.dtype(np.float64)
    elif x.dtype.kind != "f" or dtype == x.dtype:
        made = np.dtype(np.float64) if x.dtype.kind != "f" else x.dtype
    else:
        made = np.dtype(np.float64)
        name += "_float64"
    low, high = found.low.reshape(-1), found.high.reshape(-1)
    weight = np.zeros(low.size) if found.weight is None else found.weight.reshape(-1)
    result = empty((low.size, rows.count), made, device=x.device_index)
    if result.size == 0:
        return result.astype(dtype)
    launch = kernel("quantile", name, x.device_index)
    for first in range(0, low.size, QUANTILE_MOST):
        table = np.zeros((3, QUANTILE_MOST), np.int64)
        some = slice(first, first + QUANTILE_MOST)
        count = low[some].size
        table[0, :count], table[1, :count] = low[some], high[some]
        table[2, :count] = weight[some].astype(np.float64).view(np.int64)
        launch[-(-rows.count * count // QUANTILE_THREADS), QUANTILE_THREADS](
            x, result[first:], rows.count, rows.n, count, table.tobytes(), *spec
        )
    return result if made == dtype else result.astype(dtype)
