# cupola/random/generator.py - the generator of arrays, with NumPy's interface.
"""`Generator`: uniform, normal and exponential numbers; its bases have the rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.selection import where
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.random.bit_generator import BitGenerator
from cupola.random.parameters import (
    ANY,
    FINITE,
    NOT_NEGATIVE,
    finish,
    parameter,
    real_type,
    result,
    shape_of,
)
from cupola.random.permutations import Permutations
from cupola.random.rare_distributions import RareDistributions
from cupola.random.vectors import Vectors

_METHODS = ("zig", "inv")
# Elements that four words make.
_GROUP = {4: 4, 8: 2}


def _doubles(value: float | Array) -> float | Array:
    """Differences of doubles, unlike those of integers, do not wrap."""
    return value.astype(np.float64, copy=False) if isinstance(value, Array) else value


def _checked_factor(value: float | Array, largest: float = math.inf) -> float | Array:
    """A factor of standard numbers: NaN where an element is out of range."""
    if isinstance(value, float):
        return value
    value = _doubles(value)
    return where((value >= 0) & (value <= largest), value, math.nan)


class Generator(RareDistributions, Permutations, Vectors):
    """Arrays of random numbers on the current device, by the methods of `numpy.random.Generator`.

    Results are new arrays, on the current stream of the device; nothing waits. Without a size they
    have no axes. ``out=`` takes an array of the result's dtype; the numbers are made on its device.

    Where a parameter may be an array, it is a `cupola.Array` that broadcasts to the size. Its
    elements are not checked: one that is out of range gives NaN, or -1 in a result of integers.
    Numbers as parameters are refused where NumPy refuses them, but for -0.0, which is 0.

    All methods with ``dtype=`` make float32 or float64. NumPy has it for some of them alone.

    Parameters
    ----------
    bit_generator : BitGenerator
        The source of the random bits.
    """

    def __init__(self, bit_generator: BitGenerator) -> None:
        if not isinstance(bit_generator, BitGenerator):
            raise ArgumentTypeError(
                "Generator: bit_generator: expected a cupola.random.Philox or XORWOW, got "
                f"{type(bit_generator).__name__}"
            )
        self._bits = bit_generator

    @property
    def bit_generator(self) -> BitGenerator:
        """The source of the random bits."""
        return self._bits

    def spawn(self, n_children: int) -> list[Generator]:
        """Independent generators, as `numpy.random.Generator.spawn` makes them.

        Parameters
        ----------
        n_children : int

        Returns
        -------
        list of Generator
        """
        return [Generator(child) for child in self._bits.spawn(n_children)]

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Array:
        """Uniform numbers in [0, 1), with the same bits on all devices.

        Parameters
        ----------
        size : int or tuple of int, optional
        dtype : float32 or float64
            float32 has 24 random bits, float64 53.
        out : Array, optional

        Returns
        -------
        Array
        """
        return self._fill("random", "uniform", size, dtype, out, 0.0, 1.0)

    def uniform(
        self, low: Any = 0.0, high: Any = 1.0, size: Any = None, *, dtype: Any = np.float64,
        out: Any = None,
    ) -> Array:  # fmt: skip
        """Uniform numbers in [low, high), with the same bits on all devices.

        ``low + (high - low) * random()`` in the result's dtype; rounding may give `high`.

        Parameters
        ----------
        low, high : float or Array
        size : int or tuple of int, optional
        dtype : float32 or float64
        out : Array, optional

        Returns
        -------
        Array
        """
        low = parameter("uniform", "low", low, FINITE)
        high = parameter("uniform", "high", high, FINITE)
        if isinstance(low, float) and isinstance(high, float):
            if not np.isfinite(high - low):
                raise ArgumentValueError("uniform: expected a finite high - low, got one too large")
            if high < low:
                raise ArgumentValueError(f"uniform: expected low <= high, got {low} and {high}")
            return self._fill("uniform", "uniform", size, dtype, out, low, high - low)
        width = _checked_factor(_doubles(high) - _doubles(low), np.finfo(np.float64).max)
        return self._affine("uniform", "uniform", (low, width), size, dtype, out)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Array:
        """Normal numbers with mean 0 and deviation 1, by Box's and Muller's method.

        Parameters
        ----------
        size : int or tuple of int, optional
        dtype : float32 or float64
            The largest float32 is 6.8, the largest float64 8.6.
        out : Array, optional

        Returns
        -------
        Array
        """
        return self._fill("standard_normal", "normal", size, dtype, out, 0.0, 1.0)

    def normal(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64,
        out: Any = None,
    ) -> Array:  # fmt: skip
        """Normal numbers.

        Parameters
        ----------
        loc : float or Array
            The mean.
        scale : float or Array
            The deviation, at least 0.
        size : int or tuple of int, optional
        dtype : float32 or float64
        out : Array, optional

        Returns
        -------
        Array
        """
        loc = parameter("normal", "loc", loc, ANY)
        scale = parameter("normal", "scale", scale, NOT_NEGATIVE)
        return self._affine("normal", "normal", (loc, _checked_factor(scale)), size, dtype, out)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
    ) -> Array:
        """Exponential numbers with mean 1.

        Parameters
        ----------
        size : int or tuple of int, optional
        dtype : float32 or float64
        method : {"zig", "inv"}
            Both are the inversion -log(u): a table in memory is no faster on a GPU.
        out : Array, optional

        Returns
        -------
        Array
        """
        if method not in _METHODS:
            raise ArgumentValueError(
                f"standard_exponential: method: expected 'zig' or 'inv', got {method!r}"
            )
        return self._fill("standard_exponential", "exponential", size, dtype, out, 0.0, 1.0)

    def exponential(
        self, scale: Any = 1.0, size: Any = None, *, dtype: Any = np.float64, out: Any = None
    ) -> Array:
        """Exponential numbers.

        Parameters
        ----------
        scale : float or Array
            The mean, at least 0.
        size : int or tuple of int, optional
        dtype : float32 or float64
        out : Array, optional

        Returns
        -------
        Array
        """
        scale = parameter("exponential", "scale", scale, NOT_NEGATIVE)
        return self._affine(
            "exponential", "exponential", (0.0, _checked_factor(scale)), size, dtype, out
        )

    def _affine(
        self, function: str, kind: str, values: Any, size: Any, dtype: Any, out: Any
    ) -> Array:
        """``values[0] + values[1] * x`` for standard numbers x of a kind."""
        shift, factor = values
        if isinstance(shift, float) and isinstance(factor, float):
            return self._fill(function, kind, size, dtype, out, shift, factor)
        kept = real_type(function, dtype)
        shape = shape_of(function, size, {"shift": shift, "factor": factor})
        target = result(function, shape, kept, out, size is not None)
        made = self._fill(function, kind, target.shape, kept, target, 0.0, 1.0)
        shift, factor = (
            one if isinstance(one, float) else one.astype(kept, copy=False) for one in values
        )
        made *= factor
        made += shift
        return finish(made, out)

    def _fill(
        self, function: str, kind: str, size: Any, dtype: Any, out: Any, *values: float
    ) -> Array:
        kept = real_type(function, dtype)
        shape = shape_of(function, size, {})
        made = result(function, shape, kept, out, size is not None)
        name = f"{kind}_f{8 * kept.itemsize}"
        self._bits.fill(name, made, _GROUP[kept.itemsize], *values)
        return finish(made, out)

    def __repr__(self) -> str:
        return f"<cupola.random.Generator over {type(self._bits).__name__}>"

    def __reduce__(self) -> Any:
        return Generator, (self._bits,)
