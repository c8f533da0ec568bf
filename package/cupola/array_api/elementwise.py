# cupola/array_api/elementwise.py - functions of each element.
"""The standard's elementwise functions, computed by NumPy's ufuncs on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cupola
from cupola.array import Array
from cupola.exceptions import ArgumentTypeError


def _check(name: str, *operands: Any) -> None:
    if not any(isinstance(one, Array) for one in operands):
        kinds = ", ".join(type(one).__name__ for one in operands)
        raise ArgumentTypeError(f"{name}: expected a cupola.Array, got {kinds}")


def _unary(name: str, ufunc: np.ufunc) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        _check(name, x)
        result: Array = ufunc(x)
        return result

    return _named(function, name, ufunc)


def _binary(name: str, ufunc: np.ufunc) -> Callable[[Any, Any], Array]:
    def function(x1: Any, x2: Any, /) -> Array:
        _check(name, x1, x2)
        result: Array = ufunc(x1, x2)
        return result

    return _named(function, name, ufunc)


def _named(function: Any, name: str, ufunc: np.ufunc) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As ``numpy.{ufunc.__name__}``, queued on the current stream."
    return function


abs = _unary("abs", np.absolute)
acos = _unary("acos", np.arccos)
acosh = _unary("acosh", np.arccosh)
asin = _unary("asin", np.arcsin)
asinh = _unary("asinh", np.arcsinh)
atan = _unary("atan", np.arctan)
atanh = _unary("atanh", np.arctanh)
bitwise_invert = _unary("bitwise_invert", np.invert)
conj = _unary("conj", np.conjugate)
cos = _unary("cos", np.cos)
cosh = _unary("cosh", np.cosh)
exp = _unary("exp", np.exp)
expm1 = _unary("expm1", np.expm1)
isfinite = _unary("isfinite", np.isfinite)
isinf = _unary("isinf", np.isinf)
isnan = _unary("isnan", np.isnan)
log = _unary("log", np.log)
log10 = _unary("log10", np.log10)
log1p = _unary("log1p", np.log1p)
log2 = _unary("log2", np.log2)
logical_not = _unary("logical_not", np.logical_not)
negative = _unary("negative", np.negative)
positive = _unary("positive", np.positive)
reciprocal = _unary("reciprocal", np.reciprocal)
sign = _unary("sign", np.sign)
signbit = _unary("signbit", np.signbit)
sin = _unary("sin", np.sin)
sinh = _unary("sinh", np.sinh)
sqrt = _unary("sqrt", np.sqrt)
square = _unary("square", np.square)
tan = _unary("tan", np.tan)
tanh = _unary("tanh", np.tanh)

add = _binary("add", np.add)
atan2 = _binary("atan2", np.arctan2)
bitwise_and = _binary("bitwise_and", np.bitwise_and)
bitwise_left_shift = _binary("bitwise_left_shift", np.left_shift)
bitwise_or = _binary("bitwise_or", np.bitwise_or)
bitwise_right_shift = _binary("bitwise_right_shift", np.right_shift)
bitwise_xor = _binary("bitwise_xor", np.bitwise_xor)
copysign = _binary("copysign", np.copysign)
divide = _binary("divide", np.divide)
equal = _binary("equal", np.equal)
floor_divide = _binary("floor_divide", np.floor_divide)
greater = _binary("greater", np.greater)
greater_equal = _binary("greater_equal", np.greater_equal)
hypot = _binary("hypot", np.hypot)
less = _binary("less", np.less)
less_equal = _binary("less_equal", np.less_equal)
logaddexp = _binary("logaddexp", np.logaddexp)
logical_and = _binary("logical_and", np.logical_and)
logical_or = _binary("logical_or", np.logical_or)
logical_xor = _binary("logical_xor", np.logical_xor)
maximum = _binary("maximum", np.maximum)
minimum = _binary("minimum", np.minimum)
multiply = _binary("multiply", np.multiply)
not_equal = _binary("not_equal", np.not_equal)
pow = _binary("pow", np.power)
remainder = _binary("remainder", np.remainder)
subtract = _binary("subtract", np.subtract)


def _whole(name: str, ufunc: np.ufunc) -> Callable[[Array], Array]:
    """Rounding, which leaves integers as they are."""

    def function(x: Array, /) -> Array:
        _check(name, x)
        result: Array = x.copy() if x.dtype.kind in "iu" else ufunc(x)
        return result

    return _named(function, name, ufunc)


ceil, floor, trunc = _whole("ceil", np.ceil), _whole("floor", np.floor), _whole("trunc", np.trunc)


def round(x: Array, /) -> Array:
    """Elements rounded to integers, ties to even."""
    _check("round", x)
    return cupola.round(x)


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Elements limited to an interval; None is no limit.

    The result has the data type of `x`.
    """
    _check("clip", x)
    result: Array = cupola.clip(x, min, max).astype(x.dtype, copy=False)
    return result


def imag(x: Array, /) -> Array:
    """The imaginary parts, as a view of complex numbers."""
    _check("imag", x)
    found: Array = x.imag
    return found


def real(x: Array, /) -> Array:
    """The real parts, as a view of complex numbers."""
    _check("real", x)
    found: Array = x.real
    return found


def nextafter(x1: Any, x2: Any, /) -> Array:
    """The next representable number from one towards another, by its bits."""
    _check("nextafter", x1, x2)
    kind = np.result_type(*(one.dtype if isinstance(one, Array) else one for one in (x1, x2)))
    if kind not in (np.float32, np.float64):
        raise ArgumentTypeError(f"nextafter: expected float32 or float64, got {kind}")
    start, end = _broadcast_operands(x1, x2, kind)
    integer = np.dtype(f"i{kind.itemsize}")
    bits = start.view(integer)
    # A number's magnitude grows with its bits, whatever its sign.
    grows = np.equal(np.greater(end, start), np.greater(start, 0))
    moved = cupola.where(grows, bits + integer.type(1), bits - integer.type(1)).view(kind)
    least = np.nextafter(kind.type(0), kind.type(1))
    moved = cupola.where(np.equal(start, 0), np.copysign(least, end), moved)
    moved = cupola.where(np.equal(start, end), end, moved)
    unordered = np.not_equal(start, start) | np.not_equal(end, end)
    return cupola.where(unordered, start + end, moved)


def _broadcast_operands(x1: Any, x2: Any, kind: Any) -> tuple[Array, Array]:
    """Two operands as arrays of one shape and one data type."""
    device = next(one for one in (x1, x2) if isinstance(one, Array)).device
    arrays = [
        one.astype(kind, copy=False) if isinstance(one, Array)
        else cupola.full((), one, kind, device=device)
        for one in (x1, x2)
    ]  # fmt: skip
    shape = np.broadcast_shapes(*(one.shape for one in arrays))
    first, second = (cupola.broadcast_to(one, shape).copy() for one in arrays)
    return first, second
