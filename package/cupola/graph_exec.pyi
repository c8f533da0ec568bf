# cupola/graph_exec.pyi - executable graphs.
from typing import Any, SupportsIndex

from cupola.device import Device
from cupola.graph import Graph, Node
from cupola.kernel import Kernel, _Axes
from cupola.stream import _StreamProtocol

def instantiate(graph: Graph) -> GraphExec: ...

class GraphExec:
    @property
    def device_index(self) -> int: ...
    def __call__(self, stream: _StreamProtocol | None = None) -> None: ...
    def launch(self, stream: _StreamProtocol | None = None) -> None: ...
    def upload(self, stream: _StreamProtocol | None = None) -> None: ...
    def update(
        self,
        what: Node | Graph,
        *args: Any,
        kernel: Kernel | None = None,
        grid: _Axes | None = None,
        block: _Axes | None = None,
        shared: SupportsIndex | None = None,
    ) -> None: ...
    @property
    def handle(self) -> int: ...
    @property
    def device(self) -> Device: ...
