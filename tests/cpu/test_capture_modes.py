"""Calls that a capture forbids and that invalidate it, by its mode, the thread and its mode.

The expected results are those of NVIDIA's driver 580 on an H100.
"""

import ctypes
import itertools
import threading
from ctypes import Structure, byref, c_int, c_size_t, c_ubyte, c_uint64, c_ushort, c_void_p

import pytest
from driver_abi import *

from .captures import ACTIVE, GLOBAL, RELAXED, THREAD_LOCAL, UNSUPPORTED, end, status

SIZE = 1 << 16


class Properties(Structure):
    _fields_ = [("allocation", c_int), ("handles", c_int), ("location", c_int), ("device", c_int),
                ("security", c_void_p), ("largest", c_size_t), ("usage", c_ushort),
                ("reserved", c_ubyte * 54)]  # fmt: skip


class World:
    """The objects that the calls need, made for each capture, and those that the calls leave."""

    def __init__(self, cuda):
        self.cuda, self.out, self.other = cuda, (c_uint64 * 4)(), cuda.stream(NON_BLOCKING)
        self.memory, self.event, self.late = cuda.alloc(SIZE), cuda.event(), []
        self.host = (c_ubyte * SIZE)()
        self.page = (c_ubyte * (3 * 4096))()
        self.module, self.pool = cuda.module(), c_void_p()
        self.graph, self.ready = c_void_p(), c_void_p()
        cuda.cuDeviceGetDefaultMemPool(byref(self.pool), 0)
        cuda.cuGraphCreate(byref(self.graph), 0)
        cuda.cuGraphInstantiateWithFlags(byref(self.ready), self.graph, 0)
        self.pooled, self.managed = c_uint64(), c_uint64()
        cuda.cuMemAllocFromPoolAsync(byref(self.pooled), SIZE, self.pool, self.other)
        cuda.cuMemAllocManaged(byref(self.managed), SIZE, 1)
        cuda.cuEventRecord(self.event, self.other)
        cuda.cuCtxSynchronize()

    def makes(self, name, *arguments, ends):
        """A call whose first argument is the address of its result."""
        made = c_uint64()
        code = self.cuda.code(name, byref(made), *arguments)
        if made.value and code == SUCCESS:
            self.late.append((ends, made.value))
        return code

    def ends(self, name, what, *arguments):
        """A call that destroys an object."""
        code = self.cuda.code(name, what, *arguments)
        if code == SUCCESS:
            what.value = 0
        return code

    def register(self):
        at = (ctypes.addressof(self.page) + 4095) // 4096 * 4096
        code = self.cuda.code("cuMemHostRegister_v2", at, 4096, 0)
        if code == SUCCESS:
            self.late.append(("cuMemHostUnregister", at))
        return code

    def close(self):
        for name, what in self.late:
            getattr(self.cuda, name)(what)
        self.cuda.cuCtxSynchronize()
        for name, what in (("cuGraphExecDestroy", self.ready), ("cuMemFree_v2", self.pooled)):
            if what.value:
                getattr(self.cuda, name)(what)
        self.cuda.cuGraphDestroy(self.graph)
        self.cuda.code("cuModuleUnload", self.module)
        self.cuda.cuMemFree_v2(self.managed)
        self.cuda.cuMemFree_v2(self.memory)
        self.cuda.cuEventDestroy_v2(self.event)
        self.cuda.cuStreamDestroy_v2(self.other)


FORBIDDEN = {
    "cuEventQuery": lambda w: w.cuda.code("cuEventQuery", w.event),
    "cuEventSynchronize": lambda w: w.cuda.code("cuEventSynchronize", w.event),
    "cuStreamQuery": lambda w: w.cuda.code("cuStreamQuery", w.other),
    "cuStreamSynchronize": lambda w: w.cuda.code("cuStreamSynchronize", w.other),
    "cuMemAlloc": lambda w: w.makes("cuMemAlloc_v2", SIZE, ends="cuMemFree_v2"),
    "cuMemHostAlloc": lambda w: w.makes("cuMemHostAlloc", SIZE, 0, ends="cuMemFreeHost"),
    "cuMemHostRegister": lambda w: w.register(),
    "cuMemAllocManaged": lambda w: w.makes("cuMemAllocManaged", SIZE, 1, ends="cuMemFree_v2"),
    "cuMemAllocFromPoolAsync": lambda w: w.makes(
        "cuMemAllocFromPoolAsync", SIZE, w.pool, w.other, ends="cuMemFree_v2"
    ),
    "cuMemFreeAsync": lambda w: w.ends("cuMemFreeAsync", w.pooled, w.other),
    "cuMemPoolTrimTo": lambda w: w.cuda.code("cuMemPoolTrimTo", w.pool, 0),
    "cuMemPoolGetAttribute": lambda w: w.cuda.code("cuMemPoolGetAttribute", w.pool, 5, w.out),
    "cuMemPoolCreate": lambda w: w.makes(
        "cuMemPoolCreate", byref(Properties(1, 0, 1, 0)), ends="cuMemPoolDestroy"
    ),
    "cuMemAdvise": lambda w: w.cuda.code("cuMemAdvise", w.managed, SIZE, 1, 0),
    "cuModuleUnload": lambda w: w.cuda.code("cuModuleUnload", w.module),
    "cuGraphInstantiate": lambda w: w.makes(
        "cuGraphInstantiateWithFlags", w.graph, 0, ends="cuGraphExecDestroy"
    ),
    "cuGraphExecDestroy": lambda w: w.ends("cuGraphExecDestroy", w.ready),
}
ALLOWED = {
    "cuEventRecord": lambda w: w.cuda.code("cuEventRecord", w.event, w.other),
    "cuEventCreate": lambda w: w.makes("cuEventCreate", 0, ends="cuEventDestroy_v2"),
    "cuStreamWaitEvent": lambda w: w.cuda.code("cuStreamWaitEvent", w.other, w.event, 0),
    "cuStreamCreate": lambda w: w.makes("cuStreamCreate", 1, ends="cuStreamDestroy_v2"),
    "cuMemcpyHtoDAsync": lambda w: w.cuda.code(
        "cuMemcpyHtoDAsync_v2", w.memory, w.host, SIZE, w.other
    ),
    "cuMemcpyDtoHAsync": lambda w: w.cuda.code(
        "cuMemcpyDtoHAsync_v2", w.host, w.memory, SIZE, w.other
    ),
    "cuMemsetD32Async": lambda w: w.cuda.code("cuMemsetD32Async", w.memory, 1, 16, w.other),
    "cuMemGetInfo": lambda w: w.cuda.code("cuMemGetInfo_v2", w.out, byref(w.out, 8)),
    "cuModuleLoadData": lambda w: w.makes("cuModuleLoadData", PTX, ends="cuModuleUnload"),
    "cuGraphCreate": lambda w: w.makes("cuGraphCreate", 0, ends="cuGraphDestroy"),
    "cuGraphUpload": lambda w: w.cuda.code("cuGraphUpload", w.ready, w.other),
    "cuGraphLaunch": lambda w: w.cuda.code("cuGraphLaunch", w.ready, w.other),
}


def forbids(mode, same, own):
    return own != RELAXED and ((same and mode != RELAXED) or (mode == GLOBAL and own == GLOBAL))


@pytest.fixture
def capturing(cuda):
    stream = cuda.stream(NON_BLOCKING)
    yield stream
    cuda.code("cuStreamEndCapture", stream, byref(c_void_p()))
    cuda.cuStreamDestroy_v2(stream)


@pytest.mark.parametrize("name", [*FORBIDDEN, *ALLOWED])
def test_what_a_capture_forbids(cuda, capturing, name):
    call = (FORBIDDEN | ALLOWED)[name]
    context = c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    modes = (GLOBAL, THREAD_LOCAL, RELAXED)
    for mode, same, own in itertools.product(modes, (True, False), modes):
        world, codes = World(cuda), []

        def work(world=world, codes=codes, own=own):
            cuda.cuCtxSetCurrent(context)
            now = c_int(own)
            cuda.cuThreadExchangeStreamCaptureMode(byref(now))
            codes.append(call(world))
            cuda.cuThreadExchangeStreamCaptureMode(byref(now))

        cuda.cuStreamBeginCapture_v2(capturing, mode)
        if same:
            work()
        else:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        left = status(cuda, capturing) == ACTIVE
        code, graph = end(cuda, capturing)
        if graph:
            cuda.cuGraphDestroy(graph)
        world.close()
        lost = name in FORBIDDEN and forbids(mode, same, own)
        found = (codes, left, code == SUCCESS)
        assert found == ([UNSUPPORTED if lost else SUCCESS], not lost, not lost), (mode, same, own)
