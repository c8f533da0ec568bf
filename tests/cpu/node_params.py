"""A graph whose nodes are added by CUgraphNodeParams, the one structure for all kinds."""

import ctypes
import struct
from ctypes import byref, c_int, c_uint64, c_void_p

import pytest
from driver_abi import *

from .graphs import COPY, FILL, KERNEL, kernel_params

ALLOCATE, FREE = 10, 11
AUTO_FREE = 1
PRIORITY, COOPERATIVE = 8, 2


class Any(ctypes.Structure):
    _fields_ = [
        ("type", c_int),
        ("reserved", c_int * 3),
        ("data", ctypes.c_ubyte * 232),
        ("end", c_uint64),
    ]


assert ctypes.sizeof(Any) == 256


def params(kind, data=b""):
    made = Any(kind)
    ctypes.memmove(made.data, data, len(data))
    return made


PINNED, MANAGED = 1, 2


def allocation(size, device=0, kind=PINNED):
    return struct.pack("iiiiQQ56xQQQQ", kind, 0, 1, device, 0, 0, 0, 0, size, 0)


class Graph:
    def __init__(self, cuda):
        self.cuda, self.handle, self.kept = cuda, c_void_p(), []
        context = c_void_p()
        cuda.cuCtxGetCurrent(byref(context))
        self.context = context.value
        cuda.cuGraphCreate(byref(self.handle), 0)

    def add(self, kind, data=b"", after=()):
        """Returns the node, and its parameters after the call."""
        given, node = params(kind, data), c_void_p()
        before = (c_void_p * max(1, len(after)))(*after)
        self.cuda.cuGraphAddNode_v2(
            byref(node), self.handle, before, c_void_p(), len(after), byref(given)
        )
        return node.value, given

    def allocate(self, size, after=(), kind=PINNED):
        node, given = self.add(ALLOCATE, allocation(size, kind=kind), after)
        return node, struct.unpack_from("Q", bytes(given.data), 112)[0]

    def fill(self, address, value, count, after=()):
        return self.add(
            FILL, struct.pack("QQIIQQQ", address, 0, value, 4, count, 1, self.context), after
        )[0]

    def kernel(self, function, *arguments, after=()):
        made = kernel_params(function, 1, 32, *arguments)
        self.kept.append(made)
        return self.add(KERNEL, bytes(made), after)[0]

    def copy(self, to, source, size, after=(), host=False):
        """Copies device memory to the host or to the device."""
        side = "4QiiQQQQQQ"
        data = struct.pack(side, 0, 0, 0, 0, 2, 0, 0, source, 0, 0, 0, 0)
        place = (to, 0) if host else (0, to)
        data += struct.pack(side, 0, 0, 0, 0, 1 if host else 2, 0, *place, 0, 0, 0, 0)
        head = struct.pack("iiQ", 0, 0, self.context)
        return self.add(COPY, head + data + struct.pack("QQQ", size, 1, 1), after)[0]

    def ready(self, flags=0):
        made = c_void_p()
        self.cuda.cuGraphInstantiateWithFlags(byref(made), self.handle, flags)
        return made.value

    def run(self, flags=0):
        ready = self.ready(flags)
        self.cuda.cuGraphLaunch(ready, 0)
        self.cuda.cuCtxSynchronize()
        self.cuda.cuGraphExecDestroy(ready)


@pytest.fixture
def graph(cuda):
    made = Graph(cuda)
    yield made
    cuda.cuCtxSynchronize()
    cuda.cuGraphDestroy(made.handle)
