# cupola/random/permutations.py - random orders and choices.
"""`Permutations`: the methods of `Generator` that order or choose elements.

An order is that of random keys of 64 bits, by a stable radix sort. Each order of n elements has the
same probability, apart from equal keys, whose probability is n**2 / 2**65.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.indexing import take
from cupola.arrays.rows import axis_of, packed
from cupola.arrays.sorts import argsort
from cupola.creation import arange, empty, to_device
from cupola.device import Device
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.random.choices import population, probabilities, shape_of_sample
from cupola.random.parameters import finish, result
from cupola.random.sampling import Sampling


class Permutations(Sampling):
    """Orders and choices of `Generator`."""

    def permutation(self, x: Any, axis: int = 0) -> Array:
        """The integers below a number, or the parts of an array, in a random order.

        Parameters
        ----------
        x : int or Array
        axis : int
            The axis whose indices are ordered; rows stay together.

        Returns
        -------
        Array
            Of int64 for an int, else like `x`.
        """
        if not isinstance(x, Array):
            return self._order(population("permutation", "x", x), Device().index)
        if not x.ndim:
            raise ArgumentValueError("permutation: x: expected an array with axes")
        number = axis_of("permutation", axis, x.ndim)
        return take(x, self._order(x.shape[number], x.device_index), number, mode="clip")

    def shuffle(self, x: Array, axis: int = 0) -> None:
        """Order the parts of an array along an axis at random, in place.

        Parameters
        ----------
        x : Array
        axis : int
        """
        if not isinstance(x, Array):
            raise ArgumentTypeError(
                f"shuffle: x: expected a cupola.Array, got {type(x).__name__}; for NumPy's arrays "
                "use numpy.random"
            )
        if not x.flags.writeable:
            raise ArgumentValueError("shuffle: x: the array is read-only")
        x[...] = self.permutation(x, axis)

    def permuted(self, x: Array, axis: int | None = None, out: Any = None) -> Array:
        """A copy whose rows along an axis are ordered at random, each by itself.

        Parameters
        ----------
        x : Array
        axis : int, optional
            By default all elements are one row.
        out : Array, optional
            Of the shape and dtype of `x`; it may be `x`.

        Returns
        -------
        Array
        """
        if not isinstance(x, Array):
            raise ArgumentTypeError(
                f"permuted: x: expected a cupola.Array, got {type(x).__name__}; copy it with "
                "cupola.to_device(x)"
            )
        if out is not None:
            result("permuted", x.shape, x.dtype, out)  # checks it
        if axis is None:
            flat = packed(x).reshape(-1)
            made = take(flat, self._order(x.size, x.device_index), mode="clip").reshape(x.shape)
            return finish(made, out)
        number = axis_of("permuted", axis, x.ndim)
        others = [one for one in range(x.ndim) if one != number]
        rows = packed(x.transpose(*others, number))
        n = rows.shape[-1]
        if not rows.size:
            return finish(x.copy(), out)
        places = argsort(self._keys((rows.size // n, n), x.device_index))
        places += (arange(rows.size // n, device=x.device_index) * n).reshape(-1, 1)
        made = take(rows.reshape(-1), places, mode="clip").reshape(rows.shape)
        back = np.argsort([*others, number])
        return finish(made.transpose(*(int(one) for one in back)).copy(), out)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
        shuffle: bool = True,
    ) -> Array:  # fmt: skip
        """Elements of a population at random.

        Parameters
        ----------
        a : int or Array
            The integers below a number, or the parts of an array along an axis.
        size : int or tuple of int, optional
            By default one, without an axis.
        replace : bool
            Whether an element may be chosen more than once.
        p : array_like or Array, optional
            The probability of each element; their sum is 1. They are checked and added on the host:
            for an Array the call waits for its copy.
        axis : int
        shuffle : bool
            For NumPy's signature: without replacement, the order is always random.

        Returns
        -------
        Array

        Raises
        ------
        ArgumentValueError
            Where `p` does not fit, or there are fewer elements than are chosen without replacement.
        """
        if isinstance(a, Array):
            number = axis_of("choice", axis, a.ndim)
            n, device = a.shape[number], a.device_index
        else:
            n, device = population("choice", "a", a), Device().index
        shape = shape_of_sample(size)
        count = math.prod(shape)
        if not n and count:
            raise ArgumentValueError("choice: a has no elements")
        weights = None if p is None else probabilities(p, n)
        if replace:
            chosen = self._with_replacement(shape, n, weights, device)
        else:
            if count > (n if weights is None else np.count_nonzero(weights)):
                raise ArgumentValueError(
                    f"choice: {count} elements of a population of {n} can't be chosen without "
                    "replacement; elements of probability 0 are left out"
                )
            chosen = self._without_replacement(n, weights, device)[:count].reshape(shape)
        return take(a, chosen, number, mode="clip") if isinstance(a, Array) else chosen

    def _with_replacement(self, shape: Any, n: int, weights: Any, device: int) -> Array:
        made = empty(shape, np.int64, device=device)
        if not made.size:
            return made
        if weights is None:
            self._fill_integers(made, 0, n)
        else:
            sums = np.cumsum(weights)
            sums /= sums[-1]
            self._bits.fill("choice", made, 1, to_device(sums, device=device), n)
        return made

    def _without_replacement(self, n: int, weights: Any, device: int) -> Array:
        """All elements; those of weight 0 last (Efraimidis and Spirakis 2006)."""
        if weights is None:
            return self._order(n, device)
        keys = empty(n, np.float64, device=device)
        self._bits.fill("exponential_f64", keys, 2, 0.0, 1.0)
        keys /= to_device(weights, device=device)
        return argsort(keys)

    def _order(self, n: int, device: int) -> Array:
        return argsort(self._keys((n,), device))

    def _keys(self, shape: tuple[int, ...], device: int) -> Array:
        keys = empty(shape, np.uint64, device=device)
        self._fill_integers(keys, 0, 1 << 64)
        return keys
