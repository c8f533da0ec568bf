# cupola/distributed/workers.py - a cluster on this machine with a device for each worker.
"""Workers in processes of their own, each of which sees one device."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

from distributed import LocalCluster
from distributed.worker_memory import parse_memory_limit

import cupola
from cupola import driver
from cupola.distributed.plugin import DevicePlugin
from cupola.distributed.spilling import DeviceSpillBuffer, limit_in_bytes
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

_logger = logging.getLogger("distributed.worker.memory")


def _chosen(devices: Any) -> list[int]:
    """The device of each worker."""
    count = len(cupola.devices())
    if devices is None:
        return list(range(count))
    if isinstance(devices, (str, bytes)) or not isinstance(devices, Sequence):
        raise ArgumentTypeError(
            f"devices= is a list of device numbers, one for each worker, got {devices!r}"
        )
    chosen = [cupola.Device(device).index for device in devices]
    if not chosen:
        raise ArgumentValueError("devices= names no device")
    return chosen


def worker_environment(device: int, workers: int) -> dict[str, str]:
    """The variables with which a worker's process sees one device.

    Parameters
    ----------
    device : int
        Its number in this process.
    workers : int
        Workers on this machine; they share the processors of the CPU device.
    """
    if driver.info().kind == "cpu":
        threads = os.environ.get("CUPOLA_CPU_THREADS")
        share = max(1, len(os.sched_getaffinity(0)) // workers)
        return {"CUPOLA_CPU_DEVICES": "1", "CUPOLA_CPU_THREADS": threads or str(share)}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [name.strip() for name in visible.split(",")] if visible else None
    return {"CUDA_VISIBLE_DEVICES": names[device] if names else str(device)}


class LocalDeviceCluster(LocalCluster):
    """A `distributed.LocalCluster` whose workers are processes with one device each.

    Parameters
    ----------
    devices : sequence of int or Device, optional
        The device of each worker; one may stand several times. By default one worker for each
        device. On the CPU device, ``CUPOLA_CPU_DEVICES`` sets their number.
    device_memory_limit : float, int or str
        Device memory of a worker's values before they are spilled to the host: a fraction of the
        device's memory, bytes, or a text such as ``"4GiB"``.
    threads_per_worker : int
        Tasks that a worker runs at once.
    memory_limit : int, float, str or None
        Host memory of a worker, as for `distributed.Worker`. Values go to disk beyond a part of
        it. On the CPU device, device memory is a part of it.
    asynchronous : bool
        As for `distributed.LocalCluster`.
    **options
        Further options of `distributed.LocalCluster`.

    Raises
    ------
    ArgumentError, UnknownNameError
        Where the limit is wrong, or there is no such device; no process was started.

    Notes
    -----
    Each worker process starts with ``CUDA_VISIBLE_DEVICES`` set to its device, which is device 0
    there. On the CPU device it starts with ``CUPOLA_CPU_DEVICES=1``. `DevicePlugin` and
    `DeviceSpillBuffer` are set up in each worker. `scale` takes the device with the fewest workers.
    """

    def __init__(
        self,
        devices: Sequence[Any] | None = None,
        *,
        device_memory_limit: float | int | str = 0.8,
        threads_per_worker: int = 1,
        memory_limit: Any = "auto",
        asynchronous: bool = False,
        **options: Any,
    ) -> None:
        for refused in ("n_workers", "processes", "data", "env"):
            if refused in options:
                raise ArgumentTypeError(
                    f"LocalDeviceCluster sets {refused}= itself; choose the workers with devices="
                )
        self._devices = _chosen(devices)
        self._places: dict[Any, int] = {}  # in the list of devices, by the workers' names
        limit_in_bytes(device_memory_limit)
        workers = len(self._devices)
        host_limit = parse_memory_limit(memory_limit, 1, workers, logger=_logger)
        spilling = {"device_memory_limit": device_memory_limit, "memory_limit": host_limit}
        super().__init__(
            n_workers=0,
            threads_per_worker=threads_per_worker,
            processes=True,
            memory_limit=host_limit,
            data=(DeviceSpillBuffer, spilling),
            plugins=(*options.pop("plugins", ()), DevicePlugin()),
            asynchronous=asynchronous,
            **options,
        )
        for _ in range(workers):
            self.worker_spec.update(self.new_worker_spec())
        if not asynchronous:
            self.sync(self._correct_state)

    def new_worker_spec(self) -> dict[Any, Any]:
        """The next worker, with the variables of its device."""
        ((name, spec),) = super().new_worker_spec().items()
        taken = [place for other, place in self._places.items() if other in self.worker_spec]
        place = min(range(len(self._devices)), key=taken.count)
        self._places[name] = place
        environment = worker_environment(self._devices[place], len(self._devices))
        return {name: {**spec, "options": {**spec["options"], "env": environment}}}
