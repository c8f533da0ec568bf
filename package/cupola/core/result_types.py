# cupola/core/result_types.py - the named tuples that describe drivers, kernels and arrays.
"""The named tuples that functions and properties of cupola return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np


class DriverInfo(NamedTuple):
    """The driver in use, and why it was chosen."""

    kind: str
    """``"cuda"``: NVIDIA's library; ``"cpu"``: cupola's CPU device."""
    path: str
    """The loaded file."""
    version: int
    """The CUDA version it implements: 13000 is 13.0."""
    reason: str
    """Why this driver was chosen, in one line."""
    notice: str
    """A warning about a rejected driver, or an empty text."""


class MemoryInfo(NamedTuple):
    """A device's memory, in bytes."""

    free: int
    total: int


class ObservedLaunch(NamedTuple):
    """A launch as the function of `cupola.launch_observer.observe` gets it."""

    image: Any
    """The ``cupola.module.Image`` of the kernel. None if it is cupola's own, or if C or C++ code
    has loaded it.
    """
    name: str
    """The kernel's name in the image."""
    title: str
    """The kernel's name in messages."""
    device: int
    """The index of the device."""
    grid: tuple[int, ...]
    """Blocks along x, y and z."""
    block: tuple[int, ...]
    """Threads per block along x, y and z."""
    shared: int
    """Bytes of dynamic shared memory per block."""
    attributes: tuple[tuple[int, ...], int, int, int] | None
    """Blocks of a cluster, and flags, priority and carve-out of ``cupola_attributes``; or None."""
    packed: bytes
    """All arguments, in the layout of the kernel's parameters."""
    stream: int
    """The driver's handle of the stream."""
    capturing: bool
    """Whether this process captures a stream, so that nothing can be waited for."""


class Parameter(NamedTuple):
    """A kernel's parameter, as far as it is known."""

    name: str
    """Empty where it is unknown."""
    kind: str
    """``"pointer"``, ``"integer"``, ``"float"`` or ``"struct"``, several with "or"."""
    type: str
    """The C type of a pointer's elements or of a value; empty where it is unknown."""
    offset: int
    """The parameter's offset in the argument buffer, in bytes."""
    size: int
    """The parameter's size, in bytes."""
    dtype: np.dtype[Any] | None = None
    """The dtype of a value, or of a pointer's target; None where it is unknown."""
    const: bool = False
    """A pointer's elements are only read."""
    restrict: bool = False
    """No other pointer of the launch writes to them."""

    def __str__(self) -> str:
        shown = self.type or self.kind
        if self.type and self.kind == "pointer":
            shown = f"{'const ' if self.const else ''}{shown}*"
        return f"{shown} {self.name}".rstrip()


class KernelSignature(NamedTuple):
    """A kernel's known parameters, and their source; as text it is the declaration."""

    kernel: str
    parameters: tuple[Parameter, ...]
    known_by: str
    """The best available source: ``"manifest"``, ``"compiler"`` (the C++ name, or NVRTC),
    ``"declaration"`` (`Kernel.declare`), or ``"image"``: sizes, and from PTX the kinds."""

    def __str__(self) -> str:
        return f"{self.kernel}({', '.join(map(str, self.parameters))})"


class KernelAttributes(NamedTuple):
    """The driver's attributes of a kernel: bytes and counts.

    ``registers`` and ``local_bytes`` are per thread, ``const_bytes`` is of the image.
    ``shared_bytes`` is the static shared memory of a block. ``max_shared_bytes`` is the dynamic
    shared memory that a launch may currently use. ``ptx_version`` and ``binary_version`` are 10
    times the major number plus the minor number.
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
    """A profile's record of one call; times are in seconds since the profile began."""

    kind: str
    """``"launch"``, ``"graph"``, ``"copy to the device"``, ``"copy to the host"``,
    ``"copy on the device"``, ``"fill"``; without a device ``"wait"``, ``"host"``, ``"range"``."""
    name: str
    """The name of a kernel, a range, or an activity."""
    device: int | None
    stream: int
    """The driver's handle; 0 and 1 are the legacy default stream, 2 the per-thread one."""
    thread: int
    """The system's number of the calling thread."""
    call_begin: float
    call_end: float
    begin: float | None
    """When the work on the device began; None where no work ran on a device, or where its times
    are unknown, because it became part of a graph or failed."""
    end: float | None
    """When the work on the device ended; None where `begin` is None."""
    bytes: int
    """Bytes of copies and fills."""
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    shared: int | None
    """Dynamic shared memory, in bytes; the last three fields are for launches."""
