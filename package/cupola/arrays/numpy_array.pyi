# cupola/arrays/numpy_array.pyi - methods of arrays that call functions of cupola.
from types import ModuleType
from typing import Any, Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

from cupola.array import Array, _DeviceMemory
from cupola.arrays.reductions import Reductions, _Axes
from cupola.device import _DeviceLike
from cupola.stream import _StreamProtocol

_Mode = Literal["raise", "wrap", "clip"]
_Number = complex | np.number[Any] | np.bool_

class ArrayMethods(Reductions):
    @property
    def real(self) -> Array: ...
    @property
    def imag(self) -> Array: ...
    @property
    def mT(self) -> Array: ...  # noqa: N802 - as NumPy has it
    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> Array: ...
    def squeeze(self, axis: _Axes = None) -> Array: ...
    def flatten(self, order: Literal["C", "F"] = "C") -> Array: ...
    def conj(self) -> Array: ...
    def conjugate(self) -> Array: ...
    def round(self, decimals: SupportsIndex = 0, out: Array | None = None) -> Array: ...
    def clip(
        self,
        min: Array | _Number | None = None,  # noqa: A002
        max: Array | _Number | None = None,  # noqa: A002
        out: Array | None = None,
    ) -> Array: ...
    def repeat(
        self, repeats: npt.ArrayLike | _DeviceMemory, axis: SupportsIndex | None = None
    ) -> Array: ...
    def var(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        correction: float | None = None,
    ) -> Array: ...
    def std(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        correction: float | None = None,
    ) -> Array: ...
    def cumsum(
        self,
        axis: SupportsIndex | None = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def cumprod(
        self,
        axis: SupportsIndex | None = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def sort(
        self,
        axis: SupportsIndex = -1,
        kind: str | None = None,
        order: None = None,
        *,
        stable: bool | None = None,
    ) -> None: ...
    def argsort(
        self,
        axis: SupportsIndex | None = -1,
        kind: str | None = None,
        order: None = None,
        *,
        stable: bool | None = None,
    ) -> Array: ...
    def searchsorted(
        self,
        v: npt.ArrayLike | _DeviceMemory,
        side: Literal["left", "right"] = "left",
        sorter: npt.ArrayLike | _DeviceMemory | None = None,
    ) -> Array: ...
    def take(
        self,
        indices: npt.ArrayLike | _DeviceMemory,
        axis: SupportsIndex | None = None,
        out: Array | None = None,
        mode: _Mode = "raise",
    ) -> Array: ...
    def put(
        self,
        indices: npt.ArrayLike | _DeviceMemory,
        values: npt.ArrayLike | _DeviceMemory,
        mode: _Mode = "raise",
    ) -> None: ...
    def compress(
        self,
        condition: npt.ArrayLike | _DeviceMemory,
        axis: SupportsIndex | None = None,
        out: Array | None = None,
    ) -> Array: ...
    def nonzero(self) -> tuple[Array, ...]: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType: ...
    def to_device(
        self, device: _DeviceLike, /, *, stream: _StreamProtocol | None = None
    ) -> Array: ...
