# cupola/pycuda/tools.py - pycuda.tools: contexts, caches, pools, occupancy, C types.
"""Helpers of PyCUDA's programs."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np

import cupola.pycuda.driver as _drv
from cupola.pycuda._c_types import (
    DTYPE_TO_NAME,
    NAME_TO_DTYPE,
    Argument,
    ScalarArg,
    VectorArg,
    dtype_to_ctype,
    get_arg_type,
    get_or_register_dtype,
    parse_c_arg,
    register_dtype,
)
from cupola.pycuda._pools import (
    DeviceMemoryPool,
    PageLockedAllocator,
    PageLockedMemoryPool,
    PooledDeviceAllocation,
    PooledHostAllocation,
    bitlog2,
)


def _wanted_device():
    """The number in CUDA_DEVICE or in the file .cuda-device, or None."""
    if "CUDA_DEVICE" in os.environ:
        text, where = os.environ["CUDA_DEVICE"], "the environment variable CUDA_DEVICE"
    else:
        path = Path.home() / ".cuda-device"
        if not path.is_file():
            return None
        text, where = path.read_text().strip(), str(path)
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{where} is the number of a device, got {text!r}") from None


def get_default_device(default=0):
    """The device that CUDA_DEVICE or the file .cuda-device names, else `default`."""
    wanted = _wanted_device()
    return _drv.Device(default if wanted is None else wanted)


def make_default_context(ctx_maker=None):
    """A context of the wanted device, else of the first device that can have a context."""
    make = ctx_maker or (lambda device: device.make_context())
    count = _drv.Device.count()
    if count == 0:
        raise RuntimeError("no CUDA enabled device was found: see python -m cupola info")
    wanted = _wanted_device()
    if wanted is not None:
        return make(_drv.Device(wanted))
    failures = []
    for number in range(count):
        try:
            return make(_drv.Device(number))
        except _drv.Error as error:
            failures.append(f"device {number}: {error}")
    raise RuntimeError(f"no device gave a context: {'; '.join(failures)}")


context_dependent_memoized_functions = []


def context_dependent_memoize(func):
    """Keep a function's results for each context and arguments."""
    known: dict[object, dict[object, object]] = {}

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        context = _drv.Context.get_current()
        key = (args, frozenset(kwargs.items())) if kwargs else args
        results = known.setdefault(context, {})
        if key not in results:
            results[key] = func(*args, **kwargs)
        return results[key]

    wrapper._known = known
    context_dependent_memoized_functions.append(wrapper)
    return wrapper


def clear_context_caches():
    """Forget the results of all functions with `context_dependent_memoize`."""
    for function in context_dependent_memoized_functions:
        function._known.clear()


def mark_cuda_test(inner_f):
    """Run a pytest function in a context of its own, and mark it as cuda."""

    @functools.wraps(inner_f)
    def in_context(*args, **kwargs):
        for _ in init_cuda_context_fixture():
            inner_f(*args, **kwargs)

    try:
        from pytest import mark
    except ImportError:
        return in_context
    return mark.cuda(in_context)


def init_cuda_context_fixture():
    """A generator for pytest: a context before the test, which is gone after it."""
    _drv.init()
    context = make_default_context()
    try:
        yield context
    finally:
        context.pop()
        context.detach()
        clear_context_caches()


class DeviceData:
    """A device's sizes, for `OccupancyRecord`."""

    def __init__(self, dev=None):
        device = dev or _drv.Context.get_device()
        self.max_threads = device.max_threads_per_block
        self.warp_size = device.warp_size
        self.warps_per_mp = device.max_threads_per_multiprocessor // device.warp_size
        self.thread_blocks_per_mp = device.max_blocks_per_multiprocessor
        self.registers = device.max_registers_per_block
        self.shared_memory = device.max_shared_memory_per_block
        self.smem_granularity = device.warp_size  # threads of one access to shared memory
        self.smem_alloc_granularity = 128
        self.reg_alloc_granularity = 256

    def align_bytes(self, word_size=4):
        """The distance of addresses from which a warp's accesses of words are coalesced."""
        if word_size not in (4, 8, 16):
            raise ValueError(f"no alignment is known for words of {word_size} bytes")
        return word_size * 32

    def align(self, bytes, word_size=4):
        """Bytes, rounded up to `align_bytes`."""
        unit = self.align_bytes(word_size)
        return -(-bytes // unit) * unit

    def align_words(self, word_size):
        """`align_bytes` in words."""
        return self.align_bytes(word_size) // word_size

    def align_dtype(self, elements, dtype_size):
        """Elements, rounded up to an alignment."""
        unit = self.align_words(dtype_size)
        return -(-elements // unit) * unit

    def coalesce(self, thread_count):
        """Threads, rounded up to whole warps of an access."""
        unit = self.smem_granularity
        return -(-thread_count // unit) * unit

    @staticmethod
    def make_valid_tex_channel_count(size):
        """Channels, rounded up to 1, 2 or 4."""
        for known in (1, 2, 4):
            if size <= known:
                return known
        raise ValueError(f"a texture has at most 4 channels, got {size}")


class OccupancyRecord:
    """The occupancy of a kernel: blocks and warps on a multiprocessor.

    Attributes
    ----------
    tb_per_mp, warps_per_mp : int
    occupancy : float
    limited_by : str
        "device", "warps", "smem" or "regs".
    """

    def __init__(self, devdata, threads, shared_mem=0, registers=0):
        if threads > devdata.max_threads:
            raise ValueError(f"a block has at most {devdata.max_threads} threads, got {threads}")
        warps = -(-threads // devdata.warp_size)
        limits = [
            (devdata.thread_blocks_per_mp, "device"),
            (devdata.warps_per_mp // warps, "warps"),
        ]
        if registers:
            unit = devdata.reg_alloc_granularity
            each = -(-registers * devdata.warp_size // unit) * unit
            limits.append((devdata.registers // (each * warps), "regs"))
        if shared_mem:
            unit = devdata.smem_alloc_granularity
            limits.append((devdata.shared_memory // (-(-shared_mem // unit) * unit), "smem"))
        self.tb_per_mp, self.limited_by = min(limits, key=lambda limit: limit[0])
        self.warps_per_mp = self.tb_per_mp * warps
        self.occupancy = self.warps_per_mp / devdata.warps_per_mp


class DebugMemoryPool(DeviceMemoryPool):
    """A pool that writes each allocation to a file, or to standard output."""

    def __init__(self, interactive=False, logfile=None):
        super().__init__()
        self._logfile = logfile

    def allocate(self, size):
        """Memory of at least `size` bytes."""
        print(f"allocate {np.int64(size)} bytes", file=self._logfile)
        return super().allocate(size)
