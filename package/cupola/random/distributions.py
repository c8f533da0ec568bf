# cupola/random/distributions.py - distributions that are computed number by number.
"""`Distributions`: the methods of `Generator` with one kernel for all continuous distributions, and
one for those of integers. Both compute in double precision.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cupola.array import Array
from cupola.exceptions import ArgumentValueError
from cupola.kernel_constants import CONTINUOUS, DISCRETE, RANDOM_LARGEST_MEAN
from cupola.random.parameters import (
    ANY,
    COUNT,
    MEAN,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_NUMBER,
    POSITIVE_SHARE,
    SHARE,
    Range,
    finish,
    pair,
    parameter,
    real_type,
    result,
    shape_of,
)

if TYPE_CHECKING:
    from cupola.random.bit_generator import BitGenerator

_F8 = np.float64


class Distributions:
    """Distributions of `Generator` with parameters that may be arrays."""

    _bits: BitGenerator

    def lognormal(
        self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, *, dtype: Any = _F8,
        out: Any = None,
    ) -> Array:  # fmt: skip
        """Exponentials of normal numbers with a mean and a deviation `sigma`, at least 0."""
        values = {"mean": (mean, ANY), "sigma": (sigma, NOT_NEGATIVE)}
        return self._continuous("lognormal", values, size, dtype, out)

    def laplace(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = _F8,
        out: Any = None,
    ) -> Array:  # fmt: skip
        """Numbers of the Laplace distribution around `loc`, with a `scale` of at least 0."""
        return self._continuous("laplace", _location(loc, scale), size, dtype, out)

    def logistic(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = _F8,
        out: Any = None,
    ) -> Array:  # fmt: skip
        """Numbers of the logistic distribution around `loc`, with a `scale` of at least 0."""
        return self._continuous("logistic", _location(loc, scale), size, dtype, out)

    def gumbel(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = _F8,
        out: Any = None,
    ) -> Array:  # fmt: skip
        """Numbers of the Gumbel distribution with the mode `loc` and a `scale` of at least 0."""
        return self._continuous("gumbel", _location(loc, scale), size, dtype, out)

    def rayleigh(
        self, scale: Any = 1.0, size: Any = None, *, dtype: Any = _F8, out: Any = None
    ) -> Array:
        """Lengths of vectors of two normal numbers with a deviation `scale`, at least 0."""
        return self._continuous("rayleigh", {"scale": (scale, NOT_NEGATIVE)}, size, dtype, out)

    def weibull(self, a: Any, size: Any = None, *, dtype: Any = _F8, out: Any = None) -> Array:
        """Exponential numbers to the power ``1 / a``; `a` is at least 0."""
        return self._continuous("weibull", {"a": (a, NOT_NEGATIVE)}, size, dtype, out)

    def pareto(self, a: Any, size: Any = None, *, dtype: Any = _F8, out: Any = None) -> Array:
        """Numbers of the Pareto II (Lomax) distribution with a shape `a` above 0."""
        return self._continuous("pareto", {"a": (a, POSITIVE)}, size, dtype, out)

    def power(self, a: Any, size: Any = None, *, dtype: Any = _F8, out: Any = None) -> Array:
        """Numbers in [0, 1] of the density ``a * x**(a - 1)``; `a` is above 0."""
        return self._continuous("power", {"a": (a, POSITIVE)}, size, dtype, out)

    def triangular(
        self, left: Any, mode: Any, right: Any, size: Any = None, *, dtype: Any = _F8,
        out: Any = None,
    ) -> Array:  # fmt: skip
        """Numbers of the triangle from `left` to `right` with its tip at `mode`."""
        values = {"left": (left, ANY), "mode": (mode, ANY), "right": (right, ANY)}
        try:
            wrong = left > mode or mode > right or left == right
        except (TypeError, ValueError):
            wrong = False  # they are arrays, or the check of each parameter refuses them
        if wrong is True:
            raise ArgumentValueError(
                f"triangular: expected left <= mode <= right and left < right, got {left}, {mode}, "
                f"{right}"
            )
        return self._continuous("triangular", values, size, dtype, out)

    def standard_cauchy(self, size: Any = None, *, dtype: Any = _F8, out: Any = None) -> Array:
        """Numbers of the Cauchy distribution around 0."""
        return self._continuous("standard_cauchy", {}, size, dtype, out)

    def standard_gamma(
        self, shape: Any, size: Any = None, dtype: Any = _F8, out: Any = None
    ) -> Array:
        """Gamma numbers with the scale 1, by Marsaglia's and Tsang's method; `shape` from 0 on."""
        values = {"shape": (shape, NOT_NEGATIVE), "scale": (1.0, NOT_NEGATIVE)}
        return self._continuous("standard_gamma", values, size, dtype, out, "gamma")

    def gamma(
        self, shape: Any, scale: Any = 1.0, size: Any = None, *, dtype: Any = _F8, out: Any = None
    ) -> Array:
        """Gamma numbers, by Marsaglia's and Tsang's method; both parameters are at least 0."""
        values = {"shape": (shape, NOT_NEGATIVE), "scale": (scale, NOT_NEGATIVE)}
        return self._continuous("gamma", values, size, dtype, out)

    def beta(self, a: Any, b: Any, size: Any = None, *, dtype: Any = _F8, out: Any = None) -> Array:
        """Beta numbers, from two gamma numbers; `a` and `b` are above 0."""
        return self._continuous("beta", {"a": (a, POSITIVE), "b": (b, POSITIVE)}, size, dtype, out)

    def chisquare(self, df: Any, size: Any = None, *, dtype: Any = _F8, out: Any = None) -> Array:
        """Sums of `df` squares of normal numbers; `df` is above 0."""
        return self._continuous("chisquare", {"df": (df, POSITIVE)}, size, dtype, out)

    def f(
        self, dfnum: Any, dfden: Any, size: Any = None, *, dtype: Any = _F8, out: Any = None
    ) -> Array:
        """Quotients of means of squares, of `dfnum` and `dfden` normal numbers, above 0."""
        values = {"dfnum": (dfnum, POSITIVE), "dfden": (dfden, POSITIVE)}
        return self._continuous("f", values, size, dtype, out)

    def standard_t(self, df: Any, size: Any = None, *, dtype: Any = _F8, out: Any = None) -> Array:
        """Student's t with `df` degrees of freedom, above 0."""
        return self._continuous("standard_t", {"df": (df, POSITIVE)}, size, dtype, out)

    def wald(
        self, mean: Any, scale: Any, size: Any = None, *, dtype: Any = _F8, out: Any = None
    ) -> Array:
        """Numbers of the inverse Gaussian distribution; both parameters are above 0."""
        values = {"mean": (mean, POSITIVE), "scale": (scale, POSITIVE)}
        return self._continuous("wald", values, size, dtype, out)

    def poisson(self, lam: Any = 1.0, size: Any = None, *, out: Any = None) -> Array:
        """Poisson numbers of a mean `lam`, from 0 to about 2**63 - 3e10, as int64."""
        return self._discrete("poisson", {"lam": (lam, MEAN)}, size, out)

    def binomial(self, n: Any, p: Any, size: Any = None, *, out: Any = None) -> Array:
        """Successes of `n` trials, each of the probability `p`, as int64."""
        return self._discrete("binomial", {"n": (n, COUNT), "p": (p, SHARE)}, size, out)

    def geometric(self, p: Any, size: Any = None, *, out: Any = None) -> Array:
        """Trials up to the first success, each of the probability `p` above 0, as int64."""
        return self._discrete("geometric", {"p": (p, POSITIVE_SHARE)}, size, out)

    def negative_binomial(self, n: Any, p: Any, size: Any = None, *, out: Any = None) -> Array:
        """Failures before `n` successes, each of the probability `p` above 0, as int64.

        As in NumPy, ``(1 - p) / p * (n + 10 * sqrt(n))`` is at most about 2**63 - 3e10.
        """
        values = {"n": (n, POSITIVE_NUMBER), "p": (p, POSITIVE_SHARE)}
        if not isinstance(n, Array) and not isinstance(p, Array):
            successes, share = (
                parameter("negative_binomial", key, *value) for key, value in values.items()
            )
            largest = (1 - share) / share * (successes + 10 * math.sqrt(successes))
            if largest > RANDOM_LARGEST_MEAN:
                raise ArgumentValueError(
                    f"negative_binomial: n, p: expected (1 - p) / p * (n + 10 * sqrt(n)) of at "
                    f"most {RANDOM_LARGEST_MEAN}, got {largest} for n = {n} and p = {p}; give a "
                    "smaller n or a larger p"
                )
        return self._discrete("negative_binomial", values, size, out)

    def _continuous(
        self, name: str, values: dict[str, tuple[Any, Range]], size: Any, dtype: Any, out: Any,
        kind: str = "",
    ) -> Array:  # fmt: skip
        kept = real_type(name, dtype)
        kernel, index = f"continuous_f{8 * kept.itemsize}", CONTINUOUS[kind or name]
        return self._each(kernel, name, index, (3, 0), values, size, kept, out)

    def _discrete(
        self, name: str, values: dict[str, tuple[Any, Range]], size: Any, out: Any
    ) -> Array:
        kept, kind = np.dtype(np.int64), DISCRETE[name]
        return self._each("discrete", name, kind, (2, 1), values, size, kept, out)

    def _each(
        self, kernel: str, name: str, kind: int, counts: tuple[int, int],
        values: dict[str, tuple[Any, Range]], size: Any, dtype: Any, out: Any,
        image: str = "random",
    ) -> Array:  # fmt: skip
        """Launch a kernel; `counts` are how many real and whole parameters it takes, in order."""
        checked = {key: parameter(name, key, *value) for key, value in values.items()}
        shape = shape_of(name, size, checked)
        made = result(name, shape, dtype, out, size is not None)
        flat: list[Any] = []
        for whole, kept, count in ((False, _F8, counts[0]), (True, np.int64, counts[1])):
            given = [checked[key] for key, value in values.items() if value[1].whole == whole]
            for value in given + [0] * (count - len(given)):
                flat += pair(value, made.shape, made.device_index, kept)
        self._bits.fill(kernel, made, 1, kind, *flat, image=image)
        return finish(made, out)


def _location(loc: Any, scale: Any) -> dict[str, tuple[Any, Range]]:
    return {"loc": (loc, ANY), "scale": (scale, NOT_NEGATIVE)}
