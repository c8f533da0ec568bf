# cupola/distributed/spilling.py - a worker's values on the device, on the host and on disk.
"""Spills the values of a worker from the device to the host, and from there to disk."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, MutableMapping
from typing import Any, NamedTuple

import dask
import zict
from dask.utils import parse_bytes
from distributed.spill import SpillBuffer

import cupola
from cupola.device import is_cpu
from cupola.distributed.host_copy import HostCopy, device_bytes
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

_logger = logging.getLogger("distributed.worker.memory")


class SpillStatistics(NamedTuple):
    """Numbers of values and their bytes, as `DeviceSpillBuffer.statistics` returns them."""

    on_device: int
    device_bytes: int
    on_host: int
    disk_bytes: int
    spilled: int
    spilled_bytes: int
    restored: int
    restored_bytes: int


def limit_in_bytes(limit: Any) -> int:
    """A limit of the current device's memory: a fraction of it, bytes, or a text such as "4GiB"."""
    if isinstance(limit, bool) or not isinstance(limit, (int, float, str)):
        raise ArgumentTypeError(
            f"device_memory_limit= is a fraction, a number of bytes, or a text such as '4GiB', "
            f"got {limit!r}"
        )
    if isinstance(limit, str):
        limit = parse_bytes(limit)
    elif isinstance(limit, float) and 0 < limit <= 1:
        limit = int(limit * cupola.memory_info().total)
    if limit < 1:
        raise ArgumentValueError(
            f"device_memory_limit= is a fraction above 0, or at least 1 byte, got {limit!r}"
        )
    return int(limit)


class DeviceSpillBuffer(MutableMapping[Any, Any]):
    """The values of a worker: the ``data=`` of `distributed.Worker`.

    Values with device arrays stay on the device until their memory exceeds a limit. Then those
    that were not used for the longest time are copied to the host. They come back when they are
    used. Values on the host go to disk as in `distributed`, beyond its fraction ``target`` of the
    memory limit.

    Parameters
    ----------
    worker_local_directory : str
        The worker's folder, for files; `distributed` passes it.
    device_memory_limit : float, int or str
        A fraction of the device's memory, bytes, or a text such as ``"4GiB"``.
    memory_limit : int, optional
        Bytes of host memory of the worker; without it, nothing goes to disk.

    Notes
    -----
    Arrays count where they are values, or elements of lists, tuples, sets and dicts. Arrays inside
    of other objects are not spilled. A view counts the memory that it keeps alive. Memory is free
    after its last reference, so a value that a task uses is freed behind the task.
    """

    def __init__(
        self,
        worker_local_directory: str = "",
        device_memory_limit: float | int | str = 0.8,
        memory_limit: int | None = None,
    ) -> None:
        target = dask.config.get("distributed.worker.memory.target")
        self._host: Any = {}
        if memory_limit and target:
            folder = os.path.join(worker_local_directory, "storage")
            max_spill = dask.config.get("distributed.worker.memory.max-spill")
            self._host = SpillBuffer(
                folder,
                target=int(memory_limit * target),
                max_spill=parse_bytes(max_spill) if max_spill else False,
            )
        self._device = zict.Buffer(
            {},
            zict.Func(self._to_host, self._to_device, self._host),
            n=limit_in_bytes(device_memory_limit),
            weight=lambda _, value: device_bytes(value),
        )
        self._without_arrays: set[Any] = set()
        self._mutex = threading.Lock()
        self._counts = [0, 0, 0, 0]

    def _count(self, index: int, nbytes: int) -> None:
        with self._mutex:
            self._counts[index] += 1
            self._counts[index + 1] += nbytes

    def _to_host(self, value: Any) -> HostCopy:
        copy = HostCopy.of(value)
        self._count(0, copy.nbytes)
        return copy

    def _to_device(self, copy: HostCopy) -> Any:
        self._count(2, copy.nbytes)
        return copy.restore()

    @property
    def device_memory_limit(self) -> int:
        """The limit, in bytes."""
        return int(self._device.n)

    def __setitem__(self, key: Any, value: Any) -> None:
        if device_bytes(value):
            if key in self._without_arrays:
                del self[key]
            self._device[key] = value
        else:
            if key in self:
                del self[key]
            self._without_arrays.add(key)
            self._host[key] = value

    def __getitem__(self, key: Any) -> Any:
        return self._host[key] if key in self._without_arrays else self._device[key]

    def __delitem__(self, key: Any) -> None:
        if key in self._without_arrays:
            self._without_arrays.remove(key)
            del self._host[key]
        else:
            del self._device[key]

    def __contains__(self, key: object) -> bool:
        return key in self._device  # whose slow part is the host's

    def __iter__(self) -> Iterator[Any]:
        return iter(self._device)

    def __len__(self) -> int:
        return len(self._device)

    @property
    def fast(self) -> Any:
        """The values that `evict` can move, for the memory monitor of the worker."""
        host = self._host.fast if isinstance(self._host, SpillBuffer) else ()
        # The CPU device's memory is memory of this process.
        return host or (self._device.fast if is_cpu(cupola.Device().index) else ())

    def evict(self) -> int:
        """Move one value out of host memory; its bytes, or -1 where that failed.

        On the CPU device, whose memory is host memory, a value on the device goes to the host's
        part, and from there to disk.
        """
        if isinstance(self._host, SpillBuffer) and self._host.fast:
            return self._host.evict()
        return self.spill(1)

    def spill(self, count: int | None = None) -> int:
        """Copy values from the device to the host, the least recently used first.

        Parameters
        ----------
        count : int, optional
            By default all values.

        Returns
        -------
        int
            The bytes of device memory that they kept alive. A failed copy is logged and ends the
            call; it is -1 then where `count` is 1.
        """
        released = 0
        left = len(self._device.fast) if count is None else count
        while left > 0 and self._device.fast:
            try:
                _, _, nbytes = self._device.fast.evict()
            except KeyError:  # another thread moved the last value
                break
            except Exception:  # zict keeps the value on the device; callers of evict() rely on -1
                _logger.error("a value of the device can't be copied to the host", exc_info=True)
                return -1 if count == 1 else released
            released += int(nbytes)
            left -= 1
        return released

    def statistics(self) -> SpillStatistics:
        """How many values are where, and how many were moved.

        Returns
        -------
        SpillStatistics
            A named tuple: on_device, device_bytes, on_host, disk_bytes, spilled, spilled_bytes,
            restored, restored_bytes.
        """
        disk = self._host.spilled_total.disk if isinstance(self._host, SpillBuffer) else 0
        with self._mutex:
            counts = list(self._counts)
        return SpillStatistics(
            len(self._device.fast), int(self._device.fast.total_weight), len(self._host), disk,
            *counts,
        )  # fmt: skip
