# cupola/creation.pyi - making arrays.
from typing import Any, Literal

import numpy.typing as npt

from cupola.array import Array, _DeviceMemory, _Shape
from cupola.device import _DeviceLike
from cupola.stream import _StreamProtocol

_Order = Literal["C", "F"]
_LikeOrder = Literal["C", "F", "A", "K"]

def empty(
    shape: _Shape,
    dtype: npt.DTypeLike = ...,
    *,
    order: _Order = "C",
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def zeros(
    shape: _Shape,
    dtype: npt.DTypeLike = ...,
    *,
    order: _Order = "C",
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def ones(
    shape: _Shape,
    dtype: npt.DTypeLike = ...,
    *,
    order: _Order = "C",
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def full(
    shape: _Shape,
    value: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    order: _Order = "C",
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def empty_like(
    prototype: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    order: _LikeOrder = "K",
    shape: _Shape | None = None,
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def zeros_like(
    prototype: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    order: _LikeOrder = "K",
    shape: _Shape | None = None,
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def ones_like(
    prototype: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    order: _LikeOrder = "K",
    shape: _Shape | None = None,
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def full_like(
    prototype: Any,
    value: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    order: _LikeOrder = "K",
    shape: _Shape | None = None,
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def to_device(
    source: npt.ArrayLike | _DeviceMemory,
    dtype: npt.DTypeLike | None = None,
    *,
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def array(
    source: npt.ArrayLike | _DeviceMemory,
    dtype: npt.DTypeLike | None = None,
    *,
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def arange(
    *limits: Any,
    dtype: npt.DTypeLike | None = None,
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
    **named: Any,
) -> Array: ...
def asarray(source: npt.ArrayLike | _DeviceMemory, dtype: npt.DTypeLike | None = None) -> Array: ...
def strided_view(
    array: Array, shape: tuple[int, ...], strides: tuple[int, ...], *, readonly: bool = False
) -> Array: ...
def managed(
    shape: _Shape,
    dtype: npt.DTypeLike = ...,
    *,
    device: _DeviceLike | None = None,
) -> Array: ...
def empty_pinned(
    shape: _Shape,
    dtype: npt.DTypeLike = ...,
    *,
    device: _DeviceLike | None = None,
    write_combined: bool = False,
) -> npt.NDArray[Any]: ...
