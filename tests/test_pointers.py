"""Arguments for a kernel's pointers: device memory, null, addresses, In, Out, InOut."""

import array
import os
import subprocess
import sys

import images
import numpy as np
import pytest
from working import refused, refused_argument

import cupola


class Foreign:
    """Device memory as another library would offer it."""

    def __init__(self, owner, **changes):
        self.owner = owner
        self.__cuda_array_interface__ = {**owner.__cuda_array_interface__, **changes}


@pytest.fixture(params=images.CHECKED)
def module(driver, request):
    return images.module(request.param)


def is_null(module, pointer):
    out = cupola.zeros((), np.int32)
    module["is_null"][1, 1](pointer, out)
    return bool(out.get()[()])


def test_null_and_addresses(module):
    some = cupola.zeros(4, np.int32)
    assert is_null(module, None)
    assert is_null(module, 0)
    assert is_null(module, cupola.empty(0))
    assert is_null(module, Foreign(some, shape=(0,), data=(0, False)))
    assert not is_null(module, some)
    assert not is_null(module, some.address)
    assert not is_null(module, np.uint64(some.address))
    assert not is_null(module, Foreign(some))


@pytest.mark.parametrize("value", [-1, -(2**63), 2**64, 1.0, "x", object(), 1j])
def test_no_addresses(module, value):
    out = cupola.zeros(2, np.int32)
    with refused(cupola.ArgumentError, saying=("accumulate", "argument 0", "expected a pointer")):
        module["accumulate"][1, 1](value, out, 2)


def sums(module, source, target, n=4):
    module["accumulate"][1, n](source, target, n)


class Host:
    """A host array as other libraries have them, which is an integer where it has one element."""

    def __init__(self, host):
        self.host = host

    def __array__(self, *arguments, **keywords):
        return self.host.__array__(*arguments, **keywords)

    def __dlpack__(self, **keywords):
        return self.host.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.host.__dlpack_device__()

    def __index__(self):
        if self.host.size != 1:
            raise TypeError("only integers of one element are an index")
        return int(self.host.item())


def test_host_arrays_of_other_libraries(module):
    target = cupola.zeros(2, np.int32)
    for host in (np.ones(4, np.int32), np.array(target.address), np.array([target.address])):
        refused_argument(
            module["accumulate"], 0, Host(host), target, 2, error=TypeError,
            got="in host memory; pass cupola.In",
        )  # fmt: skip
    refused_argument(
        module["accumulate"], 2, target, target, Host(np.ones(4, np.int32)), error=TypeError,
        got="Host in host memory",
    )  # fmt: skip
    source = cupola.full(2, 3, np.int32)
    module["accumulate"][1, 2](source, target, Host(np.array([2])))
    assert target.get().tolist() == [3, 3]


def test_each_kind_of_device_memory(module):
    host = np.array([1, 2, 3, 4], np.int32)
    source, target = cupola.to_device(host), cupola.zeros(4, np.int32)
    offered = [
        source,
        Foreign(source),
        Foreign(source, stream=None),
        Foreign(source, version=2),
        Foreign(source, strides=(4,)),
        Foreign(source, data=(source.address, True)),  # read only, into const
        Foreign(source, shape=(2, 2), strides=(8, 4)),
        source.address,
        source[0:4],
    ]
    for value in offered:
        sums(module, value, target)
    np.testing.assert_array_equal(target.get(), len(offered) * host)
    sums(module, source[2:], target, 2)
    sums(module, source, Foreign(target))
    expected = (len(offered) + 1) * host + [3, 4, 0, 0]
    np.testing.assert_array_equal(target.get(), expected)


def test_raw_memory(module):
    """Of a device or page-locked: by its address, whatever its elements are."""
    host = np.array([1, 2, 3, 4], np.int32)
    source, target = cupola.alloc(16), cupola.zeros(4, np.int32)
    source.copy_from(host)
    registered = np.array([1, 2, 3, 4], np.int32)
    held = [source, cupola.register_host(registered)]
    for memory in held:
        sums(module, memory, target)
    launch = module["accumulate"].prepare(1, 4, source, target, 4)
    with cupola.Stream() as stream:
        launch(stream=stream)
        stream.synchronize()
    np.testing.assert_array_equal(target.get(), 3 * host)
    source.release()
    saying = (module["accumulate"].title, "argument 0", "cupola.Memory that was freed")
    with refused(cupola.ArgumentError, ValueError, saying=saying):
        sums(module, source, target)
    with refused(cupola.ArgumentError, ValueError, saying="was freed"):
        launch()
    with refused(cupola.ArgumentError, TypeError, saying=("argument 2", "cupola.Memory")):
        module["accumulate"][1, 1](target, target, held[1])


@pytest.mark.parametrize(
    ("changes", "error", "got"),
    [
        ({"strides": (8,)}, ValueError, "not C-contiguous"),
        ({"shape": (2, 2), "strides": (4, 8)}, ValueError, "not C-contiguous"),
        ({"shape": (4,), "strides": (-4,)}, ValueError, "not C-contiguous"),
        ({"version": None}, TypeError, "__cuda_array_interface__"),
        ({"mask": object()}, TypeError, "mask"),
        ({"typestr": "nonsense"}, TypeError, "__cuda_array_interface__"),
        ({"typestr": "<f4"}, TypeError, "float32"),
        ({"data": (-1, False)}, TypeError, "__cuda_array_interface__"),
        ({"data": None}, TypeError, "__cuda_array_interface__"),
        ({"shape": None}, TypeError, "__cuda_array_interface__"),
    ],
)
def test_device_memory_that_does_not_fit(module, changes, error, got):
    source, target = cupola.zeros(8, np.int32), cupola.zeros(8, np.int32)
    foreign = Foreign(source, **changes)
    refused_argument(module["accumulate"], 0, foreign, target, 2, error=error, got=got)


def test_read_only_memory_into_a_pointer_that_is_not_const(module):
    source = cupola.zeros(4, np.int32)
    foreign = Foreign(source, data=(source.address, True))
    kernel = module["accumulate"]
    refused_argument(kernel, 1, source, foreign, 4, error=ValueError, got="read-only")


HOST = {
    "numpy": np.zeros(4, np.int32),
    "numpy 0-d": np.zeros((), np.int32),
    "list": [0, 0, 0, 0],
    "tuple": (0, 0, 0, 0),
    "bytes": bytes(16),
    "eight bytes": bytes(8),
    "bytearray": bytearray(16),
    "memoryview": memoryview(bytes(16)),
    "array": array.array("i", [0, 0, 0, 0]),
    "numpy struct": np.zeros((), "i4,i4")[()],
}


@pytest.mark.parametrize("value", HOST.values(), ids=HOST)
def test_host_memory_names_the_remedies(module, value):
    target = cupola.zeros(4, np.int32)
    remedies = ["cupola.In(", "cupola.Out(", "cupola.InOut(", "cupola.to_device("]
    kernel = module["accumulate"]
    refused_argument(kernel, 0, value, target, 4, error=TypeError, got=remedies)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint32, np.int16, np.complex64])
def test_elements_of_another_type(module, dtype):
    source, target = cupola.zeros(8, dtype), cupola.zeros(8, np.int32)
    kernel, got = module["accumulate"], str(np.dtype(dtype))
    refused_argument(kernel, 0, source, target, 2, error=TypeError, got=got)
    refused_argument(kernel, 0, Foreign(source), target, 2, error=TypeError, got=got)
    refused_argument(kernel, 0, cupola.In(np.zeros(2, dtype)), target, 2, error=TypeError, got=got)
    sums(module, source.address, target, 2)  # an address has no type: the user knows


@pytest.mark.parametrize("where", [0, 1])
def test_freed(module, where):
    arrays = [cupola.zeros(4, np.int32), cupola.zeros(4, np.int32)]
    arrays[where].free()
    saying = (module["accumulate"].title, f"argument {where}", "freed")
    with refused(cupola.ArgumentError, ValueError, saying=saying):
        sums(module, *arrays)


ANOTHER_DEVICE = """
import sys; sys.path.insert(0, {tests!r})
import numpy as np, cupola
from working import assert_works
kernel = cupola.load({ptx!r})["increment"]
with cupola.Device(1):
    other = cupola.zeros(4, np.int32)
    kernel_there = cupola.load({ptx!r})["increment"]
assert other.device == kernel_there.device == cupola.Device(1)
class Foreign:
    __cuda_array_interface__ = other.__cuda_array_interface__
for value in (other, Foreign()):
    try:
        kernel[1, 4](value, 4)
    except ValueError as error:
        assert isinstance(error, cupola.ArgumentError)
        for words in ("increment: argument 0", "device 1", "loaded on device 0"):
            assert words in str(error), error
    else:
        raise AssertionError("was taken")
stream = cupola.Stream(device=1)
try:
    kernel[1, 4, stream](cupola.zeros(4, np.int32), 4)
except ValueError as error:
    assert isinstance(error, cupola.ArgumentError) and "device 1" in str(error), error
else:
    raise AssertionError("was taken")
assert_works()
with stream:
    kernel_there[1, 4](other, 4)
kernel_there[1, 4, stream](other, 4)
assert other.get().tolist() == [2, 2, 2, 2]
print("done")
"""


@pytest.mark.several_devices
def test_memory_of_another_device(driver):
    code = ANOTHER_DEVICE.format(tests=os.path.dirname(__file__), ptx=str(images.ptx()))
    variables = {**os.environ, "CUPOLA_CPU_DEVICES": "2", "CUPOLA_DRIVER": driver}
    answer = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True
    )
    assert (answer.stdout, answer.stderr) == ("done\n", "")


def test_in_copies_to_the_device_only(module):
    for host in (np.arange(4, dtype=np.int32), np.arange(8, dtype=np.int32)[::2]):
        before, target = host.copy(), cupola.zeros(4, np.int32)
        sums(module, cupola.In(host), target)
        np.testing.assert_array_equal(target.get(), before)
        module["increment"][1, 4](cupola.In(host), 4)
        np.testing.assert_array_equal(host, before)
    host.flags.writeable = False
    sums(module, cupola.In(host), target)
    sums(module, cupola.In(memoryview(before)), target)
    np.testing.assert_array_equal(target.get(), 3 * before)


def test_in_out_copies_both_ways(module):
    host = np.arange(12, dtype=np.int32).reshape(3, 4)
    module["increment"][1, 12](cupola.InOut(host), 12)
    np.testing.assert_array_equal(host, np.arange(1, 13).reshape(3, 4))
    raw = bytearray(host.tobytes())
    kernel = images.module()["increment"]  # its parameter points to an unknown type
    kernel[1, 12](cupola.InOut(array.array("i", host.ravel())), 12)
    kernel[1, 12](cupola.InOut(memoryview(raw).cast("i")), 12)
    np.testing.assert_array_equal(np.frombuffer(raw, np.int32), np.arange(2, 14))


def test_out_is_filled(module):
    host = np.full((2, 6), -1, np.int32)
    module["positions"][2, 1](cupola.Out(host))
    np.testing.assert_array_equal(host, [[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    pinned = cupola.empty_pinned((1, 6), np.int32)
    pinned[:] = -1
    module["positions"][1, 1, cupola.Stream()](cupola.Out(pinned))
    assert not pinned.any()


def test_several_at_once(module):
    x, y = np.arange(100, dtype=np.float32), np.linspace(0, 1, 100, dtype=np.float32)
    out = np.empty_like(x)
    module["axpy"].forall(100)(2.5, cupola.In(x), cupola.In(y), cupola.Out(out), 100)
    np.testing.assert_array_equal(out, np.float32(2.5) * x + y)


@pytest.mark.parametrize("kind", [cupola.Out, cupola.InOut])
def test_what_can_not_be_written_back(driver, kind):
    frozen = np.zeros(4, np.int32)
    frozen.flags.writeable = False
    strided, fortran = np.zeros(8, np.int32)[::2], np.zeros((2, 2), np.int32, order="F")
    cases = [(frozen, "read-only", ValueError), (strided, "not C-contiguous", ValueError)]
    cases += [(fortran, "not C-contiguous", ValueError), ([1, 2], "list", TypeError)]
    cases += [(5, "int", TypeError), (None, "NoneType", TypeError)]
    cases += [(bytes(4), "read-only", ValueError), (np.zeros(2, object), "objects", TypeError)]
    for value, words, error in cases:
        with refused(cupola.ArgumentError, error, saying=(f"cupola.{kind.__name__}", words)):
            kind(value)


@pytest.mark.parametrize("kind", [cupola.In, cupola.Out, cupola.InOut])
def test_arrays_that_cannot_be_copied_around_a_launch(driver, kind):
    with refused(cupola.ArgumentTypeError, saying=(kind.__name__, "pass the array itself")):
        kind(cupola.zeros(4))
    if kind is cupola.In:
        return
    host = np.zeros((4, 2), np.float32)
    with refused(cupola.ArgumentValueError, saying=("numpy.ascontiguousarray(array)", "[...] = y")):
        kind(host[:, 0])


def test_a_refused_call_leaves_host_arrays_alone(module):
    host = np.arange(4, dtype=np.int32)
    with refused(TypeError):
        module["increment"][1, 4](cupola.InOut(host), "4")
    with refused(TypeError):
        module["increment"][1, 4](4, cupola.InOut(host))
    np.testing.assert_array_equal(host, range(4))


@pytest.mark.parametrize("kind", [cupola.In, cupola.Out, cupola.InOut])
def test_transfers_where_no_pointer_is_meant(module, kind):
    out, host = cupola.zeros((), np.int32), np.zeros(1, np.int32)
    refused_argument(module["store<int>"], 1, out, kind(host), error=TypeError)
