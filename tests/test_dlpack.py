"""DLPack: arrays to and from other libraries, their streams, and the lifetime of their memory."""

import gc
import weakref

import numpy as np
import pytest
from tensors import KINDS, Old, Producer, array
from test_driver import compile_library, good
from working import refused

import cupola

__all__ = ["array"]


@pytest.mark.parametrize("make", [Producer, Old, lambda a: Producer(a, versioned=True)])
def test_a_tensor_becomes_an_array(driver, array, make):
    producer = make(array)
    taken = cupola.from_dlpack(producer)
    assert (taken.address, taken.shape, taken.dtype) == (array.address, (4, 6), np.float32)
    assert taken.strides == array.strides and taken.flags.writeable
    taken[0] = 7
    assert array.get()[0].tolist() == [7] * 6
    assert producer.streams == ([None] if driver == "cpu" else [1])
    part = taken[1:, ::2]
    del taken
    gc.collect()
    assert producer.deleted == 0
    np.testing.assert_array_equal(part.get(), array.get()[1:, ::2])
    del part
    gc.collect()
    assert producer.deleted == 1


def test_the_producer_receives_the_current_stream(driver, array):
    producer = Producer(array)
    stream = cupola.Stream()
    with stream:
        cupola.from_dlpack(producer)
    assert producer.streams == [None if driver == "cpu" else stream.handle]


class Both(Producer):
    """Of a library with both protocols."""

    def __init__(self, array, version, **changes):
        super().__init__(array)
        found = dict(array.__cuda_array_interface__, version=version, **changes)
        if version < 3:
            found.pop("stream", None)
        self.__cuda_array_interface__ = found


def test_dlpack_synchronises_where_the_array_interface_has_no_stream(driver, array):
    """Version 2 of the interface has no stream; __dlpack__ makes the data ready."""
    kernel, out = cupola.shipped_kernels()["saxpy"], cupola.empty_like(array)
    for use in (cupola.asarray, lambda one: kernel[1, 32](2.0, one, one, out, 24)):
        producer, named = Both(array, 2, data=(array.address, True)), Both(array, 3)
        use(named)
        assert named.streams == []
        kept = use(producer)
        assert producer.streams and set(producer.streams) == {None if driver == "cpu" else 1}
        stream = cupola.Stream()
        with stream:
            use(producer)
        assert producer.streams[-1] == (None if driver == "cpu" else stream.handle)
        if kept is not None:
            assert not kept.flags.writeable  # as the interface says
            count = producer.deleted
            del kept
            gc.collect()
            assert producer.deleted == count + 1

    class Refusing(Both):
        def __dlpack__(self, **keywords):
            raise BufferError("not this one")

    assert cupola.asarray(Refusing(array, 2)).address == array.address


def test_strides_offsets_and_flags_are_read(driver, array):
    columns = cupola.from_dlpack(Producer(array, shape=(6, 4), strides=(1, 6)))
    np.testing.assert_array_equal(columns.get(), array.get().T)
    implied = cupola.from_dlpack(Producer(array, strides=None))
    np.testing.assert_array_equal(implied.get(), array.get())
    later = cupola.from_dlpack(Producer(array, shape=(2, 6), byte_offset=48))
    np.testing.assert_array_equal(later.get(), array.get()[2:])
    frozen = cupola.from_dlpack(Producer(array, versioned=True, flags=1))
    assert not frozen.flags.writeable
    with refused(cupola.ArgumentError, ValueError, saying="read-only"):
        frozen.fill(0)
    scalar = cupola.from_dlpack(Producer(array, ndim=0))
    assert scalar.shape == () and scalar.get() == 0
    empty = cupola.from_dlpack(Producer(array, shape=(0, 6), data=None))
    assert empty.shape == (0, 6)


def test_kernels_take_tensors(driver, array):
    kernel = cupola.shipped_kernels()["saxpy"]
    producer = Producer(array)
    out = cupola.zeros(24, np.float32)
    for x in (producer, Old(array), Producer(array, versioned=True)):
        kernel[1, 32](2.0, x, array, out, 24)
        np.testing.assert_array_equal(out.get(), 3 * array.get().ravel())
    gc.collect()
    assert producer.deleted == 1
    strided = Producer(array, shape=(6, 4), strides=(1, 6))
    with refused(cupola.ArgumentError, ValueError, saying=("argument 1", "not C-contiguous")):
        kernel[1, 32](2.0, strided, array, out, 24)
    with refused(cupola.ArgumentError, TypeError, saying=("argument 1", "float64")):
        kernel[1, 32](2.0, Producer(array, shape=(2, 6), bits=64), array, out, 24)
    frozen = Producer(array, versioned=True, flags=1)
    kernel[1, 32](2.0, frozen, array, out, 24)  # into const
    with refused(cupola.ArgumentError, ValueError, saying=("argument 3", "read-only")):
        kernel[1, 32](2.0, array, array, frozen, 24)


def test_an_array_returns_with_the_same_address(driver, array):
    for view in (array, array[1:, ::2], array.T, array[::-1], array[0, 0], array[:0]):
        again = cupola.from_dlpack(view)
        assert (again.shape, again.dtype) == (view.shape, view.dtype)
        assert again.size == 0 or again.address == view.address
        np.testing.assert_array_equal(again.get(), view.get())
    kind, index = array.__dlpack_device__()
    assert (kind, index) == (KINDS[driver], 0)
    copy = cupola.from_dlpack(array, copy=True)
    assert copy.address != array.address
    np.testing.assert_array_equal(copy.get(), array.get())
    assert cupola.from_dlpack(array, copy=False).address == array.address


@pytest.mark.parametrize("dtype", "?bBhHiIlLqQefdFD")
def test_every_dtype_of_dlpack_is_exchanged(driver, dtype):
    host = np.arange(6).astype(dtype)
    again = cupola.from_dlpack(cupola.to_device(host))
    assert again.dtype == host.dtype
    np.testing.assert_array_equal(again.get(), host)


def test_a_capsule_keeps_the_memory(driver):
    class Owner:
        pass

    owner, memory = Owner(), cupola.alloc(32)
    owner.memory, gone = memory, weakref.ref(owner)
    array = cupola.Array.from_address(memory.address, 4, np.float64, owner=owner)
    for versioned in (None, (1, 0)):
        array.__dlpack__(max_version=versioned)  # no consumer takes it
        taken = cupola.from_dlpack(array)
    del owner, array
    gc.collect()
    assert gone() is not None
    del taken
    gc.collect()
    assert gone() is None


def test_arrays_without_a_dlpack_form_are_refused(driver):
    for dtype in ("S3", "M8[s]", "i4,f8", "V4"):
        with refused(cupola.ExchangeError, BufferError, saying="no type for"):
            cupola.zeros(3, dtype).__dlpack__()
    memory = cupola.zeros(24, np.uint8)
    frozen = cupola.Array.from_address(memory.address, 3, np.int32, readonly=True, owner=memory)
    with refused(cupola.ExchangeError, BufferError, saying="read-only"):
        frozen.__dlpack__()
    assert not cupola.from_dlpack(frozen).flags.writeable
    odd = cupola.Array.from_address(memory.address, 3, np.int32, strides=(6,), owner=memory)
    with refused(cupola.ExchangeError, BufferError, saying="multiple"):
        odd.__dlpack__()
    for stream in (0, -2, 1 << 64):
        with refused(cupola.ArgumentError, ValueError, saying="stream"):
            memory.__dlpack__(stream=stream)
    with refused(cupola.ArgumentError, TypeError, saying="stream"):
        memory.__dlpack__(stream="1")
    with refused(cupola.ExchangeError, BufferError, saying="use get()"):
        memory.__dlpack__(dl_device=(4, 0))
    memory.free()
    with refused(cupola.ArgumentError, ValueError, saying="freed"):
        memory.__dlpack__()


def test_the_consumers_stream_waits(driver, array):
    """Work of the consumer's stream runs after work of the current stream."""
    if driver == "cpu":
        with refused(cupola.ArgumentError, ValueError, saying="no stream"):
            array.__dlpack__(stream=1)
        array.__dlpack__(stream=-1)
        return
    here, there = cupola.Stream(), cupola.Stream()
    large = cupola.zeros(1 << 28, np.uint8)
    cupola.Device().synchronize()
    with here:
        for value in range(20):
            large.fill(value + 1)
        capsule = large.__dlpack__(stream=there.handle, max_version=(1, 0))
    out = cupola.empty_pinned(1, np.uint8)
    with there:
        large[-1:].get(out=out, stream=there)
    there.synchronize()
    assert out[0] == 20 and capsule is not None


def test_managed_and_pinned_memory_have_their_own_device_types(driver):
    managed = cupola.managed(4, np.float32)
    pinned = cupola.empty_pinned(4, np.float32)
    over = cupola.Array.from_address(pinned.ctypes.data, 4, np.float32, owner=pinned)
    kinds = [one.__dlpack_device__()[0] for one in (managed, over)]
    assert kinds == ([1, 1] if driver == "cpu" else [13, 3])
    for one in (managed, over):
        one.fill(3)
        again = cupola.from_dlpack(one)
        assert again.address == one.address and again.get().tolist() == [3] * 4
        cupola.Device().synchronize()
        assert np.from_dlpack(one).tolist() == [3] * 4  # the host reaches them


@pytest.mark.cpu_only("a GPU's memory is not the host's")
def test_numpy_shares_the_cpu_devices_memory(driver):
    array = cupola.to_device(np.arange(12, dtype=np.int32).reshape(3, 4))
    array.fill(5)  # NumPy's import waits for it
    host = np.from_dlpack(array)
    assert host.ctypes.data == array.address and (host == 5).all()
    host[1, 1] = 9
    assert array.get()[1, 1] == 9
    assert np.from_dlpack(array[:, ::-2]).tolist() == array.get()[:, ::-2].tolist()
    address = array.address
    del array
    gc.collect()
    other = cupola.full((3, 4), 1, np.int32)
    assert other.address != address and host.sum() == 5 * 11 + 9


@pytest.mark.cpu_only("a GPU's memory is not the host's")
def test_the_cpu_device_shares_numpys_memory(driver):
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = cupola.from_dlpack(host)
    assert array.address == host.ctypes.data
    kernel = cupola.shipped_kernels()["saxpy"]
    kernel[1, 32](2.0, array, array, array, 12)
    cupola.Device().synchronize()
    np.testing.assert_array_equal(host, 3 * np.arange(12, dtype=np.float32).reshape(3, 4))
    again, part = cupola.from_dlpack(host), cupola.from_dlpack(host[1:, ::2])
    part.fill(0)
    np.testing.assert_array_equal(again.get(), host)
    assert host[1:, ::2].sum() == 0
    frozen = host.copy()
    frozen.flags.writeable = False
    assert not cupola.from_dlpack(frozen).flags.writeable
    gone = weakref.ref(host)
    del host, array, again, part
    gc.collect()
    assert gone() is None


@pytest.mark.cuda_only("the CPU device takes host memory")
def test_host_memory_is_refused(driver):
    with refused(cupola.ExchangeError, saying="to_device"):
        cupola.from_dlpack(np.zeros(3))


DELETING = """
#include <pthread.h>
#include <unistd.h>
static void (*deleter)(void*);
static void* tensor;
static volatile int go, done;
static void* work(void* nothing) {
    while (!go) usleep(1000);
    deleter(tensor);
    done = 1;
    return nothing;
}
void start(void (*with)(void*), void* what) {
    pthread_t thread;
    deleter = with, tensor = what;
    pthread_create(&thread, 0, work, 0);
    pthread_detach(thread);
}
const char used[] = "used_dltensor"; /* the capsule may be freed after every Python string */
void signal_it(void) { go = 1; }
int finish(void) {
    for (int i = 0; i < 300 && !done; ++i) usleep(10000);
    return done;
}
"""


def test_a_thread_may_delete_a_tensor_while_the_interpreter_exits(driver, tmp_path):
    """Python ends or blocks a thread that waits for the GIL at that time."""
    library = compile_library(tmp_path, "libdeleting.so", DELETING, "-pthread")
    code = f"""
    import atexit, ctypes, os, sys, time
    @atexit.register  # before cupola's, so it is called after that
    def delete():
        sys.setswitchinterval(1000)
        ctypes.PyDLL({str(library)!r}).signal_it()
        end = time.monotonic() + 0.1
        while time.monotonic() < end:  # with the GIL, to the interpreter's end
            pass
    import numpy as np, cupola
    library = ctypes.PyDLL(None)
    library.PyCapsule_GetPointer.restype = ctypes.c_void_p
    library.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
    library.PyCapsule_SetName.argtypes = ctypes.py_object, ctypes.c_void_p
    deleting = ctypes.CDLL({str(library)!r})
    used = ctypes.c_char.in_dll(deleting, "used")
    capsule = cupola.zeros(8, np.int32).__dlpack__()
    managed = library.PyCapsule_GetPointer(capsule, b"dltensor")
    assert library.PyCapsule_SetName(capsule, ctypes.addressof(used)) == 0
    # A DLTensor of 48 bytes, the manager's own pointer, the deleter.
    deleter = ctypes.c_void_p.from_address(managed + 56)
    deleting.start(deleter, ctypes.c_void_p(managed))
    class Last:
        def __init__(self):
            self.finish, self.write = deleting.finish, os.write
        def __del__(self):
            self.write(1, b"deleted" if self.finish() else b"lost")
    last = Last()
    """
    assert good(code, CUPOLA_DRIVER=driver).stdout == "deleted"
