# cupola/pycuda/_pools.py - memory pools: blocks of like sizes are used again.
"""Memory pools of ``pycuda.tools``."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from cupola.pycuda._errors import LogicError, MemoryError
from cupola.pycuda._host_memory import array_over, bytes_of, pagelocked_empty
from cupola.pycuda._memory import PointerHolderBase, mem_alloc

_MANTISSA = 2  # bits: a bin has sizes between a quarter of a power of two and the next quarter


def bitlog2(x):
    """The largest n with 2**n <= x."""
    return max(int(x).bit_length() - 1, 0)


class _Pool:
    """Free blocks by bins, each of which has blocks of one size."""

    def __init__(self) -> None:
        self._bins: dict[int, list[Any]] = {}
        self._lock = threading.Lock()
        self._holds = True
        self.held_blocks = self.active_blocks = 0
        self.managed_bytes = self.active_bytes = 0

    @staticmethod
    def bin_number(size):
        """The bin of a size in bytes."""
        exponent = bitlog2(size)
        shift = exponent - _MANTISSA
        top = size >> shift if shift >= 0 else size << -shift
        return exponent << _MANTISSA | top & ((1 << _MANTISSA) - 1)

    @staticmethod
    def alloc_size(bin_nr):
        """The size in bytes of a bin's blocks, its largest."""
        exponent, low = bin_nr >> _MANTISSA, bin_nr & ((1 << _MANTISSA) - 1)
        top = (1 << _MANTISSA) + low
        shift = exponent - _MANTISSA
        return ((top + 1) << shift) - 1 if shift >= 0 else top >> -shift

    def _make(self, size: int) -> Any:
        raise NotImplementedError

    def _take(self, size: int) -> tuple[int, Any]:
        """A bin's number and one of its blocks."""
        number = self.bin_number(size)
        with self._lock:
            free = self._bins.get(number)
            block = free.pop() if free else None
            self.held_blocks -= block is not None
        if block is None:
            try:
                block = self._make(self.alloc_size(number))
            except MemoryError:
                self.free_held()
                block = self._make(self.alloc_size(number))
            self.managed_bytes += self.alloc_size(number)
        self.active_blocks += 1
        self.active_bytes += size
        return number, block

    def _give(self, number: int, block: Any, size: int) -> None:
        self.active_blocks -= 1
        self.active_bytes -= size
        with self._lock:
            if self._holds:
                self._bins.setdefault(number, []).append(block)
                self.held_blocks += 1
                return
        self.managed_bytes -= self.alloc_size(number)

    def free_held(self):
        """Free all blocks that are not in use."""
        with self._lock:
            for number, blocks in self._bins.items():
                self.managed_bytes -= self.alloc_size(number) * len(blocks)
                self.held_blocks -= len(blocks)
            self._bins.clear()

    def stop_holding(self):
        """Free blocks from now on as soon as they are not in use."""
        self._holds = False
        self.free_held()


class PooledDeviceAllocation(PointerHolderBase):
    """Device memory of a pool, which takes it back with the last reference."""

    def __init__(self, pool: DeviceMemoryPool, size: int) -> None:
        self._pool, self._size = None, size
        self._bin, self._block = pool._take(size)
        self._pool = pool

    def get_pointer(self):
        """The address."""
        return int(self._block)

    def __len__(self):
        return self._size

    def free(self):
        """Give the memory back to the pool now."""
        if self._pool is None:
            raise LogicError("this memory was given back already")
        pool, block = self._pool, self._block
        self._pool = self._block = None
        pool._give(self._bin, block, self._size)

    def __del__(self):
        if self._pool is not None:
            self.free()


class DeviceMemoryPool(_Pool):
    """A pool of device memory."""

    def _make(self, size):
        return mem_alloc(size)

    def allocate(self, size):
        """Memory of at least `size` bytes."""
        return PooledDeviceAllocation(self, int(size))


class PageLockedAllocator:
    """The flags of a pool's page-locked memory."""

    def __init__(self, flags=0):
        self._flags = flags


class PooledHostAllocation:
    """Page-locked memory of a pool, which takes it back with the last reference."""

    def __init__(self, pool: PageLockedMemoryPool, size: int) -> None:
        self._pool, self._size = None, size
        self._bin, self._block = pool._take(size)
        self._pool = pool

    def __len__(self):
        return self._size

    def free(self):
        """Give the memory back to the pool now."""
        pool, block = self._pool, self._block
        self._pool = self._block = None
        if pool is None:
            raise LogicError("this memory was given back already")
        pool._give(self._bin, block, self._size)

    def __del__(self):
        if self._pool is not None:
            self.free()


class PageLockedMemoryPool(_Pool):
    """A pool of page-locked host memory."""

    def __init__(self, allocator=None):
        super().__init__()
        self._flags = 0 if allocator is None else allocator._flags

    def _make(self, size):
        return pagelocked_empty(size, np.uint8, mem_flags=self._flags)

    def allocate(self, shape, dtype, order="C"):
        """A host array whose `base` is the `PooledHostAllocation`."""
        size = bytes_of(shape, dtype)
        owner = PooledHostAllocation(self, max(size, 1))
        return array_over(owner, owner._block.__array_interface__["data"][0], shape, dtype, order)
