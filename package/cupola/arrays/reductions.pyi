# cupola/arrays/reductions.pyi - sums, extremes and products of arrays.
from collections.abc import Callable, Iterable
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from cupola.array import Array
from cupola.arrays.operators import Operators

_Axes = SupportsIndex | tuple[SupportsIndex, ...] | None
_Factor = Array | complex | np.number[Any] | np.bool_

class Reductions(Operators):
    def sum(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: None = None,
        where: bool = True,
    ) -> Array: ...
    def prod(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: None = None,
        where: bool = True,
    ) -> Array: ...
    def min(
        self,
        axis: _Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: None = None,
        where: bool = True,
    ) -> Array: ...
    def max(
        self,
        axis: _Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        initial: None = None,
        where: bool = True,
    ) -> Array: ...
    def any(
        self,
        axis: _Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        *,
        where: bool = True,
    ) -> Array: ...
    def all(
        self,
        axis: _Axes = None,
        out: Array | None = None,
        keepdims: bool = False,
        *,
        where: bool = True,
    ) -> Array: ...
    def mean(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
        keepdims: bool = False,
        *,
        where: bool = True,
    ) -> Array: ...
    def argmin(
        self,
        axis: SupportsIndex | None = None,
        out: Array | None = None,
        *,
        keepdims: bool = False,
    ) -> Array: ...
    def argmax(
        self,
        axis: SupportsIndex | None = None,
        out: Array | None = None,
        *,
        keepdims: bool = False,
    ) -> Array: ...
    def dot(self, other: _Factor, out: Array | None = None) -> Array: ...
    def __matmul__(self, other: Array, /) -> Array: ...
    def __rmatmul__(self, other: Array, /) -> Array: ...
    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any: ...
