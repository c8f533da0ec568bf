"""DLPack tensors and capsules that are malformed: each is refused, none is read."""

import ctypes

import numpy as np
import pytest
from tensors import Managed, Producer, Versioned, array, integers
from working import refused

import cupola

__all__ = ["array"]

LIES = [
    (dict(name=b"used_dltensor"), "once"),
    (dict(name=b"nonsense"), "nonsense"),
    (dict(versioned=True, version=(2, 0)), "version 2.0"),
    (dict(versioned=True, version=(0, 8)), "version 0.8"),
    (dict(ndim=-1), "-1 axes"),
    (dict(ndim=65), "65 axes"),
    (dict(ndim=2**31 - 1), "axes"),
    (dict(shape=(-4, 6)), "negative"),
    (dict(shape=(2**62, 2**62)), "elements"),
    (dict(shape=(2**63 - 1, 1)), "elements"),
    (dict(strides=(2**62, 1)), "strides"),
    (dict(strides=(-(2**63), 1)), "strides"),
    # A negative stride whose bytes were divided as if they had no sign.
    (dict(ndim=1, shape=(2,), code=5, bits=128, strides=(2**60 - 1,)), f"{2**60 - 1} elements"),
    (dict(shape=(2**58, 4)), "elements"),
    (dict(data=None), "no memory"),
    (dict(byte_offset=2**64 - 1), "address space"),
    (dict(lanes=4), "lanes"),
    (dict(lanes=0), "lanes"),
    (dict(bits=0), "bits"),
    (dict(bits=4), "bits"),
    (dict(bits=24), "NumPy dtype"),
    (dict(bits=8), "NumPy dtype"),
    (dict(code=3), "NumPy dtype"),
    (dict(code=255), "NumPy dtype"),
    (dict(device_type=7), "device type 7"),
    (dict(device_type=-1), "device type -1"),
]


@pytest.mark.parametrize(("lie", "words"), LIES, ids=lambda value: str(value))
def test_a_malformed_tensor_is_refused(driver, array, lie, words):
    producer = Producer(array, **lie)
    with refused(cupola.ArgumentError, ValueError, saying=words):
        cupola.from_dlpack(producer)
    assert producer.deleted == 0  # its owner deletes a capsule that was refused
    kernel = cupola.shipped_kernels()["saxpy"]
    with refused(cupola.ArgumentError, TypeError, saying=("argument 1", words)):
        kernel[1, 32](1.0, Producer(array, **lie), array, array, 1)


def test_a_null_shape_is_refused(driver, array):
    producer = Producer(array)
    producer.managed.tensor.shape = None
    with refused(cupola.ArgumentError, ValueError, saying="no shape"):
        cupola.from_dlpack(producer)


@pytest.mark.parametrize("returned", [None, 5, "dltensor", object()])
def test_an_object_that_is_no_capsule_is_refused(driver, array, returned):
    class Wrong:
        def __dlpack_device__(self):
            return array.__dlpack_device__()

        def __dlpack__(self, **_):
            return returned

    with refused(cupola.ExchangeError, BufferError, saying="capsule"):
        cupola.from_dlpack(Wrong())


@pytest.mark.parametrize("said", [None, 5, (1,), ("a", 0), (1, None)])
def test_a_malformed_device_is_refused(driver, array, said):
    producer = Producer(array)
    producer.device = said
    with refused(cupola.ExchangeError, saying="__dlpack_device__"):
        cupola.from_dlpack(producer)


def test_a_used_capsule_is_refused(driver, array):
    producer = Producer(array)
    capsule = producer.__dlpack__()
    producer.__class__ = type("Same", (Producer,), {"__dlpack__": lambda self, **_: capsule})
    first = cupola.from_dlpack(producer)
    with refused(cupola.ExchangeError, saying="used_dltensor"):
        cupola.from_dlpack(producer)
    np.testing.assert_array_equal(first.get(), array.get())


def test_an_object_without_dlpack_is_refused(driver):
    for wrong in (5, None, [1.0], object()):
        with refused(cupola.ArgumentError, TypeError, saying="__dlpack__"):
            cupola.from_dlpack(wrong)


class Read(ctypes.Structure):
    _fields_ = (
        ("address", ctypes.c_uint64),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("read_only", ctypes.c_uint8),
        ("copied", ctypes.c_uint8),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    )


@pytest.mark.parametrize("kind", [Managed, Versioned])
def test_a_random_tensor_is_refused_or_sound(kind):
    """An accepted structure of random bytes has sound numbers."""
    library = ctypes.CDLL(cupola.paths.library())
    rng = np.random.default_rng(11)
    edges = np.array([0, 1, 2, 3, 64, 65, -1, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63)])
    taken = 0
    for _ in range(20_000):
        made = kind.from_buffer_copy(rng.bytes(ctypes.sizeof(kind)))
        if kind is Versioned and rng.random() < 0.9:
            made.major = 1
        numbers = np.where(rng.random(128) < 0.3, rng.choice(edges, 128), 3).tolist()
        lengths, strides = integers(numbers[:64]), integers(numbers[64:])
        tensor = made.tensor
        if rng.random() < 0.9:
            tensor.ndim, tensor.lanes, tensor.bits = int(rng.integers(0, 5)), 1, 32
            tensor.byte_offset = int(rng.choice([0, 8, 2**63]))
        tensor.shape = ctypes.cast(lengths if rng.random() < 0.9 else None, type(tensor.shape))
        tensor.strides = ctypes.cast(strides if rng.random() < 0.5 else None, type(tensor.shape))
        out = Read()
        if library.cupola_tensor_read(ctypes.byref(made), kind is Versioned, ctypes.byref(out)):
            continue
        taken += 1
        shape = out.shape[: out.ndim]
        assert 0 <= out.ndim <= 64 and all(length >= 0 for length in shape)
        if 0 in shape:
            continue
        assert int(np.prod(shape, dtype=object)) <= 2**60 and out.address
        steps = out.strides[: out.ndim] if out.strides else []
        assert sum(abs(s) * (n - 1) for s, n in zip(steps, shape, strict=False)) <= 2**60
    assert 100 < taken < 19_000
