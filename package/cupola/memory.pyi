# cupola/memory.pyi - memory.
from collections.abc import Callable
from typing import SupportsIndex

from typing_extensions import Buffer, Self

from cupola.device import _DeviceLike
from cupola.stream import _StreamProtocol

class Memory:
    @property
    def address(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def device_index(self) -> int: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def managed(self) -> bool: ...
    def release(self) -> None: ...
    def copy_from(
        self,
        source: Buffer | Memory | SupportsIndex,
        offset: SupportsIndex = 0,
        nbytes: SupportsIndex | None = None,
        *,
        stream: _StreamProtocol | None = None,
    ) -> None: ...
    def copy_to(
        self,
        target: Buffer | Memory | SupportsIndex,
        offset: SupportsIndex = 0,
        nbytes: SupportsIndex | None = None,
        *,
        stream: _StreamProtocol | None = None,
    ) -> None: ...
    def fill(
        self,
        value: SupportsIndex = 0,
        offset: SupportsIndex = 0,
        nbytes: SupportsIndex | None = None,
        *,
        stream: _StreamProtocol | None = None,
    ) -> None: ...
    def part(self, offset: SupportsIndex, nbytes: SupportsIndex) -> int: ...
    def ipc_handle(self) -> bytes: ...
    @staticmethod
    def from_ipc_handle(handle: Buffer, *, device: _DeviceLike | None = None) -> Memory: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

def alloc(
    nbytes: SupportsIndex,
    *,
    device: _DeviceLike | None = None,
    stream: _StreamProtocol | None = None,
    exportable: bool = False,
) -> Memory: ...
def is_exportable(address: int) -> bool: ...
def register_host(array: Buffer, *, device: _DeviceLike | None = None) -> Memory: ...
def set_out_of_memory_handler(
    handler: Callable[[int, int], str] | None,
) -> Callable[[int, int], str] | None: ...
