# cupola/kernels.pyi - the shipped kernels as functions.
from typing import Any, Literal, SupportsFloat, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from cupola.array import Array, _DeviceMemory
from cupola.device import _DeviceLike
from cupola.module import Module
from cupola.stream import _StreamProtocol

_Host = npt.NDArray[np.float32]
_HostImage = npt.NDArray[np.uint8]

def shipped_kernels(device: _DeviceLike | None = None) -> Module: ...
@overload
def mandelbrot(
    size: SupportsIndex = 512,
    lo: SupportsFloat = -2,
    hi: SupportsFloat = 2,
    iterations: SupportsIndex = 256,
    bound: SupportsFloat = 2,
    *,
    lattice: _Host | None = None,
    out: _Host | None = None,
    stream: _StreamProtocol | None = None,
) -> _Host: ...
@overload
def mandelbrot(
    size: SupportsIndex = 512,
    lo: SupportsFloat = -2,
    hi: SupportsFloat = 2,
    iterations: SupportsIndex = 256,
    bound: SupportsFloat = 2,
    *,
    lattice: _DeviceMemory | None = None,
    out: _DeviceMemory | None = None,
    stream: _StreamProtocol | None = None,
) -> Any: ...
@overload
def mandelbrot_image(
    width: SupportsIndex = 1536,
    height: SupportsIndex = 1024,
    center: tuple[SupportsFloat, SupportsFloat] = (-0.65, 0),
    span: SupportsFloat = 3.6,
    iterations: SupportsIndex = 500,
    samples: SupportsIndex = 3,
    *,
    out: _HostImage | None = None,
    stream: _StreamProtocol | None = None,
) -> _HostImage: ...
@overload
def mandelbrot_image(
    width: SupportsIndex = 1536,
    height: SupportsIndex = 1024,
    center: tuple[SupportsFloat, SupportsFloat] = (-0.65, 0),
    span: SupportsFloat = 3.6,
    iterations: SupportsIndex = 500,
    samples: SupportsIndex = 3,
    *,
    out: _DeviceMemory,
    stream: _StreamProtocol | None = None,
) -> Array: ...
@overload
def saxpy(
    a: SupportsFloat,
    x: _Host,
    y: _Host,
    out: _Host | None = None,
    stream: _StreamProtocol | None = None,
) -> _Host: ...
@overload
def saxpy(
    a: SupportsFloat,
    x: _DeviceMemory,
    y: _DeviceMemory,
    out: _DeviceMemory | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
@overload
def convolve(
    image: _Host,
    filter: _Host,
    border: Literal["zero", "clamp"] = "zero",
    out: _Host | None = None,
    stream: _StreamProtocol | None = None,
) -> _Host: ...
@overload
def convolve(
    image: _DeviceMemory,
    filter: _DeviceMemory,
    border: Literal["zero", "clamp"] = "zero",
    out: _DeviceMemory | None = None,
    stream: _StreamProtocol | None = None,
) -> Array: ...
def hello(blocks: SupportsIndex = 1, threads: SupportsIndex = 1) -> None: ...
