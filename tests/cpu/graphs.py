"""A graph of the driver ABI, and the parameter structures of its nodes."""

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

from driver_abi import *

KERNEL, COPY, FILL, HOST, CHILD, EMPTY, WAIT, RECORD = range(8)


class KernelParams(ctypes.Structure):
    _fields_ = (
        [("func", c_void_p)]
        + [(name, c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")]
        + [("params", ctypes.POINTER(c_void_p)), ("extra", c_void_p)]
        + [("kern", c_void_p), ("ctx", c_void_p)]
    )


class FillParams(ctypes.Structure):
    _fields_ = [("dst", c_uint64), ("pitch", c_size_t), ("value", c_uint)] + [
        ("element", c_uint),
        ("width", c_size_t),
        ("height", c_size_t),
    ]


class HostParams(ctypes.Structure):
    _fields_ = [("fn", c_void_p), ("data", c_void_p)]


class CopyParams(ctypes.Structure):
    _fields_ = [
        field
        for side in ("src", "dst")
        for field in [
            *((side + name, c_size_t) for name in ("X", "Y", "Z", "LOD")),
            (side + "Type", c_int),
            (side + "Host", c_void_p),
            (side + "Device", c_uint64),
            (side + "Array", c_void_p),
            (side + "Reserved", c_void_p),
            (side + "Pitch", c_size_t),
            (side + "Height", c_size_t),
        ]
    ] + [("width", c_size_t), ("height", c_size_t), ("depth", c_size_t)]


def kernel_params(function, grid, block, *arguments):
    pointers = (c_void_p * max(1, len(arguments)))(
        *(ctypes.addressof(argument) for argument in arguments)
    )
    made = KernelParams(function, grid, 1, 1, block, 1, 1, 0, pointers)
    made.kept = arguments, pointers
    return made


def line(dst, src, width):
    return CopyParams(
        srcType=2, srcDevice=src, dstType=2, dstDevice=dst, width=width, height=1, depth=1
    )


class Graph:
    """A graph with its nodes added by name."""

    def __init__(self, cuda, kernel):
        self.cuda, self.kernel, self.kept = cuda, kernel, []
        self.context = c_void_p()
        cuda.cuCtxGetCurrent(byref(self.context))
        handle = c_void_p()
        cuda.cuGraphCreate(byref(handle), 0)
        self.handle = handle.value

    def node(self, call, *parameters, after=()):
        node, before = c_void_p(), (c_void_p * max(1, len(after)))(*after)
        getattr(self.cuda, call)(byref(node), self.handle, before, len(after), *parameters)
        return node.value

    def launch(self, name, grid, block, *arguments, after=()):
        parameters = kernel_params(self.kernel(name), grid, block, *arguments)
        return self.node("cuGraphAddKernelNode_v2", byref(parameters), after=after)

    def fill(self, dst, value, count, after=()):
        parameters = FillParams(dst, 0, value, 4, count, 1)
        return self.node("cuGraphAddMemsetNode", byref(parameters), self.context, after=after)

    def copy(self, dst, src, width, after=()):
        parameters = line(dst, src, width)
        return self.node("cuGraphAddMemcpyNode", byref(parameters), self.context, after=after)

    def host(self, function, data, after=()):
        call = HostFunction(function)
        self.kept.append(call)
        parameters = HostParams(ctypes.cast(call, c_void_p), data)
        return self.node("cuGraphAddHostNode", byref(parameters), after=after)

    def instantiate(self):
        made = c_void_p()
        self.cuda.cuGraphInstantiateWithFlags(byref(made), self.handle, 0)
        return made.value

    def nodes(self, call="cuGraphGetNodes"):
        count = c_size_t()
        getattr(self.cuda, call)(self.handle, c_void_p(), byref(count))
        found = (c_void_p * (count.value + 2))()
        count.value += 2
        getattr(self.cuda, call)(self.handle, found, byref(count))
        return list(found)[: count.value]

    def edges(self):
        count = c_size_t()
        self.cuda.cuGraphGetEdges(self.handle, c_void_p(), c_void_p(), byref(count))
        if not count.value:
            return set()
        start, end = (c_void_p * count.value)(), (c_void_p * count.value)()
        self.cuda.cuGraphGetEdges(self.handle, start, end, byref(count))
        return set(zip(start, end, strict=True))
