# cupola/pycuda/cumath.py - pycuda.cumath: functions of the elements of arrays.
"""Elementwise functions with the names of `math`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.pycuda._gpu_array import GPUArray
from cupola.pycuda._selection import _kernel
from cupola.pycuda.tools import dtype_to_ctype


def _function(name: str, ufunc: Any) -> Any:
    def function(array, *args, **kwargs):
        out, stream = kwargs.pop("out", None), kwargs.pop("stream", None)
        if kwargs:
            raise TypeError(f"unknown keyword arguments: {', '.join(kwargs)}")
        for one in args:
            if isinstance(one, GPUArray):
                out = one
            else:
                stream = one
        kind = array.dtype
        if kind.kind in "iub":
            raise TypeError(f"{name} is for floats and complex numbers, got an array of {kind}")
        result = kind.type().real.dtype if name == "fabs" else kind
        return array._compute(ufunc, array, out=out, dtype=result, stream=stream)

    function.__name__ = name
    function.__doc__ = f"`math.{name}` of each element; out= and stream= by position, too."
    return function


fabs, ceil, floor = (
    _function(name, ufunc)
    for name, ufunc in (("fabs", np.absolute), ("ceil", np.ceil), ("floor", np.floor))
)
exp, log, log10, sqrt = (_function(name, getattr(np, name)) for name in
                         ("exp", "log", "log10", "sqrt"))  # fmt: skip
sin, cos, tan = (_function(name, getattr(np, name)) for name in ("sin", "cos", "tan"))
asin, acos, atan = (
    _function(name, ufunc)
    for name, ufunc in (("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan))
)
sinh, cosh, tanh = (_function(name, getattr(np, name)) for name in ("sinh", "cosh", "tanh"))


def _float32(*arrays: GPUArray) -> None:
    for one in arrays:
        if one.dtype.kind != "f":
            raise TypeError(f"expected an array of floats, got {one.dtype}")


def fmod(arg, mod, stream=None):
    """The remainder of the division, with the sign of the dividend."""
    _float32(arg, mod)
    return arg._compute(np.fmod, arg, mod, stream=stream)


def frexp(arg, stream=None):
    """Significands of 0.5 to 1, and exponents as numbers of the same dtype."""
    _float32(arg)
    significands, exponents = arg._like(), arg._like()
    kind = dtype_to_ctype(arg.dtype)
    _kernel(
        f"{kind} *x, {kind} *significand, {kind} *exponent",
        "int e; significand[i] = frexp(x[i], &e); exponent[i] = e", "frexp_of",
    )(arg, significands, exponents, stream=stream)  # fmt: skip
    return significands, exponents


def ldexp(significand, exponent, stream=None):
    """``significand * 2 ** int(exponent)``."""
    _float32(significand, exponent)
    out = significand._like()
    kinds = [dtype_to_ctype(one.dtype) for one in (significand, exponent)]
    _kernel(
        f"{kinds[0]} *x, {kinds[1]} *exponent, {kinds[0]} *z",
        "z[i] = ldexp(x[i], (int)exponent[i])", "ldexp_of",
    )(significand, exponent, out, stream=stream)  # fmt: skip
    return out


def modf(arg, stream=None):
    """Fractional and integral parts."""
    _float32(arg)
    fractions, integers = arg._like(), arg._like()
    kind = dtype_to_ctype(arg.dtype)
    _kernel(
        f"{kind} *x, {kind} *fraction, {kind} *integer",
        "fraction[i] = modf(x[i], &integer[i])", "modf_of",
    )(arg, fractions, integers, stream=stream)  # fmt: skip
    return fractions, integers
