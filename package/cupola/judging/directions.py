# cupola/judging/directions.py - the directions along which the judge compares gradients.
"""Directions of inputs whose elements move by a part of their size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cupola.judging.elements import is_float, limits

WHOLE = "the whole gradient"
_EVERY = 12  # elements of an input, up to which each element is a direction
_FEWER = 2  # the first step of a single element: many elements with all steps take long
_LEAST = 1 / 8  # of the typical size of elements: the least by which a single element moves


def perturbed(array: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """The array with each element of floating point moved to a neighbour, or not moved."""
    if not is_float(array.dtype):
        return array
    most = float(limits(array.dtype).max)
    ends = np.array([-most, np.nan, most]).astype(array.dtype)
    towards = ends[rng.integers(0, 3, array.shape)]
    return np.where(np.isnan(towards), array, np.nextafter(array, towards))


def directions(
    array: np.ndarray[Any, Any], gradient: np.ndarray[Any, Any], rng: np.random.Generator
) -> Iterator[tuple[str, np.ndarray[Any, Any], int]]:
    """Directions, each with its first step.

    They are single elements, those at the ends among them, the signs of the gradient, and a random
    one.
    """
    sizes, count = np.abs(array.astype(np.float64)), array.size
    typical = float(np.sqrt((sizes**2).mean())) or 1.0
    places: Mapping[int, None]
    if count <= _EVERY:
        places = dict.fromkeys(range(count))
    else:
        places = dict.fromkeys([0, count - 1, *rng.integers(0, count, 4).tolist()])
    for place in places:
        one = np.zeros(count)
        one[place] = max(sizes.reshape(-1)[place], typical * _LEAST)
        index = np.unravel_index(place, array.shape) if array.shape else ()
        yield (
            f"element [{', '.join(str(int(each)) for each in index)}]",
            one.reshape(array.shape),
            _FEWER,
        )
    with np.errstate(invalid="ignore"):
        signs = np.where(np.isnan(gradient), 1.0, np.sign(gradient.astype(np.float64)))
    # The gradient of an element may overflow in its type.
    moved = np.where(np.isinf(gradient), 0.0, np.where(sizes == 0, typical, sizes))
    yield WHOLE, signs * moved, 0
    yield "a random direction", rng.normal(size=array.shape) * moved, 0
