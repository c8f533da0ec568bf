"""Producers of DLPack tensors, built field by field with ctypes."""

import ctypes

import numpy as np
import pytest

import cupola

KINDS = {"cpu": 1, "cuda": 2}
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    pass


class Versioned(ctypes.Structure):
    pass


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Managed._fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]
Versioned._fields_ = [
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("context", ctypes.c_void_p),
    ("deleter", Deleter),
    ("flags", ctypes.c_uint64),
    ("tensor", Tensor),
]


def integers(values):
    return None if values is None else (ctypes.c_int64 * max(1, len(values)))(*values)


# Structures and their deleters, which live as long as the process, like those of a library.
KEPT = []


class Producer:
    """Exports device memory as another library does, with fields of the test's choice."""

    def __init__(self, array, *, versioned=False, name=None, flags=0, version=(1, 0), **changes):
        self.array, self.counts, self.streams = array, [0], []
        kind = KINDS[cupola.driver.info().kind]
        self.device = (changes.get("device_type", kind), changes.get("device_id", 0))
        strides = changes.pop("strides", [s // array.itemsize for s in array.strides])
        self.keep = integers(changes.pop("shape", array.shape)), integers(strides)
        tensor = Tensor(array.address, kind, 0, array.ndim, 2, 8 * array.itemsize, 1)
        tensor.shape = ctypes.cast(self.keep[0], ctypes.POINTER(ctypes.c_int64))
        if self.keep[1] is not None:
            tensor.strides = ctypes.cast(self.keep[1], ctypes.POINTER(ctypes.c_int64))
        for field, value in changes.items():
            setattr(tensor, field, value)
        counts = self.counts

        def delete(_):
            counts[0] += 1

        self.deleter = Deleter(delete)
        if versioned:
            self.managed = Versioned(*version, None, self.deleter, flags, tensor)
        else:
            self.managed = Managed(tensor, None, self.deleter)
        KEPT.append((self.managed, self.keep, self.deleter))
        self.name = name or (b"dltensor_versioned" if versioned else b"dltensor")

    @property
    def deleted(self):
        return self.counts[0]

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        return new_capsule(ctypes.addressof(self.managed), self.name, None)


class Old(Producer):
    """Exports like a library from before DLPack 1.0."""

    def __dlpack__(self, *, stream=None):
        return super().__dlpack__(stream=stream)


@pytest.fixture
def array(driver):
    return cupola.to_device(np.arange(24, dtype=np.float32).reshape(4, 6))
