# cupola/distributed/plugin.py - prepares cupola in the workers of any cluster.
"""The plugin that checks a worker's cupola, makes its errors name the worker, and lets a worker
restart whose device was lost.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from distributed import WorkerPlugin

import cupola
from cupola import abi, driver
from cupola.exceptions import DriverError, LibraryError
from cupola.memory import set_out_of_memory_handler
from cupola.version import __version__

_logger = logging.getLogger("distributed.worker")


def _installation(with_driver: bool) -> dict[str, str]:
    """The parts of this process's cupola that client and workers must share."""
    found = {"version": __version__, "build": abi.build_id()}
    if with_driver:
        info = driver.info()
        found["driver"] = f"{info.kind} {info.version}"
    return found


class DevicePlugin(WorkerPlugin):
    """Initializes cupola in each worker, for ``client.register_plugin(DevicePlugin())``.

    It compares the worker's cupola with that of the process that made the plugin: version, build,
    kind and version of the driver. It creates the device's context, so that the first task does
    not pay for it. Where the device is full, it spills what a `DeviceSpillBuffer` has there, and
    the allocation is tried once more. The error of a second failure names the worker.

    A fault of a kernel ends the context of the device, and each later task of that process would
    fail. So the worker closes, its nanny starts it again, and Dask computes its values again. A
    worker without a nanny logs that it must be started again.

    Parameters
    ----------
    same_driver : bool
        Whether the worker's driver must be of the client's kind and version. False where the
        client has no GPU and the workers have.

    Raises
    ------
    LibraryError
        By ``register_plugin``, where a worker has another cupola or driver. It names the worker,
        both values, and what to install.
    """

    name = "cupola-device"

    def __init__(self, same_driver: bool = True) -> None:
        self.is_set_up = False  # until setup, in the worker's process
        self.worker: Any = None
        self.expected = _installation(same_driver)

    def check(self, worker: str) -> None:
        """Raise an error where this process has another cupola than the client."""
        here = _installation("driver" in self.expected)
        remedies = {
            "version": f"install cupola=={self.expected['version']} in the worker's environment",
            "build": "install the same wheel of cupola in both environments",
            "driver": "set CUPOLA_DRIVER alike in both, or pass DevicePlugin(same_driver=False) "
            "where only the workers have a GPU",
        }
        for what, expected in self.expected.items():
            if here[what] != expected:
                raise LibraryError(
                    f"worker {worker}: cupola's {what} is {here[what]}, the client's is "
                    f"{expected}: {remedies[what]}"
                )

    def setup(self, worker: Any) -> None:
        """Check and prepare a worker; Dask calls it at the worker's start."""
        self.check(worker.address)
        cupola.Device().synchronize()  # creates the context
        self.previous = set_out_of_memory_handler(_Spiller(worker))
        self.worker, self.looking, self.is_set_up = worker, threading.Lock(), True

    def transition(self, key: Any, start: str, finish: str, **more: Any) -> None:
        """After a failed task, look whether the device is lost. The event loop does not wait."""
        if finish == "error" and self.is_set_up and self.looking.acquire(blocking=False):
            self.worker.loop.add_callback(self._look)

    async def _look(self) -> None:
        try:
            why = await self.worker.loop.asyncio_loop.run_in_executor(None, _lost)
        finally:
            self.looking.release()
        if not why:
            return
        if self.worker.nanny is None:
            _logger.error(
                "worker %s: its device is lost (%s), so that each task on it fails: it has no "
                "nanny that starts it again; start it again yourself", self.worker.address, why,
            )  # fmt: skip
            return
        _logger.error("worker %s: its device is lost (%s): it restarts", self.worker.address, why)
        await self.worker.close(nanny=False, executor_wait=False, reason="cupola-device-lost")

    def teardown(self, worker: Any) -> None:
        """Restore the handler of full devices; Dask calls it at the worker's end."""
        if self.is_set_up:
            set_out_of_memory_handler(self.previous)


def _lost() -> str:
    """The error of the device's context, which no call of this process can end; or ""."""
    try:
        cupola.Device().synchronize()
    except DriverError:
        try:  # the first call may return the error of a launch alone
            cupola.Device().synchronize()
        except DriverError as error:
            return str(error).splitlines()[0]
    return ""


class _Spiller:
    """The handler of full devices of one worker."""

    def __init__(self, worker: Any) -> None:
        self.address, self.data = worker.address, worker.data
        self.mutex = threading.Lock()

    def __call__(self, device: int, nbytes: int) -> str:
        released = 0
        # A thread that is spilling may fail to allocate: it must not start to spill again.
        if hasattr(self.data, "spill") and self.mutex.acquire(blocking=False):
            try:
                released = self.data.spill()
            finally:
                self.mutex.release()
        return (
            f"worker {self.address}: device {device} has no {nbytes} bytes, also after "
            f"{released} bytes of the worker's values were copied to the host: use smaller "
            "chunks, fewer threads per worker, or a lower device_memory_limit="
        )
