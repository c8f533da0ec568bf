# cupola/distributed/sizeof.py - the size of a device array for Dask's scheduler.
"""Registers `dask.sizeof.sizeof` of arrays."""

from __future__ import annotations

from dask.sizeof import sizeof

from cupola.array import Array


def array_size(array: Array) -> int:
    """Bytes of memory that the array keeps alive: a view counts the whole allocation."""
    return array.memory_nbytes


def register() -> None:
    """Called by the entry point, at the first object of cupola."""
    sizeof.register(Array, array_size)
