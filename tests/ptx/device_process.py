"""Processes whose CPU device has another compute capability than that of the tests' own process."""

import functools
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

from . import recording
from .driver import Driver

VARIABLE = "CUPOLA_CPU_COMPUTE_CAPABILITY"


class DeviceProcess:
    """A process that runs functions of modules, one by one."""

    def __init__(self, capability):
        self.capability = capability
        self.pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))

    def run(self, function, *arguments):
        """The function's result. The first call starts the process."""
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = self.capability
        try:
            task = self.pool.submit(function, *arguments)
        finally:
            if before is None:
                del os.environ[VARIABLE]
            else:
                os.environ[VARIABLE] = before
        return task.result()


@functools.cache
def _started():
    return Driver()


def driver():
    """The driver of a DeviceProcess."""
    found = _started()
    found.seen = recording.Seen()
    return found
