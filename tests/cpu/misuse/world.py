"""The objects that misuse cases need: a driver with a context, and handles made on first use."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable

from driver_abi import *

NULL = c_void_p()
CASES: dict[str, Callable[[World], int]] = {}


def out(kind=c_void_p):
    """Memory to which a call may write its result."""
    return byref((kind * 64)())


def packed(form, *values):
    data = struct.pack(form, *values)
    return ctypes.create_string_buffer(data, len(data))


class World:
    """The driver with a context, and the objects of the cases, made on first use."""

    def __init__(self):
        self.driver = Driver()
        self.code = self.driver.code
        self.context = self.driver.start().value

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        return functools.partial(self.code, name)

    def made(self, name, *arguments, kind=c_void_p):
        """The first output of a call, which must succeed."""
        result = kind()
        getattr(self.driver, name)(byref(result), *arguments)
        return result.value

    @functools.cached_property
    def memory(self):
        memory = self.driver.alloc(4096)
        self.driver.cuMemsetD8_v2(memory, 0, 4096)
        return memory

    @functools.cached_property
    def host(self):
        return self.driver.pinned(4096)

    @functools.cached_property
    def managed(self):
        return self.made("cuMemAllocManaged", 4096, 1)

    @functools.cached_property
    def pageable(self):
        self._pages = ctypes.create_string_buffer(1 << 16)
        return (ctypes.addressof(self._pages) + 4095) & ~4095

    @functools.cached_property
    def module(self):
        return self.driver.module()

    @functools.cached_property
    def library(self):
        return self.made("cuLibraryLoadData", PTX, NULL, NULL, 0, NULL, NULL, 0)

    @functools.cached_property
    def function(self):
        return self.driver.function(self.module, "empty")

    @functools.cached_property
    def stream(self):
        return self.driver.stream()

    @functools.cached_property
    def event(self):
        return self.driver.event()

    @functools.cached_property
    def untimed(self):
        return self.driver.event(2)

    @functools.cached_property
    def recorded(self):
        event = self.driver.event()
        self.driver.cuEventRecord(event, 0)
        self.driver.cuEventSynchronize(event)
        return event

    @functools.cached_property
    def pool(self):
        return self.made("cuMemPoolCreate", self.pool_properties())

    @functools.cached_property
    def default_pool(self):
        return self.made("cuDeviceGetDefaultMemPool", 0)

    def made_link(self):
        result = c_void_p()
        self.driver.cuLinkCreate_v2(0, NULL, NULL, byref(result))
        return result.value

    def graph(self, nodes=0):
        graph = self.made("cuGraphCreate", 0)
        for _ in range(nodes):
            self.driver.cuGraphAddEmptyNode(out(), graph, NULL, 0)
        return graph

    def node(self, graph):
        return self.made("cuGraphAddEmptyNode", graph, NULL, 0)

    def ready(self, graph):
        return self.made("cuGraphInstantiateWithFlags", graph, 0)

    def dead(self, what):
        """A handle of an object that was destroyed."""
        handle = getattr(self.driver, what)()
        destroy = {"stream": "cuStreamDestroy_v2", "event": "cuEventDestroy_v2"}.get(what)
        getattr(self.driver, destroy or "cuModuleUnload")(handle)
        return handle

    def without_context(self, call):
        """The call's code while no context is current."""
        self.driver.cuCtxSetCurrent(NULL)
        try:
            return call()
        finally:
            self.driver.cuCtxSetCurrent(self.context)

    def gone_context(self, call):
        """The call's code, given a context that was destroyed."""
        context = self.made("cuCtxCreate_v2", 0, 0)
        self.driver.cuCtxDestroy_v2(context)
        self.driver.cuCtxSetCurrent(self.context)
        try:
            return call(context)
        finally:
            self.driver.cuCtxSetCurrent(self.context)

    def capturing(self, call, mode=1):
        """The call's code while a stream is captured, given that stream."""
        stream = self.driver.stream()
        self.driver.cuStreamBeginCapture_v2(stream, mode)
        try:
            return call(stream)
        finally:
            self.code("cuStreamEndCapture", stream, out())

    # Structures. A location is a device (1, ordinal).

    @staticmethod
    def pool_properties(kind=1, handles=0, location=(1, 0), size=0):
        return packed("iiiiQQ56x", kind, handles, *location, 0, size)

    @staticmethod
    def piece(kind=1, handles=0, location=(1, 0)):
        return packed("iiiiQQ", kind, handles, *location, 0, 0)

    @staticmethod
    def access(location=(1, 0), flags=3):
        return packed("iii", *location, flags)

    @functools.cached_property
    def granularity(self):
        return self.made("cuMemGetAllocationGranularity", self.piece(), 0, kind=c_size_t)

    @functools.cached_property
    def handle(self):
        return self.made("cuMemCreate", self.granularity, self.piece(), 0, kind=c_uint64)

    @functools.cached_property
    def reserved(self):
        return self.made("cuMemAddressReserve", 4 * self.granularity, 0, 0, 0, kind=c_uint64)

    @functools.cached_property
    def mapped(self):
        """Reserved addresses for four pieces; the first is mapped, without access rights."""
        room = self.made("cuMemAddressReserve", 4 * self.granularity, 0, 0, 0, kind=c_uint64)
        self.driver.cuMemMap(room, self.granularity, 0, self.handle, 0)
        return room

    def kernel_node(self, function=None, grid=(1, 1, 1), block=(1, 1, 1)):
        function = self.function if function is None else function
        return packed("Q6IIxxxxQQQQ", function, *grid, *block, 0, 0, 0, 0, 0)

    def launch(
        self, function=None, grid=(1, 1, 1), block=(1, 1, 1), shared=0, stream=0, pointers=NULL
    ):
        function = self.function if function is None else function
        return self.cuLaunchKernel(function, *grid, *block, shared, stream, pointers, NULL)


def case(name):
    def keep(body):
        assert name not in CASES, name
        CASES[name] = body
        return body

    return keep


def cases(**rows):
    """Of a function's calls: what is wrong, in words, and the call."""
    for function, misuses in rows.items():
        for what, body in misuses.items():
            case(f"{function}: {what}")(body)
