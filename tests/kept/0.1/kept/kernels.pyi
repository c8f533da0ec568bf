"""Kernels of kept 1.0, compiled by CUDA 13.0.88.

Made from the manifest; what is changed here is lost.
"""

from collections.abc import Callable as _Callable
from typing import Annotated as _Annotated
from typing import ParamSpec as _ParamSpec
from typing import SupportsIndex as _SupportsIndex

from cupola.core.argument_types import Float as _Float
from cupola.core.argument_types import Integer as _Integer
from cupola.core.argument_types import Pointer as _Pointer
from cupola.core.argument_types import Struct as _Struct
from cupola.device import Device as _Device
from cupola.kernel import Kernel as _Kernel
from cupola.module import Module as _Module

_P = _ParamSpec("_P")

def _kernel(signature: _Callable[_P, None], /) -> _Kernel[_P]: ...

@_kernel
def add(
    out: _Annotated[_Pointer, "float*"],
    x: _Annotated[_Pointer, "const float*"],
    y: _Annotated[_Pointer, "const float*"],
    n: _Annotated[_Integer, "int"],
) -> None:
    """add(float* out, const float* x, const float* y, int n)

    out : float*, 8 bytes
    x : const float*, 8 bytes
    y : const float*, 8 bytes
    n : int, 4 bytes
    sm_75 : 12 registers, 16 constant
    """

@_kernel
def line(
    out: _Annotated[_Pointer, "float*"],
    line: _Annotated[_Struct, "Line"],
    n: _Annotated[_Integer, "int"],
) -> None:
    """line(float* out, Line line, int n)

    out : float*, 8 bytes
    line : Line, 8 bytes
        slope : float at 0
        offset : int at 4
    n : int, 4 bytes
    sm_75 : 10 registers, 16 constant
    """

@_kernel
def scale_float_1(
    out: _Annotated[_Pointer, "float*"],
    x: _Annotated[_Pointer, "const float*"],
    factor: _Annotated[_Float, "float"],
    n: _Annotated[_Integer, "int"],
) -> None:
    """scale<float, 1>(float* out, const float* x, float factor, int n)

    out : float*, 8 bytes
    x : const float*, 8 bytes
    factor : float, 4 bytes
    n : int, 4 bytes
    sm_75 : 10 registers, 16 constant
    """

@_kernel
def scale_float_2(
    out: _Annotated[_Pointer, "float*"],
    x: _Annotated[_Pointer, "const float*"],
    factor: _Annotated[_Float, "float"],
    n: _Annotated[_Integer, "int"],
) -> None:
    """scale<float, 2>(float* out, const float* x, float factor, int n)

    out : float*, 8 bytes
    x : const float*, 8 bytes
    factor : float, 4 bytes
    n : int, 4 bytes
    sm_75 : 14 registers, 16 constant
    """

def load(device: _Device | _SupportsIndex | None = None) -> _Module:
    """The image on a device, by default the current one; loaded there once."""
