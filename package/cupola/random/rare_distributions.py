# cupola/random/rare_distributions.py - distributions that few programs use.
"""`RareDistributions`: methods of `Generator` whose kernels are in an image of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.exceptions import ArgumentValueError
from cupola.kernel_constants import RARE_CONTINUOUS, RARE_DISCRETE
from cupola.random.distributions import Distributions
from cupola.random.parameters import (
    ABOVE_ONE,
    ANY,
    COUNT,
    NOT_NEGATIVE,
    PART,
    POSITIVE,
    UNIT,
    Range,
    parameter,
    real_type,
)

_F8 = np.float64


class RareDistributions(Distributions):
    """More distributions of `Generator` with parameters that may be arrays."""

    def noncentral_chisquare(
        self, df: Any, nonc: Any, size: Any = None, *, dtype: Any = _F8, out: Any = None
    ) -> Array:
        """Sums of `df` squares of normal numbers; `nonc`, at least 0, is that of squared means."""
        values = {"df": (df, POSITIVE), "nonc": (nonc, NOT_NEGATIVE)}
        return self._rare_continuous("noncentral_chisquare", values, size, dtype, out)

    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, *, dtype: Any = _F8,
        out: Any = None,
    ) -> Array:  # fmt: skip
        """Quotients as of `f`, whose numerators are those of `noncentral_chisquare`."""
        values = {"dfnum": (dfnum, POSITIVE), "dfden": (dfden, POSITIVE)}
        values["nonc"] = (nonc, NOT_NEGATIVE)
        return self._rare_continuous("noncentral_f", values, size, dtype, out)

    def vonmises(
        self, mu: Any, kappa: Any, size: Any = None, *, dtype: Any = _F8, out: Any = None
    ) -> Array:
        """Angles around `mu` with a concentration `kappa` of at least 0, from -pi to pi."""
        values = {"mu": (mu, ANY), "kappa": (kappa, NOT_NEGATIVE)}
        return self._rare_continuous("vonmises", values, size, dtype, out)

    def hypergeometric(
        self, ngood: Any, nbad: Any, nsample: Any, size: Any = None, *, out: Any = None
    ) -> Array:
        """Good ones among `nsample` of `ngood` and `nbad` without replacement, as int64.

        `ngood` and `nbad` are below 10**9, and `nsample` is not above their sum.
        """
        values = {"ngood": (ngood, PART), "nbad": (nbad, PART), "nsample": (nsample, COUNT)}
        given = [parameter("hypergeometric", key, *value) for key, value in values.items()]
        if not any(isinstance(one, Array) for one in given) and given[2] > given[0] + given[1]:
            raise ArgumentValueError(
                f"hypergeometric: nsample: expected at most ngood + nbad, {given[0] + given[1]}, "
                f"got {nsample}"
            )
        return self._rare_discrete("hypergeometric", values, size, out)

    def logseries(self, p: Any, size: Any = None, *, out: Any = None) -> Array:
        """Numbers k from 1 on of a probability like ``p**k / k``, as int64; `p` is below 1."""
        return self._rare_discrete("logseries", {"p": (p, UNIT)}, size, out)

    def zipf(self, a: Any, size: Any = None, *, out: Any = None) -> Array:
        """Numbers k from 1 on of a probability like ``k**-a``, as int64; `a` is above 1."""
        return self._rare_discrete("zipf", {"a": (a, ABOVE_ONE)}, size, out)

    def _rare_continuous(
        self, name: str, values: dict[str, tuple[Any, Range]], size: Any, dtype: Any, out: Any
    ) -> Array:
        kept = real_type(name, dtype)
        kind = RARE_CONTINUOUS[name]
        kernel = f"rare_continuous_f{8 * kept.itemsize}"
        return self._each(kernel, name, kind, (3, 0), values, size, kept, out, "random_rare")

    def _rare_discrete(
        self, name: str, values: dict[str, tuple[Any, Range]], size: Any, out: Any
    ) -> Array:
        kept, kind = np.dtype(np.int64), RARE_DISCRETE[name]
        counts = (1, 3)
        return self._each(
            "rare_discrete", name, kind, counts, values, size, kept, out, "random_rare"
        )
