# cupola/kernel.pyi - kernels.
import inspect
from collections.abc import Sequence
from typing import Any, Generic, SupportsIndex, final

from typing_extensions import ParamSpec, Self

from cupola.core.result_types import KernelAttributes, KernelSignature, Parameter
from cupola.device import Device
from cupola.launch import PreparedLaunch
from cupola.module import Module
from cupola.stream import Stream, _StreamProtocol

_Axes = SupportsIndex | Sequence[SupportsIndex]
_P = ParamSpec("_P", default=...)  # the kernel's parameters, where a library's stub has them

@final
class Configured(Generic[_P]):
    @property
    def __signature__(self) -> inspect.Signature: ...
    @property
    def kernel(self) -> Kernel[_P]: ...
    @property
    def stream(self) -> Stream | None: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    @property
    def shared(self) -> int: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> None: ...

class Kernel(Generic[_P]):
    @property
    def __signature__(self) -> inspect.Signature: ...
    @property
    def module(self) -> Module: ...
    @property
    def device_index(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def demangled(self) -> str: ...
    @property
    def title(self) -> str: ...
    def __getitem__(
        self,
        key: SupportsIndex
        | tuple[_Axes]
        | tuple[_Axes, _Axes | None]
        | tuple[_Axes, _Axes | None, _StreamProtocol | None]
        | tuple[_Axes, _Axes | None, _StreamProtocol | None, SupportsIndex],
        /,
    ) -> Configured[_P]: ...
    def launch(
        self,
        grid: _Axes,
        block: _Axes | None,
        *args: Any,
        stream: _StreamProtocol | None = None,
        shared: SupportsIndex = 0,
        cluster: _Axes | None = None,
        cooperative: bool = False,
        programmatic_dependent_launch: bool = False,
        priority: SupportsIndex | None = None,
        carveout: SupportsIndex | None = None,
        **named: Any,
    ) -> None: ...
    def forall(
        self, n: _Axes, stream: _StreamProtocol | None = None, shared: SupportsIndex = 0
    ) -> Configured[_P]: ...
    def max_potential_block_size(self, shared: SupportsIndex = 0) -> int: ...
    def prepare(
        self,
        grid: _Axes,
        block: _Axes | None,
        *args: Any,
        stream: _StreamProtocol | None = None,
        shared: SupportsIndex = 0,
        cluster: _Axes | None = None,
        cooperative: bool = False,
        programmatic_dependent_launch: bool = False,
        priority: SupportsIndex | None = None,
        carveout: SupportsIndex | None = None,
        **named: Any,
    ) -> PreparedLaunch: ...
    @property
    def handle(self) -> int: ...
    @property
    def params(self) -> tuple[Parameter, ...]: ...
    def declare(self, parameters: str) -> Self: ...
    @property
    def signature(self) -> KernelSignature: ...
    def attribute(self, number: int) -> int: ...
    @property
    def attributes(self) -> KernelAttributes: ...
    @property
    def registers(self) -> int: ...
    @property
    def shared_bytes(self) -> int: ...
    @property
    def local_bytes(self) -> int: ...
    @property
    def max_threads(self) -> int: ...
    def occupancy(self, block: SupportsIndex, shared: SupportsIndex = 0) -> int: ...
    @property
    def device(self) -> Device: ...
