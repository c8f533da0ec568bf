# cupola/random/vectors.py - distributions whose results are vectors.
"""`Vectors`: counts, shares and normal vectors of `Generator`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from cupola.array import Array, read_now
from cupola.arrays.layouts import broadcast_to
from cupola.arrays.products import matmul
from cupola.creation import empty, to_device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.kernel_constants import RANDOM_HYPERGEOMETRIC_LIMIT
from cupola.random.parameters import COUNT, pair, parameter, shape_of

if TYPE_CHECKING:
    from cupola.random.bit_generator import BitGenerator

Host = np.ndarray[Any, Any]
_TOLERANCE = 1e-12  # the largest difference of a sum of probabilities from 1
_METHODS = ("svd", "eigh", "cholesky")


class Vectors:
    """Distributions of vectors; the last axis of a result is the vector.

    Parameters that are vectors or matrices are checked on the host. For an `Array` the call waits
    for its copy.
    """

    _bits: BitGenerator

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Array:
        """Counts of `n` trials, each of which has one of several results.

        Parameters
        ----------
        n : int or Array
            At least 0.
        pvals : array_like or Array
            The probabilities along the last axis. The last one is what the others leave.
        size : int or tuple of int, optional
            By default the shape of `n` and of `pvals` without its last axis.

        Returns
        -------
        Array
            Of int64 and the shape ``(*size, pvals.shape[-1])``.
        """
        p = _host_values("multinomial", "pvals", pvals)
        if not ((p >= 0) & (p <= 1)).all():
            raise ArgumentValueError("multinomial: pvals: expected numbers from 0 to 1, not NaN")
        sums = p[..., :-1].sum(-1)
        if (sums > 1 + _TOLERANCE).any():
            raise ArgumentValueError(
                f"multinomial: pvals: expected a sum of at most 1 without the last one, got "
                f"{sums.max()}"
            )
        trials = parameter("multinomial", "n", n, COUNT)
        lead = p.shape[:-1]
        if size is None:
            known = trials.shape if isinstance(trials, Array) else ()
            try:
                shape = np.broadcast_shapes(known, lead)
            except ValueError:
                raise ArgumentValueError(
                    f"multinomial: n and pvals don't broadcast: {known} and {lead}"
                ) from None
        else:
            shape = shape_of("multinomial", size, {"n": trials})
        length = p.shape[-1]
        made: Array = empty((*shape, length), np.int64)
        there = to_device(p.reshape(-1) if p.size == length else p, device=made.device_index)
        if p.size != length:
            try:
                there = broadcast_to(there, made.shape).copy()
            except ValueError:
                raise ArgumentValueError(
                    f"multinomial: pvals: the shape {p.shape} does not broadcast to {made.shape}"
                ) from None
        step = 0 if p.size == length else length
        several = pair(trials, shape, made.device_index, np.int64)
        self._vectors("multinomial", made, length, *several, there, step)
        return made

    def multivariate_hypergeometric(
        self, colors: Any, nsample: Any, size: Any = None, method: str = "marginals"
    ) -> Array:
        """Counts of each kind among `nsample` objects that are drawn without replacement.

        Parameters
        ----------
        colors : array_like or Array of int
            How many objects there are of each kind; less than 10**9 together.
        nsample : int
            Not more than all objects.
        size : int or tuple of int, optional
        method : {"marginals", "count"}
            Both are by hypergeometric numbers, one for each kind.

        Returns
        -------
        Array
            Of int64 and the shape ``(*size, colors.size)``.
        """
        title = "multivariate_hypergeometric"
        if method not in ("marginals", "count"):
            raise ArgumentValueError(
                f"{title}: method: expected 'marginals' or 'count', got {method!r}"
            )
        if isinstance(colors, Array):
            colors = read_now(colors, f"{title}: argument colors")
        found = np.asarray(colors)
        if found.dtype.kind not in "iu" or found.ndim != 1 or not found.size:
            raise ArgumentTypeError(f"{title}: colors: expected integers along one axis")
        kinds = _host_values(title, "colors", found)
        total = kinds.sum()
        if (kinds < 0).any() or total >= RANDOM_HYPERGEOMETRIC_LIMIT:
            raise ArgumentValueError(
                f"{title}: colors: expected numbers of at least 0, with a sum below 10**9"
            )
        if not isinstance(nsample, (int, np.integer)):
            raise ArgumentTypeError(
                f"{title}: nsample: expected an int, got {type(nsample).__name__}"
            )
        draws = float(parameter(title, "nsample", nsample, COUNT))
        if draws > total:
            raise ArgumentValueError(
                f"{title}: nsample: expected at most {total:.0f}, the sum of colors, got "
                f"{draws:.0f}"
            )
        shape = shape_of(title, size, {})
        made: Array = empty((*shape, kinds.size), np.int64)
        there = to_device(kinds, device=made.device_index)
        self._vectors(title, made, kinds.size, draws, there, total)
        return made

    def dirichlet(self, alpha: Any, size: Any = None) -> Array:
        """Shares with the sum 1.

        Parameters
        ----------
        alpha : array_like or Array
            Along one axis, at least 0, with a sum above 0. Where it is 0 the share is 0.
        size : int or tuple of int, optional

        Returns
        -------
        Array
            Of float64 and the shape ``(*size, alpha.size)``.
        """
        values = _host_values("dirichlet", "alpha", alpha)
        if values.ndim != 1:
            raise ArgumentValueError(f"dirichlet: alpha has {values.ndim} axes, expected 1")
        if not ((values >= 0) & np.isfinite(values)).all() or not values.sum() > 0:
            raise ArgumentValueError(
                "dirichlet: alpha: expected finite numbers of at least 0, with a sum above 0"
            )
        shape = shape_of("dirichlet", size, {})
        made: Array = empty((*shape, values.size), np.float64)
        # The kernel's logarithms overflow if all numbers are below 1e-300. A common factor makes no
        # difference for such numbers, because one share is 1.
        values *= max(1e-100 / values.max(), 1)
        there = to_device(values, device=made.device_index)
        self._vectors("dirichlet", made, values.size, there)
        return made

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8,
        *, method: str = "svd",
    ) -> Array:  # fmt: skip
        """Normal vectors; the covariances are factored on the host.

        Parameters
        ----------
        mean : array_like or Array
            Along one axis.
        cov : array_like or Array
            The matrix of covariances, symmetric and positive semidefinite.
        size : int or tuple of int, optional
        check_valid : {"warn", "raise", "ignore"}
            The reaction to another `cov`.
        tol : float
            How far it may be off.
        method : {"svd", "eigh", "cholesky"}
            How it is factored.

        Returns
        -------
        Array
            Of float64 and the shape ``(*size, mean.size)``.
        """
        title = "multivariate_normal"
        centre, matrix = _host_values(title, "mean", mean), _host_values(title, "cov", cov)
        if centre.ndim != 1 or matrix.shape != (centre.size, centre.size):
            raise ArgumentValueError(
                f"{title}: expected a mean along one axis and a cov of n rows and columns, got the "
                f"shapes {centre.shape} and {matrix.shape}"
            )
        if method not in _METHODS or check_valid not in ("warn", "raise", "ignore"):
            raise ArgumentValueError(
                f"{title}: expected a method of {_METHODS} and check_valid 'warn', 'raise' or "
                f"'ignore', got {method!r} and {check_valid!r}"
            )
        factor = _factor_of_covariance(matrix, check_valid, tol, method)
        shape = shape_of(title, size, {})
        made: Array = empty((*shape, centre.size), np.float64)
        self._bits.fill("normal_f64", made, 2, 0.0, 1.0)
        rows = matmul(made.reshape(-1, centre.size), to_device(factor, device=made.device_index))
        rows += to_device(centre, device=made.device_index)
        return rows.reshape(made.shape)

    def _vectors(self, name: str, made: Array, length: int, *arguments: Any) -> None:
        if made.size:
            self._bits.fill(name, made, length, *arguments, length, image="random_rare")


def _host_values(title: str, name: str, values: Any) -> Host:
    given = read_now(values, f"{title}: argument {name}") if isinstance(values, Array) else values
    try:
        found = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{title}: {name}: expected real numbers, got {type(values).__name__}"
        ) from None
    if not found.ndim or not found.shape[-1]:
        raise ArgumentValueError(f"{title}: {name}: expected at least one number along an axis")
    return found


def _factor_of_covariance(cov: Host, check_valid: str, tol: float, method: str) -> Host:
    """A matrix whose transposed, times the matrix, is the covariances."""
    title = "multivariate_normal: cov"
    try:
        if method == "cholesky":
            return np.ascontiguousarray(np.linalg.cholesky(cov).T)
        values, vectors = np.linalg.eigh((cov + cov.T) / 2)
    except np.linalg.LinAlgError as error:
        raise ArgumentValueError(f"{title}: {error}") from None
    valid = np.allclose(cov, cov.T, rtol=tol, atol=tol)
    valid = valid and bool((values >= -tol * max(abs(values).max(), 1)).all())
    if not valid:
        text = f"{title}: expected a symmetric and positive semidefinite matrix"
        if check_valid == "raise":
            raise ArgumentValueError(text)
        if check_valid == "warn":
            warnings.warn(text, RuntimeWarning, stacklevel=3)
    return np.ascontiguousarray((vectors * np.sqrt(values.clip(0))).T)
