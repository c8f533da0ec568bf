# cupola/array.pyi - arrays.
from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex

import numpy as np
import numpy.typing as npt

from cupola.device import Device
from cupola.stream import _StreamProtocol

_Shape = SupportsIndex | Sequence[SupportsIndex]

class _DeviceMemory(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class Array:
    __array_ufunc__: None
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def address(self) -> int: ...
    @property
    def ptr(self) -> int: ...
    @property
    def device_index(self) -> int: ...
    @property
    def device(self) -> Device: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def get(
        self, out: npt.NDArray[Any] | None = None, stream: _StreamProtocol | None = None
    ) -> npt.NDArray[Any]: ...
    def set(
        self, source: npt.ArrayLike | _DeviceMemory, stream: _StreamProtocol | None = None
    ) -> None: ...
    def free(self) -> None: ...
    def reshape(self, *shape: Any) -> Array: ...
    def __getitem__(self, key: SupportsIndex | slice, /) -> Array: ...
    def __len__(self) -> int: ...

def empty(
    shape: _Shape,
    dtype: npt.DTypeLike = ...,
    *,
    device: Device | SupportsIndex | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def zeros(
    shape: _Shape,
    dtype: npt.DTypeLike = ...,
    *,
    device: Device | SupportsIndex | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def empty_like(
    prototype: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    shape: _Shape | None = None,
    device: Device | SupportsIndex | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def to_device(
    source: npt.ArrayLike | _DeviceMemory,
    dtype: npt.DTypeLike | None = None,
    *,
    device: Device | SupportsIndex | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def asarray(source: _DeviceMemory) -> Array: ...
def pinned_empty(
    shape: _Shape,
    dtype: npt.DTypeLike = ...,
    *,
    device: Device | SupportsIndex | None = None,
) -> npt.NDArray[Any]: ...
