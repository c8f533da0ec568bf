# cupola/array_access.pyi - reads and makes arrays of one class, for calls of operations.
from collections.abc import Callable
from typing import Any

class Allocation:
    def __init__(
        self,
        function: Callable[..., Any] | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        like: int = -1,
    ) -> None: ...

class ArrayAccess: ...

class CupolaAccess(ArrayAccess):
    def __init__(self) -> None: ...

class CupyAccess(ArrayAccess):
    def __init__(self, kind: type, current_device: Callable[[], int]) -> None: ...

class TorchAccess(ArrayAccess):
    def __init__(
        self,
        kind: type,
        records: Callable[[], bool],
        transforms: tuple[Callable[[], Any], ...],
        casts: Callable[[], bool],
    ) -> None: ...

def register(kind: type, access: ArrayAccess) -> None: ...
def has_access(kind: type) -> bool: ...
