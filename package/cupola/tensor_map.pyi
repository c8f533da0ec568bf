# cupola/tensor_map.pyi - descriptors by which kernels copy boxes of an array.
from collections.abc import Sequence
from typing import Literal

from cupola.array import Array, _Shape
from cupola.device import Device

class TensorMap:
    def __init__(
        self,
        array: Array,
        box: _Shape,
        *,
        steps: Sequence[int] | None = None,
        elements: str | None = None,
        swizzle: Literal[0, 32, 64, 128] = 0,
        promotion: Literal[0, 64, 128, 256] = 0,
        fill: Literal["zero", "nan"] = "zero",
    ) -> None: ...
    @property
    def array(self) -> Array: ...
    @property
    def box(self) -> tuple[int, ...]: ...
    @property
    def steps(self) -> tuple[int, ...]: ...
    @property
    def elements(self) -> str: ...
    @property
    def swizzle(self) -> int: ...
    @property
    def promotion(self) -> int: ...
    @property
    def fill(self) -> str: ...
    @property
    def device(self) -> Device: ...
    def __bytes__(self) -> bytes: ...
