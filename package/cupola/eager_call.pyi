# cupola/eager_call.pyi - calls of an operation whose arguments are like those of a call before.
from typing import Any, TypeVar

from cupola.array_access import Allocation
from cupola.native_operation import NativeOperation

_Class = TypeVar("_Class")

UNKNOWN: object

class EagerCall:
    def __init__(
        self,
        inputs: tuple[tuple[str, bool], ...],
        scalars: tuple[tuple[str, str, float | None], ...],
        outputs: int,
        align: int,
        autocast: bool,
    ) -> None: ...
    def __len__(self) -> int: ...
    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...
    def remember(
        self,
        args: tuple[Any, ...],
        native: NativeOperation,
        outputs: tuple[Allocation, ...],
        workspaces: tuple[Allocation, ...],
    ) -> None: ...

class CallableOperation:
    eager: EagerCall

def with_vectorcall(kind: type[_Class]) -> type[_Class]: ...
