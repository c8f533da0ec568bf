# cupola/records.py - the named tuples which cupola answers with.
"""The named tuples which cupola answers with."""

from typing import NamedTuple


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
