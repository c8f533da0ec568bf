"""Device arrays as messages of Dask: frames in host and in device memory, sizes, registration."""

import os
import pickle
import subprocess
import sys
from types import SimpleNamespace

import hooks
import ml_dtypes
import numpy as np
import pytest
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize
from distributed.protocol.serialize import dask_deserialize

import cupola
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.memory import is_exportable

RECORD = np.dtype([("x", "f4"), ("n", "i2")], align=True)
HOSTS = {
    "float64": np.arange(12.0).reshape(3, 4),
    "fortran": np.asfortranarray(np.arange(12, dtype="i4").reshape(3, 4)),
    "three axes, fortran": np.asfortranarray(np.arange(24, dtype="u2").reshape(2, 3, 4)),
    "bool": np.array([True, False, True]),
    "complex": np.arange(6).astype("c8").reshape(2, 3),
    "bfloat16": np.arange(5).astype(ml_dtypes.bfloat16),
    "record": np.array([(1.5, 2), (3.5, 4)], RECORD),
    "date": np.array(["2026-01-02", "2026-01-03"], "M8[D]"),
    "no axes": np.array(3.5),
    "empty": np.empty((0, 7), "f4"),
    "empty, fortran": np.empty((3, 0, 2), "f4", order="F"),
}


def on_device(host):
    array = cupola.empty(host.shape, host.dtype, order="F" if host.flags.fnc else "C")
    if host.size:
        array.set(host)
    return array


def round_trip(array, serializer):
    header, frames = serialize(array, serializers=(serializer,), on_error="raise")
    assert header["serializer"] == serializer
    header = pickle.loads(pickle.dumps(header))  # nothing in it is of this process
    if serializer == "dask":
        frames = [bytes(frame) for frame in frames]
    return deserialize(header, frames)


@pytest.mark.parametrize("serializer", ["dask", "cuda"])
@pytest.mark.parametrize("name", HOSTS)
def test_round_trip(name, serializer):
    host = HOSTS[name]
    again = round_trip(on_device(host), serializer)
    assert isinstance(again, cupola.Array)
    assert (again.shape, again.dtype) == (host.shape, host.dtype)
    assert again.get().tobytes("A") == host.tobytes("A")
    if host.size > 1:
        assert again.flags[:2] == (host.flags.c_contiguous, host.flags.f_contiguous)


@pytest.mark.parametrize("serializer", ["dask", "cuda"])
def test_views_are_packed(serializer):
    host = np.arange(1000.0).reshape(50, 20)
    view = cupola.to_device(host)[3:40:4, ::-2]
    header, frames = serialize(view, serializers=(serializer,), on_error="raise")
    assert sum(frame.nbytes for frame in frames) == view.nbytes
    again = deserialize(header, frames)
    assert np.array_equal(again.get(), host[3:40:4, ::-2])
    assert again.memory_nbytes <= view.nbytes
    assert again.flags.c_contiguous


def test_a_frame_in_device_memory_can_be_opened_by_the_receiver():
    """It is the array's own memory where that can be."""
    array = cupola.to_device(np.arange(10.0))
    assert not is_exportable(array.address)
    for number in range(2):
        header, (frame,) = serialize(array, serializers=("cuda",), on_error="raise")
        assert is_exportable(frame.address)
        assert (frame.address == array.address) == (number == 1)
        array = deserialize(header, [frame])
        assert np.array_equal(array.get(), np.arange(10.0))
        assert array.address == frame.address


def test_a_frame_where_memory_is_short(monkeypatch):
    def alloc(*arguments, **options):
        raise cupola.OutOfMemoryError("out of memory")

    array = cupola.to_device(np.arange(10.0))
    monkeypatch.setattr(cupola, "alloc", alloc)
    header, (frame,) = serialize(array, serializers=("cuda",), on_error="raise")
    assert frame.address == array.address
    assert np.array_equal(deserialize(header, [frame]).get(), np.arange(10.0))


def test_a_frame_of_another_library_is_taken():
    """UCX delivers memory of RMM, which has version 0 of the interface alone."""
    array = cupola.to_device(np.arange(10.0))
    header, (frame,) = serialize(array, serializers=("cuda",), on_error="raise")
    interface = frame.__cuda_array_interface__

    old = {"data": interface["data"], "shape": (80,), "strides": None, "typestr": "|u1"}
    buffer = SimpleNamespace(__cuda_array_interface__={**old, "version": 0})
    assert np.array_equal(deserialize(header, [buffer]).get(), np.arange(10.0))


def test_a_short_frame_is_an_error():
    array = cupola.to_device(np.arange(10.0))
    header, (frame,) = serialize(array, on_error="raise")
    with pytest.raises(ArgumentValueError, match=r"frame of 79 bytes .* has 80"):
        deserialize(header, [bytes(frame)[:-1]])
    header, (frame,) = serialize(array, serializers=("cuda",), on_error="raise")
    with pytest.raises(ArgumentValueError, match=r"frame of 72 bytes .* has 80"):
        deserialize(header, [frame[:-8]])
    with pytest.raises(ArgumentTypeError, match='use the serializers "dask"'):
        deserialize(header, [b"host"])


def test_the_receivers_current_device_is_used():
    """The number of the sender's device is not part of a message."""
    code = """
import pickle, numpy, cupola
from distributed.protocol import deserialize, serialize
with cupola.Device(1):
    array = cupola.to_device(numpy.arange(5))
header, frames = serialize(array, on_error="raise")
assert deserialize(header, frames).device_index == 0
with cupola.Device(2):
    assert deserialize(header, frames).device_index == 2
"""
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, "CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_DEVICES": "3"},
    )


def test_a_pickle_of_a_device_that_the_receiver_lacks():
    with_devices = {**os.environ, "CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_DEVICES": "3"}
    code = """
import pickle, sys, numpy, cupola
with cupola.Device(2):
    data = pickle.dumps(cupola.to_device(numpy.arange(5)))
assert pickle.loads(data).device_index == 2
sys.stdout.write(data.hex())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, env=with_devices, capture_output=True, text=True
    )
    array = pickle.loads(bytes.fromhex(done.stdout))
    assert array.device_index == 0 and array.get().tolist() == [0, 1, 2, 3, 4]


def test_pickles_have_their_elements_out_of_band():
    array = cupola.to_device(np.arange(1000.0))
    buffers = []
    data = pickle.dumps(array, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 500
    assert sum(buffer.raw().nbytes for buffer in buffers) == array.nbytes
    again = pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])
    assert np.array_equal(again.get(), array.get())


def test_sizes_are_those_of_the_memory():
    array = cupola.empty((1000, 10))
    assert sizeof(array) == array.memory_nbytes == 80_000
    assert sizeof(array[:3]) == 80_000  # keeps all of it
    assert array[:3].nbytes == 240
    assert sizeof([array, array]) >= 160_000
    foreign = cupola.Array.from_address(array.address, (10, 10), owner=array)
    assert sizeof(foreign) == 800
    array.free()
    assert array.memory_nbytes == 0


ORDERS = {
    "cupola first": "import cupola, distributed, dask.array",
    "arrays first": "import dask.array, cupola, distributed",
    "a part of Dask first": "import distributed.protocol, cupola, dask.array",
}


@pytest.mark.parametrize("name", ORDERS)
def test_each_process_finds_the_serializers(name, tmp_path):
    """By the entry point alone: nothing imports cupola.distributed before an array is met."""
    code = f"""
{ORDERS[name]}
import sys, numpy
from dask.array.dispatch import numel_lookup
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize
assert not [name for name in sys.modules if name.startswith("cupola.distributed")]
assert not [one for one in sys.meta_path if type(one).__module__ == "_cupola_dask"]
array = cupola.to_device(numpy.arange(6.0))
header, frames = serialize(array, on_error="raise")
assert header["serializer"] == "dask", header
assert deserialize(header, frames).get().tolist() == list(range(6))
assert sizeof(array) == 48
assert isinstance(numel_lookup(array, axis=None, keepdims=True), cupola.Array)
"""
    path = hooks.search_path(hooks.install(tmp_path))
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})


def test_importing_cupola_imports_nothing_of_dask():
    code = "import cupola, sys; assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_dask_an_error_says_what_to_install():
    code = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "dask" else found(name, *rest)
try:
    import cupola.distributed
except ImportError as error:
    assert "needs dask, which is not installed: pip install 'cupola[dask]'" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_objects_of_cupola_are_still_pickled():
    """Lazy registration does not claim every class of the package."""
    header, frames = serialize(cupola.Device(0), on_error="raise")
    assert header["serializer"] == "pickle"
    assert deserialize(header, frames) == cupola.Device(0)
    with pytest.raises(TypeError):
        dask_deserialize.dispatch(cupola.Device)
