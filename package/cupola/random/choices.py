# cupola/random/choices.py - the arguments of choices: populations, probabilities, sizes.
"""Checks on the host."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from cupola.array import Array, read_now
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

_TOLERANCE = float(np.sqrt(np.finfo(np.float64).eps))  # NumPy's, of the sum


def population(function: str, name: str, value: Any) -> int:
    """The number of integers to choose from."""
    try:
        n = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: {name}: expected an int or a cupola.Array, got {type(value).__name__}; "
            f"copy it with cupola.to_device({name})"
        ) from None
    if n < 0:
        raise ArgumentValueError(f"{function}: {name}: expected at least 0, got {n}")
    return n


def shape_of_sample(size: Any) -> tuple[int, ...]:
    """The shape of so many elements."""
    if size is None:
        return ()
    parts = size if isinstance(size, (tuple, list)) else (size,)
    try:
        shape = tuple(operator.index(one) for one in parts)
    except TypeError:
        raise ArgumentTypeError(
            f"choice: size: expected an int or a tuple of ints, got {size!r}"
        ) from None
    if any(one < 0 for one in shape):
        raise ArgumentValueError(f"choice: size: expected no negative sizes, got {shape}")
    return shape


def probabilities(p: Any, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """One for each of `n` elements, with the sum 1."""
    given = read_now(p, "choice: argument p") if isinstance(p, Array) else p
    try:
        weights = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"choice: p: expected real numbers, got {type(p).__name__}"
        ) from None
    if weights.shape != (n,):
        raise ArgumentValueError(
            f"choice: p: expected the shape {(n,)}, that of the population, got {weights.shape}"
        )
    if not (weights >= 0).all():
        raise ArgumentValueError("choice: p: expected numbers of at least 0, not NaN")
    if n and not abs(weights.sum() - 1) <= _TOLERANCE:
        raise ArgumentValueError(
            f"choice: p: expected the sum 1, got {weights.sum()}; divide it by its sum"
        )
    return weights
