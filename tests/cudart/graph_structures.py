"""Structures of the runtime API that several programs pass."""

import ctypes
from ctypes import c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p

from .memory_structures import Copy, Extent, Pitched
from .runtime import Dim3

# Nodes of graphs.


class KernelNodeParams(ctypes.Structure):
    """cudaKernelNodeParams."""

    _fields_ = [
        ("func", c_void_p),
        ("gridDim", Dim3),
        ("blockDim", Dim3),
        ("sharedMemBytes", c_uint),
        ("kernelParams", ctypes.POINTER(c_void_p)),
        ("extra", c_void_p),
    ]


class MemsetParams(ctypes.Structure):
    """cudaMemsetParams."""

    _fields_ = [
        ("dst", c_void_p),
        ("pitch", c_size_t),
        ("value", c_uint),
        ("elementSize", c_uint),
        ("width", c_size_t),
        ("height", c_size_t),
    ]


class HostNodeParams(ctypes.Structure):
    """cudaHostNodeParams."""

    _fields_ = [("fn", c_void_p), ("userData", c_void_p)]


class SemaphoreNodeParams(ctypes.Structure):
    """cudaExternalSemaphoreSignalNodeParams, cudaExternalSemaphoreWaitNodeParams."""

    _fields_ = [("extSemArray", c_void_p), ("paramsArray", c_void_p), ("numExtSems", c_uint)]


class MemAllocNodeParams(ctypes.Structure):
    """cudaMemAllocNodeParams, of which poolProps starts with the four integers."""

    _fields_ = [
        ("allocType", c_int),
        ("handleTypes", c_int),
        ("locationType", c_int),
        ("locationId", c_int),
        ("poolRest", c_ubyte * 72),
        ("accessDescs", c_void_p),
        ("accessDescCount", c_size_t),
        ("bytesize", c_size_t),
        ("dptr", c_void_p),
    ]


class MemcpyNodeParams(ctypes.Structure):
    """cudaMemcpyNodeParams."""

    _fields_ = [("flags", c_int), ("reserved", c_int * 3), ("copyParams", Copy)]


class ChildGraphNodeParams(ctypes.Structure):
    """cudaChildGraphNodeParams."""

    _fields_ = [("graph", c_void_p), ("ownership", c_int)]


class ConditionalNodeParams(ctypes.Structure):
    """cudaConditionalNodeParams."""

    _fields_ = [
        ("handle", c_uint64),
        ("type", c_int),
        ("size", c_uint),
        ("graphs", ctypes.POINTER(c_void_p)),
    ]


class _AnyNodeParams(ctypes.Union):
    _fields_ = [
        ("reserved1", c_uint64 * 29),
        ("kernel", KernelNodeParams),
        ("memcpy", MemcpyNodeParams),
        ("memset", MemsetParams),
        ("host", HostNodeParams),
        ("graph", ChildGraphNodeParams),
        ("event", c_void_p),
        ("semaphores", SemaphoreNodeParams),
        ("alloc", MemAllocNodeParams),
        ("free", c_void_p),
        ("conditional", ConditionalNodeParams),
    ]


class GraphNodeParams(ctypes.Structure):
    """cudaGraphNodeParams."""

    _anonymous_ = ("any",)
    _fields_ = [
        ("type", c_int),
        ("reserved0", c_int * 3),
        ("any", _AnyNodeParams),
        ("reserved2", c_uint64),
    ]


class GraphEdgeData(ctypes.Structure):
    """cudaGraphEdgeData."""

    _fields_ = [
        ("from_port", c_ubyte),
        ("to_port", c_ubyte),
        ("type", c_ubyte),
        ("reserved", c_ubyte * 5),
    ]


class GraphInstantiateParams(ctypes.Structure):
    """cudaGraphInstantiateParams."""

    _fields_ = [
        ("flags", c_uint64),
        ("uploadStream", c_void_p),
        ("errNode_out", c_void_p),
        ("result_out", c_int),
    ]


class GraphExecUpdateResultInfo(ctypes.Structure):
    """cudaGraphExecUpdateResultInfo."""

    _fields_ = [("result", c_int), ("errorNode", c_void_p), ("errorFromNode", c_void_p)]


assert ctypes.sizeof(MemAllocNodeParams) == 120
assert ctypes.sizeof(GraphNodeParams) == 256


def kernel_node(kernel, grid, block, arguments):
    """KernelNodeParams with ctypes values as arguments, which the result keeps."""
    pointers = (c_void_p * (len(arguments) + 1))(*[ctypes.addressof(a) for a in arguments])
    made = KernelNodeParams(kernel, Dim3(*grid), Dim3(*block), 0, pointers)
    made.kept = arguments, pointers
    return made


def copy_box(source, destination, extent, kind):
    """A Copy between two Pitched, or arrays as integers."""
    made = Copy(extent=Extent(*extent), kind=kind)
    if isinstance(source, Pitched):
        made.source = source
    else:
        made.from_array = source
    if isinstance(destination, Pitched):
        made.target = destination
    else:
        made.to_array = destination
    return made
