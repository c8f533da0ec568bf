# cupola/launch_observer.pyi - the launches of the process, memory by address, packed launches.
from collections.abc import Callable
from typing import Any

import numpy as np

from cupola.core.result_types import ObservedLaunch
from cupola.kernel import Kernel

BEGINS: int
QUEUED: int
FAILED: int

def observe(function: Callable[[int, ObservedLaunch | None], None] | None) -> None: ...
def allocation(address: int, device: int) -> tuple[int, int] | None: ...
def read(address: int, nbytes: int, device: int) -> np.ndarray[Any, Any]: ...
def write(address: int, host: np.ndarray[Any, Any], device: int) -> None: ...
def launch(
    kernel: Kernel,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    shared: int,
    attributes: tuple[tuple[int, ...], int, int, int] | None,
    packed: bytes,
) -> None: ...
