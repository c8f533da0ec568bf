# cupola/arrays/gemm_call.pyi - a product of matrices by cuBLAS.
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from cupola.array import Array

class GemmCall:
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    def __init__(
        self,
        functions: tuple[int, int],
        handle: int,
        lock: AbstractContextManager[Any],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        one: bytes,
        zero: bytes,
        numbers: tuple[int, ...],
    ) -> None: ...
    def queue(self, x1: Array, x2: Array, out: Array) -> None: ...
