# cupola/tuning/sm_clock.py - the clock at which a GPU runs.
"""Clocks, which NVML knows."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from cupola import driver
from cupola.device import Device, is_cpu

_NVML_SM = 1  # NVML_CLOCK_SM
_NVML_FUNCTIONS = (
    "nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetClockInfo",
)  # fmt: skip


def sm_clock(device: Device) -> int | None:
    """The current clock of a GPU's multiprocessors in MHz, which NVML knows; None without NVML."""
    nvml = None if is_cpu(device.index) else _nvml()
    if nvml is None:
        return None
    handle, found = ctypes.c_void_p(), ctypes.c_uint()
    if nvml.nvmlDeviceGetHandleByPciBusId_v2(_bus(device.index), ctypes.byref(handle)):
        return None
    failed = nvml.nvmlDeviceGetClockInfo(handle, _NVML_SM, ctypes.byref(found))
    return None if failed else found.value


@functools.cache
def _nvml() -> Any:
    """NVIDIA's management library, initialised; None where it is not installed, or too old."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if not all(hasattr(nvml, name) for name in _NVML_FUNCTIONS) or nvml.nvmlInit_v2():
            return None
    except OSError:
        return None
    return nvml


@functools.cache
def _bus(index: int) -> bytes:
    """The PCI address by which NVML knows a device: its order is another one than the driver's."""
    text, handle = ctypes.create_string_buffer(32), ctypes.c_int()
    native = ctypes.CDLL(driver.info().path)
    native.cuDeviceGet(ctypes.byref(handle), index)
    native.cuDeviceGetPCIBusId(text, len(text), handle)
    return text.value
