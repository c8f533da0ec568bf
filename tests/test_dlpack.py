"""DLPack: arrays to and from other libraries; capsules that lie are refused."""

import ctypes
import gc
import weakref

import numpy as np
import pytest
from test_driver import compile_library, good
from working import refused

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


KEPT = []  # structures and their deleters, as a library's are there for good


class Producer:
    """Device memory as another library would offer it, byte for byte as asked."""

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
    """Of a library before DLPack 1.0."""

    def __dlpack__(self, *, stream=None):
        return super().__dlpack__(stream=stream)


@pytest.fixture
def array(driver):
    return cupola.to_device(np.arange(24, dtype=np.float32).reshape(4, 6))


@pytest.mark.parametrize("make", [Producer, Old, lambda a: Producer(a, versioned=True)])
def test_taking(driver, array, make):
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


def test_the_current_stream_is_named(driver, array):
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


def test_an_interface_that_names_no_stream(driver, array):
    """Version 2 has no word of streams; then DLPack is asked when the data is ready."""
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


def test_strides_offset_and_flags(driver, array):
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
def test_lies_are_refused(driver, array, lie, words):
    producer = Producer(array, **lie)
    with refused(cupola.ArgumentError, ValueError, saying=words):
        cupola.from_dlpack(producer)
    assert producer.deleted == 0  # what was not taken is not ours to delete
    kernel = cupola.shipped_kernels()["saxpy"]
    with refused(cupola.ArgumentError, TypeError, saying=("argument 1", words)):
        kernel[1, 32](1.0, Producer(array, **lie), array, array, 1)


def test_null_shape(driver, array):
    producer = Producer(array)
    producer.managed.tensor.shape = None
    with refused(cupola.ArgumentError, ValueError, saying="no shape"):
        cupola.from_dlpack(producer)


@pytest.mark.parametrize("returned", [None, 5, "dltensor", object()])
def test_what_is_no_capsule(driver, array, returned):
    class Wrong:
        def __dlpack_device__(self):
            return array.__dlpack_device__()

        def __dlpack__(self, **_):
            return returned

    with refused(cupola.ExchangeError, BufferError, saying="capsule"):
        cupola.from_dlpack(Wrong())


@pytest.mark.parametrize("said", [None, 5, (1,), ("a", 0), (1, None)])
def test_what_is_no_device(driver, array, said):
    producer = Producer(array)
    producer.device = said
    with refused(cupola.ExchangeError, saying="__dlpack_device__"):
        cupola.from_dlpack(producer)


def test_a_capsule_is_taken_once(driver, array):
    producer = Producer(array)
    capsule = producer.__dlpack__()
    producer.__class__ = type("Same", (Producer,), {"__dlpack__": lambda self, **_: capsule})
    first = cupola.from_dlpack(producer)
    with refused(cupola.ExchangeError, saying="used_dltensor"):
        cupola.from_dlpack(producer)
    np.testing.assert_array_equal(first.get(), array.get())


def test_no_tensors(driver):
    for wrong in (5, None, [1.0], object()):
        with refused(cupola.ArgumentError, TypeError, saying="__dlpack__"):
            cupola.from_dlpack(wrong)


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


def test_giving_and_taking_back(driver, array):
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
def test_every_dtype_of_dlpack(driver, dtype):
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
        array.__dlpack__(max_version=versioned)  # nobody takes it
        taken = cupola.from_dlpack(array)
    del owner, array
    gc.collect()
    assert gone() is not None
    del taken
    gc.collect()
    assert gone() is None


def test_what_can_not_be_given(driver):
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
    """What is queued on the consumer's stream comes after what the current one has."""
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


def test_managed_and_pinned_memory_have_kinds_of_their_own(driver):
    managed = cupola.managed(4, np.float32)
    pinned = cupola.empty_pinned(4, np.float32)
    over = cupola.Array.from_address(pinned.ctypes.data, 4, np.float32, owner=pinned)
    kinds = [array.__dlpack_device__()[0] for array in (managed, over)]
    assert kinds == ([1, 1] if driver == "cpu" else [13, 3])
    for array in (managed, over):
        array.fill(3)
        again = cupola.from_dlpack(array)
        assert again.address == array.address and again.get().tolist() == [3] * 4
        cupola.Device().synchronize()
        assert np.from_dlpack(array).tolist() == [3] * 4  # the host reaches them


@pytest.mark.cpu_only("a GPU's memory is not the host's")
def test_numpy_shares_the_cpu_devices_memory(driver):
    array = cupola.to_device(np.arange(12, dtype=np.int32).reshape(3, 4))
    array.fill(5)  # which NumPy's side waits for
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
def test_random_tensors(kind):
    """Structures of random bytes: refused, or sound in every number."""
    library = ctypes.CDLL(cupola.paths.library())
    rng = np.random.default_rng(11)
    edges = [0, 1, 2, 3, 64, 65, -1, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63)]
    taken = 0
    for _ in range(20_000):
        made = kind.from_buffer_copy(rng.bytes(ctypes.sizeof(kind)))
        if kind is Versioned and rng.random() < 0.9:
            made.major = 1
        numbers = [int(rng.choice(edges)) if rng.random() < 0.3 else 3 for _ in range(128)]
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


def test_a_thread_that_deletes_a_tensor_while_the_interpreter_goes(driver, tmp_path):
    """Python ends, or stops for ever, a thread that waits for the GIL by then."""
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
