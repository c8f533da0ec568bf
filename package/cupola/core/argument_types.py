# cupola/core/argument_types.py - types of kernel arguments, for annotations.
"""Types of the values that kernels take as arguments, for type checkers and editors.

The stubs of kernel libraries use them (`cupola.build.stub`). A launch checks more: ranges, element
types of arrays, and the device of memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from ctypes import Array as _CArray
    from ctypes import Structure, Union, _SimpleCData
    from typing import SupportsFloat, SupportsIndex

    import numpy as np

    from cupola.array import Array
    from cupola.memory import Memory
    from cupola.transfer import Transfer


class SupportsCudaArrayInterface(Protocol):
    """Device memory of another library."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class SupportsDLPack(Protocol):
    """Device memory of another library."""

    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...


Pointer: TypeAlias = (
    "Array | Memory | Transfer | SupportsCudaArrayInterface | SupportsDLPack | SupportsIndex | None"
)
"""For a pointer parameter; an int is an address, None is null."""

Integer: TypeAlias = "SupportsIndex | _SimpleCData[Any]"
"""For an integer or bool parameter."""

Float: TypeAlias = "SupportsFloat | SupportsIndex | _SimpleCData[Any]"
"""For a floating-point parameter."""

Struct: TypeAlias = (
    "np.void | np.ndarray[Any, Any] | bytes | complex | Structure | Union | _CArray[Any]"
)
"""For a struct parameter; the size must match exactly."""
