# cupola/texture.pyi - CUDA arrays, textures and surfaces.
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from cupola.array import Array, _Shape
from cupola.device import Device, _DeviceLike
from cupola.stream import Stream, _StreamProtocol

_AddressMode = Literal["wrap", "clamp", "mirror", "border"]

class CudaArray:
    def __init__(
        self,
        shape: _Shape,
        dtype: npt.DTypeLike = ...,
        *,
        channels: int = 1,
        layered: bool = False,
        surface: bool = False,
        device: _DeviceLike | None = None,
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def channels(self) -> int: ...
    @property
    def layered(self) -> bool: ...
    @property
    def surface(self) -> bool: ...
    @property
    def device_index(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def handle(self) -> int: ...
    @property
    def device(self) -> Device: ...
    def set(self, source: npt.ArrayLike | Array, stream: _StreamProtocol | None = None) -> None: ...
    @overload
    def get(
        self, out: npt.NDArray[Any] | None = None, stream: _StreamProtocol | None = None
    ) -> npt.NDArray[Any]: ...
    @overload
    def get(self, out: Array, stream: _StreamProtocol | None = None) -> Array: ...
    def texels(self) -> tuple[int, ...]: ...
    def free(self) -> None: ...

class TextureObject:
    @property
    def handle(self) -> int: ...
    @property
    def device_index(self) -> int: ...
    @property
    def device(self) -> Device: ...

class Texture(TextureObject):
    def __init__(
        self,
        source: CudaArray | Array,
        *,
        address: _AddressMode | Sequence[_AddressMode] = "clamp",
        filter: Literal["point", "linear"] = "point",  # noqa: A002
        normalized: bool = False,
        read: Literal["element", "normalized_float"] = "element",
        border: Sequence[float] = ...,
        channels: int = 1,
    ) -> None: ...

class Surface(TextureObject):
    def __init__(self, array: CudaArray) -> None: ...

_Box = tuple[str, CudaArray | int, int, int, int, int, int]
BOX_KINDS: dict[str, int]

def copy_box(to: _Box, source: _Box, width: int, rows: int, depth: int, stream: Stream) -> None: ...
def refuse_linear(dtype: np.dtype[Any]) -> None: ...
