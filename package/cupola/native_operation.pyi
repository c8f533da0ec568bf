# cupola/native_operation.pyi - a declared operation of libcupola.so.
from typing import Any

from cupola.array import Array
from cupola.kernel import Kernel
from cupola.stream import Stream

class NativeOperation:
    def __init__(self, declaration: str) -> None: ...
    @property
    def name(self) -> str: ...
    def kernel_types(self) -> list[str]: ...
    def bind(self, index: int, kernel: Kernel[Any]) -> None: ...
    def bound(self, index: int, device: int) -> bool: ...
    def launch(
        self,
        tensors: tuple[Array | tuple[Any, ...] | None, ...],
        scalars: tuple[float, ...],
        stream: Stream | None = None,
        handle: int | None = None,
        batched: tuple[bool, ...] | None = None,
        batch: int = 0,
    ) -> None: ...
