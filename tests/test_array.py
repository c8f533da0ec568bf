"""Arrays in a device's memory: what goes in comes out."""

import array
import gc
import weakref

import numpy as np
import pytest
from working import refused

import cupola

rng = np.random.default_rng(7)
STRUCT = np.dtype([("a", "<i4"), ("b", "<f8", (2,)), ("c", "S3")], align=True)


def same(result, expected):
    assert isinstance(result, np.ndarray)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert result.tobytes() == expected.tobytes()
    assert result.flags.c_contiguous and result.flags.writeable


def filled(shape, dtype):
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape)


DTYPES = [*"?bBhHiIlLqQefdgFD", "S5", "U3", "V7", "M8[ns]", "m8[D]", STRUCT]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_there_and_back(driver, dtype):
    host = filled(9, np.dtype(dtype))
    there = cupola.to_device(host)
    same(there.get(), host)
    assert (there.dtype, there.shape, there.size) == (host.dtype, (9,), 9)
    assert (there.itemsize, there.nbytes, there.ndim) == (host.itemsize, host.nbytes, 1)
    assert there.device == cupola.Device()


SHAPES = [(), (0,), (1,), (3, 0, 2), (2, 3), (1, 1, 1), (2, 1, 3, 2), (1_000_003,)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_shape_there_and_back(driver, shape):
    host = filled(shape, np.int16)
    there = cupola.to_device(host)
    same(there.get(), host)
    assert (there.shape, there.strides) == (host.shape, host.strides)
    assert (there.address == 0) == (host.size == 0)
    same(cupola.zeros(shape, np.int16).get(), np.zeros(shape, np.int16))
    same(there.reshape(-1).get(), host.reshape(-1))


def test_layouts_become_contiguous(driver):
    base = filled((6, 8), np.float32)
    sources = [base[::2], base[:, ::-1], base.T, np.asfortranarray(base), base[1:3, 2:5]]
    sources += [np.broadcast_to(base[0], (4, 8)), base.astype(">f4")]
    for source in sources:
        expected = np.ascontiguousarray(source).astype(source.dtype.newbyteorder("="))
        same(cupola.to_device(source).get(), expected)
        there = cupola.zeros(source.shape, np.float32)
        there.set(source.astype(np.float32))
        same(there.get(), expected)


def test_other_sources(driver):
    same(cupola.to_device([1, 2, 3]).get(), np.array([1, 2, 3]))
    same(cupola.to_device([[1.5], [2]], np.float16).get(), np.array([[1.5], [2]], np.float16))
    same(cupola.to_device(7).get(), np.array(7))
    same(cupola.to_device(bytearray(b"abc")).get(), np.array([97, 98, 99], np.uint8))
    same(cupola.to_device(memoryview(b"abc")).get(), np.array([97, 98, 99], np.uint8))
    same(cupola.to_device(array.array("d", [1, 2])).get(), np.array([1.0, 2.0]))
    frozen = np.arange(3)
    frozen.flags.writeable = False
    same(cupola.to_device(frozen).get(), np.arange(3))
    there = cupola.to_device(np.arange(4))
    copy = cupola.to_device(there)
    there.set(np.zeros(4, int))
    same(copy.get(), np.arange(4))
    same(cupola.to_device(np.arange(4), np.float32).get(), np.arange(4, dtype=np.float32))


def test_a_pageable_source_may_change_at_once(driver):
    host = np.arange(1_000_000)
    there = cupola.to_device(host, stream=cupola.Stream())
    host[:] = -1
    cupola.Device().synchronize()
    same(there.get(), np.arange(1_000_000))


NO_ARRAYS = [np.array([None]), [object()], {}, [[1], [1, 2]], object()]


@pytest.mark.parametrize("source", NO_ARRAYS)
def test_what_is_no_array(driver, source):
    with refused(cupola.ArgumentError, TypeError):
        cupola.to_device(source)


def test_get_and_set_into_what_is_there(driver):
    host = filled((3, 4), np.float64)
    there = cupola.to_device(host)
    out = np.empty((3, 4))
    assert there.get(out=out) is out
    same(out, host)
    pinned = cupola.empty_pinned((3, 4), np.float64)
    assert there.get(out=pinned) is pinned
    same(pinned, host)
    there.set(2 * host)
    same(there.get(), 2 * host)
    there.set((3 * host).tolist())
    same(there.get(), 3 * host)
    there.set(cupola.to_device(4 * host))
    same(there.get(), 4 * host)
    pinned[:] = 5
    there.set(pinned)
    pinned[:] = 6  # without a stream, the copy is over
    same(there.get(), np.full((3, 4), 5.0))


def test_get_and_set_of_what_does_not_fit(driver):
    there = cupola.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    frozen = np.empty((2, 3), np.float32)
    frozen.flags.writeable = False
    cases = [
        (np.empty((3, 2), np.float32), ValueError, "(3, 2)"),
        (np.empty(6, np.float32), ValueError, "(6,)"),
        (np.empty((2, 3), np.bool_), TypeError, "bool"),
        (np.empty((2, 3), np.int32), TypeError, "int32"),
        (frozen, ValueError, "read-only"),
        ([[0] * 3] * 2, TypeError, "list"),
        (bytearray(24), TypeError, "bytearray"),
    ]
    for out, error, words in cases:
        with refused(cupola.ArgumentError, error, saying=words):
            there.get(out=out)
    wrong = [np.zeros((3, 2), np.float32), np.zeros((2, 3), np.complex64), np.zeros(3), 5, None]
    wrong += [cupola.zeros((3, 2), np.float32), cupola.zeros((2, 3), np.complex64)]
    wrong += [cupola.zeros(3, np.float64), [[1, 2, 3]], "x", object()]
    for source in wrong:
        with refused(cupola.ArgumentError):
            there.set(source)
    same(there.get(), np.arange(6, dtype=np.float32).reshape(2, 3))


def test_like_another(driver):
    host = filled((2, 3), np.int16)
    for prototype in (host, cupola.to_device(host)):
        like = cupola.empty_like(prototype)
        assert (like.shape, like.dtype) == ((2, 3), np.int16)
        other = cupola.empty_like(prototype, np.float32, shape=5)
        assert (other.shape, other.dtype) == ((5,), np.float32)


@pytest.mark.parametrize(
    "shape", [-1, (2, -3), 1.5, "3", (1, "2"), None, (2**32, 2**32), 2**63, 2**70], ids=repr
)
@pytest.mark.parametrize("make", [cupola.empty, cupola.zeros, cupola.empty_pinned])
def test_no_shapes(driver, shape, make):
    with refused(cupola.ArgumentError):
        make(shape, np.float32)


def test_more_axes_than_numpy_has(driver):
    pairs = np.dtype([("a", np.float32, (1,) * 40)])
    makes = (
        lambda: cupola.empty((1,) * 65, np.float32),
        lambda: cupola.zeros((2, 3), np.float32).T[(None,) * 63],
        lambda: cupola.zeros((1,) * 30, pairs)["a"],
        lambda: cupola.zeros(1, np.float32).reshape((1,) * 65),
    )
    for make in makes:
        with refused(cupola.ArgumentValueError, saying="at most 64 axes"):
            make()
    x = cupola.zeros((2, 3), np.float32).T[(None,) * 62]
    assert (x + 1).sum().item() == 6 and x.copy().shape == x.shape


def test_no_dtypes(driver):
    for dtype in (object, "nonsense", 5, [("a", object)]):
        with refused(cupola.ArgumentError, TypeError):
            cupola.empty(3, dtype)


def test_more_memory_than_there_is(driver):
    total = cupola.memory_info().total
    with refused(cupola.OutOfMemoryError, MemoryError, saying=("requested", "free")) as caught:
        cupola.empty(2 * total, np.uint8)
    assert (caught.value.code, caught.value.name) == (2, "CUDA_ERROR_OUT_OF_MEMORY")


def test_use_after_free(driver):
    there = cupola.to_device(np.arange(4))
    part = there[1:]
    there.free()
    there.free()  # a second call does nothing
    assert "freed" in repr(there) and "freed" in repr(part)
    other = cupola.zeros(4, int)
    uses = [
        lambda a: a.get(),
        lambda a: a.set(np.zeros(a.shape, int)),
        lambda a: a.address,
        lambda a: a[1:],
        lambda a: a.reshape(-1),
        lambda a: cupola.to_device(a),
        lambda a: other[: a.size].set(a),
        lambda a: a.__cuda_array_interface__,
    ]
    for use in uses:
        for freed in (there, part):
            with refused(cupola.ArgumentError, ValueError, saying="freed"):
                use(freed)
    same(other.get(), np.zeros(4, int))


def test_views(driver):
    host = filled((5, 2, 3), np.int32)
    there = cupola.to_device(host)
    for key in (0, -1, np.int64(2), slice(1, 3), slice(None), slice(-2, None), slice(4, 1)):
        same(there[key].get(), host[key])
    there[1].set(np.zeros((2, 3), np.int32))
    host = host.copy()
    host[1] = 0
    same(there.get(), host)
    same(there[3][1].reshape(3, 1).get(), host[3, 1].reshape(3, 1))
    same(there.reshape(10, -1).get(), host.reshape(10, 3))
    assert len(there) == 5 and there[2:].address == there.address + 2 * 24
    for key, error in [(5, IndexError), (-6, IndexError), ("a", TypeError), (1.0, TypeError)]:
        with pytest.raises(error):
            there[key]
    with refused(cupola.ArgumentError, ValueError, saying="reshaped"):
        there.reshape(7, -1)
    part = there[2:]
    del there
    same(part.get(), host[2:])


def test_cuda_array_interface(driver):
    there = cupola.zeros((2, 3), np.float32)
    interface = there.__cuda_array_interface__
    assert interface["shape"] == (2, 3) and interface["typestr"] == "<f4"
    assert interface["data"] == (there.address, False)
    assert interface["strides"] is None and interface["version"] == 3
    stream = cupola.Stream()
    assert interface["stream"] == 1  # the legacy default stream; 0 is not allowed
    with stream:
        assert there.__cuda_array_interface__["stream"] == stream.handle
    assert cupola.empty(0).__cuda_array_interface__["data"] == (0, False)
    described = cupola.zeros(2, STRUCT).__cuda_array_interface__
    assert np.lib.format.descr_to_dtype(described["descr"]) == STRUCT


class Foreign:
    """Device memory as another library would offer it."""

    def __init__(self, owner, **changes):
        self.owner = owner
        self.__cuda_array_interface__ = {**owner.__cuda_array_interface__, **changes}


def test_strides_of_the_cuda_array_interface(driver):
    host = filled((4, 6), np.int32)
    there = cupola.to_device(host)
    for key in (..., (slice(None), slice(1, None, 2)), slice(None, None, -1), (0, 0), slice(4, 4)):
        view, expected = there[key], host[key]
        interface = view.__cuda_array_interface__
        strided = not view.flags.c_contiguous
        assert interface["strides"] == (expected.strides if strided else None)
        again = cupola.asarray(Foreign(view))
        assert again.shape == view.shape and again.strides == view.strides
        np.testing.assert_array_equal(again.get(), expected)
    columns = cupola.asarray(Foreign(there, shape=(6, 4), strides=(4, 24)))
    np.testing.assert_array_equal(columns.get(), host.T)
    np.testing.assert_array_equal(cupola.to_device(Foreign(columns)).get(), host.T)


def test_the_stream_of_the_cuda_array_interface(driver):
    there = cupola.zeros(4, np.int32)
    other = cupola.Stream()
    for stream in (None, 1, 2, other.handle):
        assert cupola.asarray(Foreign(there, stream=stream)).address == there.address
    for stride in (2**64, 2**62, -(2**63)):
        with refused(cupola.ArgumentError, ValueError, saying="strides"):
            cupola.asarray(Foreign(there, strides=(stride,)))
    for wrong in (dict(stream=0), dict(strides=(4, 4)), dict(mask=there), dict(version=None)):
        with refused(cupola.ArgumentError, TypeError, saying="__cuda_array_interface__"):
            cupola.asarray(Foreign(there, **wrong))
    with other:  # reuses memory in the order of its stream
        for value in range(1, 50):
            large = cupola.full(1 << 20, value, np.int32)
            foreign = Foreign(large)
            with cupola.Stream():
                assert cupola.asarray(foreign).get()[-1] == value


def test_asarray_shares_the_memory(driver):
    for dtype in (np.int32, STRUCT):
        host = filled(4, dtype)
        there = cupola.to_device(host)
        shared = cupola.asarray(Foreign(there))
        assert (shared.address, shared.dtype) == (there.address, there.dtype)
        there.set(host[::-1])
        del there  # the owner is kept
        assert (shared.get() == host[::-1]).all()  # copies of NumPy lack the padding's bytes
        assert cupola.asarray(shared) is shared
    foreign = Foreign(shared)
    foreign.__cuda_array_interface__["data"] = (shared.address, True)
    with refused(cupola.ArgumentError, ValueError, saying="read-only"):
        cupola.asarray(foreign).set(host)
    with refused(cupola.ArgumentError, TypeError, saying="dtype object"):
        cupola.asarray(None)


def test_asarray_copies_what_the_host_has(driver):
    host = filled(4, STRUCT)
    for source, expected in ((host, host), ([1, 2], np.array([1, 2])), (2.5, np.array(2.5))):
        same(cupola.asarray(source).get(), expected)
    same(cupola.asarray([1, 2], np.float32).get(), np.array([1, 2], np.float32))
    there = cupola.to_device(np.arange(3))
    assert cupola.asarray(there, np.int64) is there
    same(cupola.asarray(there, "f4").get(), np.arange(3, dtype="f4"))
    same(cupola.asarray(Foreign(there), "f4").get(), np.arange(3, dtype="f4"))


def test_numpy_does_not_copy_it_silently(driver):
    there = cupola.to_device(np.arange(3))
    for use in (np.asarray, np.array, lambda a: np.copyto(np.empty(3), a), memoryview):
        with pytest.raises(TypeError):
            use(there)
    with refused(TypeError, saying="get()"):
        np.asarray(there)
    for use in (lambda: np.arange(3) + there, lambda: np.arange(3) @ there):
        with pytest.raises(TypeError):
            use()


def test_pinned_memory_is_numpy(driver):
    pinned = cupola.empty_pinned((2, 3), np.int16)
    pinned[:] = [[1, 2, 3], [4, 5, 6]]
    assert isinstance(pinned, np.ndarray) and pinned.sum() == 21
    part = pinned[1]
    del pinned
    assert part.tolist() == [4, 5, 6]
    assert cupola.empty_pinned(0).shape == (0,)
    same(cupola.to_device(part).get(), np.array([4, 5, 6], np.int16))


def test_arrays_are_not_made_by_hand(driver):
    with pytest.raises(TypeError, match="to_device"):
        cupola.Array()


def test_classes_above_the_data_add_none():
    """array.pyx lets Array use the deallocator of ArrayData."""
    *classes, root = cupola.Array.__mro__[:-1]
    assert root.__name__ == "ArrayData" and len(classes) == 4
    assert {one.__basicsize__ for one in classes} == {root.__basicsize__}


def test_an_array_in_a_cycle_is_collected(driver):
    class Owner:
        pass

    memory, owner = cupola.zeros(4, np.float32), Owner()
    owner.array = cupola.Array.from_address(memory.address, 4, np.float32, owner=owner)
    end = weakref.ref(owner)
    del owner
    gc.collect()
    assert end() is None
