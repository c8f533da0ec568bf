# cupola/records.py - the named tuples which cupola answers with.
"""The named tuples which cupola answers with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np


class DriverInfo(NamedTuple):
    """The driver in use, and why it was taken."""

    kind: str
    """``"cuda"``: NVIDIA's library; ``"cpu"``: cupola's CPU device."""
    path: str
    """The file that was loaded."""
    version: int
    """The CUDA version it implements: 13000 is 13.0."""
    reason: str
    """One line: why this one was taken."""
    notice: str
    """A warning about one that was passed over, or an empty text."""


class Flags(NamedTuple):
    """How an array's elements lie, as NumPy says it."""

    c_contiguous: bool
    f_contiguous: bool
    writeable: bool


class MemoryInfo(NamedTuple):
    """A device's memory, in bytes."""

    free: int
    total: int


class Parameter(NamedTuple):
    """What is known about a kernel's parameter."""

    name: str
    """Empty where it is not known."""
    kind: str
    """``"pointer"``, ``"integer"``, ``"float"`` or ``"struct"``, several with "or"."""
    type: str
    """A pointer's element type, or a value's type, as C writes it; empty where not known."""
    offset: int
    """Where it lies in the argument buffer, in bytes."""
    size: int
    """Bytes."""
    dtype: np.dtype[Any] | None = None
    """Of a value, or of what a pointer leads to; None where it is not known."""
    const: bool = False
    """A pointer's elements are only read."""
    restrict: bool = False
    """They are reached by no other pointer of the launch that is written through."""

    def __str__(self) -> str:
        shown = self.type or self.kind
        if self.type and self.kind == "pointer":
            shown = f"{'const ' if self.const else ''}{shown}*"
        return f"{shown} {self.name}".rstrip()


class KernelSignature(NamedTuple):
    """What is known of a kernel's parameters, and from where; as text it is the declaration."""

    kernel: str
    parameters: tuple[Parameter, ...]
    known_by: str
    """The best source there is: ``"manifest"``, ``"compiler"`` (the kernel's C++ name, or NVRTC),
    ``"declaration"`` (`Kernel.declare`), or ``"image"``: sizes, and of PTX which are floats."""

    def __str__(self) -> str:
        return f"{self.kernel}({', '.join(map(str, self.parameters))})"


class KernelAttributes(NamedTuple):
    """What the driver says of a kernel; bytes and counts.

    ``registers``, ``local_bytes`` and ``const_bytes`` are those of a thread and of the image,
    ``shared_bytes`` is the static shared memory of a block, ``max_shared_bytes`` the dynamic
    shared memory that a launch may ask for now, ``ptx_version`` and ``binary_version`` are 10
    times the major number plus the minor one.
    """

    max_threads: int
    registers: int
    shared_bytes: int
    max_shared_bytes: int
    local_bytes: int
    const_bytes: int
    ptx_version: int
    binary_version: int


class Operation(NamedTuple):
    """What a profile tells of one call; times in seconds since the profile began."""

    kind: str
    """``"launch"``, ``"graph"``, ``"copy to the device"``, ``"copy to the host"``,
    ``"copy on the device"``, ``"fill"``; without a device ``"wait"``, ``"host"``, ``"range"``."""
    name: str
    """A kernel's or a range's, or what was done."""
    device: int | None
    stream: int
    """The driver's handle; 0 and 1 are the default stream, 2 is each thread's own."""
    thread: int
    """The system's number of the thread that called."""
    call_begin: float
    call_end: float
    begin: float | None
    """On the device; None where nothing ran there, or its times are not known: it became part of
    a graph, or failed."""
    end: float | None
    bytes: int
    """Of copies and fills."""
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    shared: int | None
    """Bytes of dynamic shared memory; these three of launches."""
