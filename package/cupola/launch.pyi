# cupola/launch.pyi - prepared launches.
from typing import Any, SupportsIndex

from cupola.kernel import Kernel, _Axes
from cupola.stream import Stream, _StreamProtocol

class PreparedLaunch:
    def __init__(
        self,
        kernel: Kernel,
        grid: _Axes,
        block: _Axes | None,
        args: tuple[Any, ...],
        *,
        stream: _StreamProtocol | None = None,
        shared: SupportsIndex = 0,
        cluster: _Axes | None = None,
        cooperative: bool = False,
        programmatic_dependent_launch: bool = False,
        priority: SupportsIndex | None = None,
        carveout: SupportsIndex | None = None,
    ) -> None: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def stream(self) -> Stream | None: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    @property
    def shared(self) -> int: ...
    def __call__(self, *, stream: _StreamProtocol | None = None) -> None: ...
    def __setitem__(self, index: SupportsIndex | str, value: Any, /) -> None: ...
    def __getitem__(self, index: SupportsIndex | str, /) -> Any: ...
    def __len__(self) -> int: ...

Launch = PreparedLaunch
