# cupola/pycuda/_contexts.py - devices, and the stack of contexts of each thread.
"""Devices and contexts.

cupola works in primary contexts. So every context of a device is its primary context, and a
`Context` is an entry of the stack that PyCUDA's programs push and pop.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import cupola
from cupola.pycuda import _calls
from cupola.pycuda._constants import (
    ctx_flags,
    device_attribute,
    func_cache,
    limit,
    shared_config,
)
from cupola.pycuda._errors import LogicError, translated

_state = {"initialized": False}


class _Stack(threading.local):
    def __init__(self):
        self.entries: list[Context] = []


_stack = _Stack()


def init(flags=0):
    """Load and initialize the driver."""
    with translated():
        cupola.driver.info()
    _state["initialized"] = True


def require_initialized():
    if not _state["initialized"]:
        raise LogicError("cuDeviceGet failed: initialization error: call pycuda.driver.init()")


def get_version():
    """The version of CUDA, as a tuple: that of the driver, since nothing was compiled."""
    version = get_driver_version()
    return version // 1000, version % 1000 // 10, 0


def get_driver_version():
    """The version of the CUDA driver, as in 13000."""
    with translated():
        return cupola.driver.info().version


class Device:
    """A device by its number or its PCI bus ID."""

    def __init__(self, number):
        require_initialized()
        if isinstance(number, str):
            number = _calls.value(
                ctypes.c_int, "cuDeviceGetByPCIBusId", ctypes.c_char_p(number.encode())
            )
        with translated():
            self._device = cupola.Device(number)
        self._number = self._device.index

    @staticmethod
    def count():
        """The number of devices."""
        require_initialized()
        with translated():
            return len(cupola.devices())

    def name(self):
        """The device's name."""
        return self._device.name

    def pci_bus_id(self):
        """The PCI bus ID as a text."""
        out = ctypes.create_string_buffer(64)
        _calls.call("cuDeviceGetPCIBusId", out, 64, self._number)
        return out.value.decode()

    def compute_capability(self):
        """Major and minor number."""
        return self._device.compute_capability

    def total_memory(self):
        """Bytes of memory."""
        return _calls.value(ctypes.c_size_t, "cuDeviceTotalMem_v2", self._number)

    def get_attribute(self, attr):
        """The value of a `device_attribute`."""
        with translated():
            return self._device.attribute(int(attr))

    def get_attributes(self):
        """All attributes that the driver has, as a dict."""
        found = {}
        for attribute in device_attribute:
            try:
                found[attribute] = self.get_attribute(attribute)
            except LogicError:  # a newer driver's
                continue
        return found

    def __getattr__(self, name):
        attribute = device_attribute.__members__.get(name.upper())
        if attribute is None or not name.islower():
            raise AttributeError(f"pycuda.driver.Device has no attribute {name!r}")
        return self.get_attribute(attribute)

    def make_context(self, flags=ctx_flags.SCHED_AUTO):
        """Make a context and push it."""
        context = Context(self)
        context.push()
        return context

    def retain_primary_context(self):
        """The primary context; it is not pushed."""
        return Context(self)

    def can_access_peer(self, dev):
        """Whether kernels here can use memory of the other device."""
        return self._device.can_access(dev._number)

    def __eq__(self, other):
        return isinstance(other, Device) and self._number == other._number

    def __hash__(self):
        return hash(self._number)

    def __repr__(self):
        return f"<pycuda.driver.Device {self._number}: {self.name()}>"


class Context:
    """An entry for the stack of contexts; `Device.make_context` makes one."""

    def __init__(self, device):
        self._owner = device
        self._users = 1
        # The handle of a stream is not the handle of a context; stream 0 is the device's default
        # stream.
        self._legacy = cupola.Stream.legacy(device._device)
        self._legacy_handle = self._legacy.handle

    @staticmethod
    def get_current():
        """The context on top of this thread's stack, or None."""
        return _stack.entries[-1] if _stack.entries else None

    def attach(self, flags=0):
        """Add a user."""
        self._users += 1
        return self

    def detach(self):
        """Remove a user. Without users the context is invalid, and leaves the top of the stack."""
        if self._users == 0:
            raise LogicError("cannot detach from invalid context")
        self._users -= 1
        if self._users == 0 and _stack.entries and _stack.entries[-1] is self:
            Context.pop()

    def push(self):
        """Make this context current."""
        if self._users == 0:
            raise LogicError("cannot push an invalid context")
        self._owner._device.__enter__()
        _stack.entries.append(self)

    @staticmethod
    def pop():
        """Take the current context from the stack."""
        if not _stack.entries:
            raise LogicError("cannot pop non-current context")
        _stack.entries.pop()._owner._device.__exit__(None, None, None)

    @staticmethod
    def get_device():
        """The device of the current context."""
        return current()._owner

    @staticmethod
    def synchronize():
        """Wait for all work of the current context."""
        with translated():
            current()._owner._device.synchronize()

    @staticmethod
    def set_limit(what, value):
        """Set a `limit`."""
        current()
        _calls.call("cuCtxSetLimit", int(what), ctypes.c_size_t(value))

    @staticmethod
    def get_limit(what):
        """The value of a `limit`."""
        current()
        return _calls.value(ctypes.c_size_t, "cuCtxGetLimit", int(limit(what)))

    @staticmethod
    def set_cache_config(cc):
        """Set a `func_cache`."""
        current()
        _calls.call("cuCtxSetCacheConfig", int(cc))

    @staticmethod
    def get_cache_config():
        """The context's `func_cache`."""
        current()
        return func_cache(_calls.value(ctypes.c_int, "cuCtxGetCacheConfig"))

    @staticmethod
    def set_shared_config(sc):
        """Set a `shared_config`."""
        current()
        _calls.call("cuCtxSetSharedMemConfig", int(sc))

    @staticmethod
    def get_shared_config():
        """The context's `shared_config`."""
        current()
        return shared_config(_calls.value(ctypes.c_int, "cuCtxGetSharedMemConfig"))

    def get_api_version(self):
        """The version of the context's interface."""
        current()
        handle = ctypes.c_void_p(_calls.value(ctypes.c_void_p, "cuCtxGetCurrent"))
        version = ctypes.c_uint()
        _calls.call("cuCtxGetApiVersion", handle, ctypes.byref(version))
        return version.value

    @staticmethod
    def enable_peer_access(peer, flags=0):
        """Let kernels of the current context use memory of the other context's device."""
        with translated():
            current()._owner._device.enable_peer_access(peer._owner._number)

    @staticmethod
    def disable_peer_access(peer, flags=0):
        """Withdraw `enable_peer_access`."""
        with translated():
            current()._owner._device.disable_peer_access(peer._owner._number)


def per_device(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Keep the results of a function for each device and argument.

    Contexts of a device share modules, so a kernel that outlives its context stays usable.
    """
    known: dict[tuple[int, Any], Any] = {}

    def get(argument):
        key = current()._owner._number, argument
        if key not in known:
            known[key] = make(argument)
        return known[key]

    return get


def current() -> Context:
    """The current context.

    Raises
    ------
    LogicError
        Where this thread has none.
    """
    if not _stack.entries:
        raise LogicError(
            "explicit_context_dependent failed: invalid device context - no currently active "
            "context? Make one with Device.make_context(), or import pycuda.autoinit"
        )
    return _stack.entries[-1]
