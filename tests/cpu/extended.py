"""cuLaunchKernelEx by ctypes: its configuration and attributes."""

import ctypes
from ctypes import byref, c_uint, c_void_p

COOPERATIVE_LAUNCH_TOO_LARGE, INVALID_CLUSTER_SIZE = 720, 912

(IGNORE, ACCESS_POLICY_WINDOW, COOPERATIVE, SYNCHRONIZATION_POLICY, CLUSTER_DIMENSION,
 CLUSTER_SCHEDULING_POLICY_PREFERENCE, PROGRAMMATIC_STREAM_SERIALIZATION, PROGRAMMATIC_EVENT,
 PRIORITY, MEM_SYNC_DOMAIN_MAP, MEM_SYNC_DOMAIN, PREFERRED_CLUSTER_DIMENSION,
 LAUNCH_COMPLETION_EVENT, DEVICE_UPDATABLE_KERNEL_NODE, PREFERRED_SHARED_MEMORY_CARVEOUT,
 _, NVLINK_UTIL_CENTRIC_SCHEDULING) = range(17)  # fmt: skip


class Attribute(ctypes.Structure):
    _fields_ = [("id", c_uint), ("pad", c_uint), ("value", c_uint * 16)]


class Config(ctypes.Structure):
    _fields_ = [
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("stream", c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", c_uint),
    ]


def attribute(which, *words):
    """Words are 32 bits each; `pointer` makes two of an address."""
    return Attribute(which, 0, (c_uint * 16)(*(w & 0xFFFFFFFF for w in words)))


def pointer(address):
    return address & 0xFFFFFFFF, address >> 32


def cluster(x, y=1, z=1):
    return attribute(CLUSTER_DIMENSION, x, y, z)


def config(grid, block, *attributes, shared=0, stream=0):
    grid, block = [(*(d if isinstance(d, tuple) else (d,)), 1, 1)[:3] for d in (grid, block)]
    array = (Attribute * max(1, len(attributes)))(*attributes)
    return Config(grid, block, shared, stream, array, len(attributes))


def launch_ex(cuda, function, grid, block, arguments, *attributes, name="cuLaunchKernelEx", **more):
    """The call's code."""
    pointers = (c_void_p * max(1, len(arguments)))(*(ctypes.addressof(a) for a in arguments))
    return cuda.code(
        name, byref(config(grid, block, *attributes, **more)), function, pointers, c_void_p()
    )
