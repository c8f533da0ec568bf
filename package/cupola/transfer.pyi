# cupola/transfer.pyi - host arrays as kernel arguments.
from typing import Any

import numpy.typing as npt
from typing_extensions import Buffer

class Transfer:
    @property
    def array(self) -> npt.NDArray[Any]: ...

class In(Transfer):
    def __init__(self, array: npt.ArrayLike) -> None: ...

class Out(Transfer):
    def __init__(self, array: npt.NDArray[Any] | Buffer) -> None: ...

class InOut(Transfer):
    def __init__(self, array: npt.NDArray[Any] | Buffer) -> None: ...
