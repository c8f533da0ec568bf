"""Host arrays in a capture: each launch reads the array itself, or the call is refused.

A copy that the host converts would keep the elements of the capture. test_capture_waits.py has the
calls that wait.
"""

import ctypes

import images
import numpy as np
import pytest
from graphs import everything_is_done

import cupola

__all__ = ["everything_is_done"]
N = 6
PAIR = np.dtype([("a", "<i4"), ("b", "<f4")])


class Converting:
    """Makes a new NumPy array at each call."""

    def __init__(self, host):
        self.host = host

    def __array__(self, dtype=None, copy=None):
        return self.host.astype(dtype or self.host.dtype)


def into(write):
    """A call that writes a host array into a new array of float32."""

    def call(host):
        target = cupola.zeros(N, np.float32)
        write(target, host)
        return target

    return call


def texels(host):
    target = cupola.CudaArray((N,), np.float32)
    target.set(host)
    return target


def numbers():
    return cupola.arange(N, dtype=np.float32)


DOORS = {
    "to_device": cupola.to_device,
    "to_device(dtype=)": lambda host: cupola.to_device(host, np.float32),
    "array": cupola.array,
    "array(dtype=)": lambda host: cupola.array(host, np.float32),
    "asarray": cupola.asarray,
    "asarray(dtype=)": lambda host: cupola.asarray(host, np.float32),
    "numpy.array(like=)": lambda host: np.array(host, np.float32, like=numbers()),
    "numpy.asarray(like=)": lambda host: np.asarray(host, np.float32, like=numbers()),
    "array_api.asarray": cupola.array_api.asarray,
    "Array.set": into(lambda target, host: target.set(host)),
    "x[...] =": into(lambda target, host: target.__setitem__(..., host)),
    "x[indices] =": into(lambda target, host: target.__setitem__([0, 1, 2, 3, 4, 5], host)),
    "x[mask] =": into(lambda target, host: target.__setitem__(np.ones(N, bool), host)),
    "put": into(lambda target, host: cupola.put(target, range(N), host)),
    "append": lambda host: np.append(numbers(), host),
    "insert": lambda host: np.insert(numbers(), 2, host),
    "isin": lambda host: np.isin(numbers(), host),
    "CudaArray.set": texels,
}
HOSTS = {
    "float32": lambda: np.arange(N, dtype=np.float32),
    "float64": lambda: np.arange(N, dtype=np.float64),
    "another byte order": lambda: np.arange(N, dtype=">f4"),
    "strided": lambda: np.arange(2 * N, dtype=np.float32)[::2],
    "int16": lambda: np.arange(N, dtype=np.int16),
    "bool": lambda: np.ones(N, np.bool_),
}


@pytest.mark.parametrize("make", HOSTS.values(), ids=HOSTS)
@pytest.mark.parametrize("call", DOORS.values(), ids=DOORS)
def test_each_launch_reads_the_host_array_or_the_call_is_refused(driver, call, make):
    stream, host = cupola.Stream(non_blocking=True), make()
    call(host)  # outside of a capture the array is converted
    try:
        with stream.capture() as graph:
            result = call(host)
    except cupola.ArgumentError as error:
        assert "the stream is being captured" in str(error)
        assert host.dtype != np.float32 or not host.flags.c_contiguous
        remedy = str(error).partition("; pass ")[2].partition(" for its values now")[0]
        values = eval(remedy, {"numpy": np, "array": host})
        with stream.capture() as graph:
            result = call(values)
    else:
        host[...] = host[::-1].copy()
        host[0] = 1
    graph.instantiate()(stream)
    stream.synchronize()
    np.testing.assert_array_equal(result.get(), call(host).get())


BUFFERS = {
    "memoryview": memoryview,
    "ctypes": lambda host: (ctypes.c_double * N).from_buffer(host),
    "an object with __array__": Converting,
    "without axes": lambda host: host[:1].reshape(()),
}


@pytest.mark.parametrize("buffer", BUFFERS.values(), ids=BUFFERS)
def test_other_host_memory_is_not_converted(driver, buffer):
    """By `Array.set`, assignment and `to_device`."""
    stream, source = cupola.Stream(non_blocking=True), buffer(np.arange(N, dtype=np.float64))
    shape = np.shape(source)
    x = cupola.zeros(shape, np.float32)
    cupola.Device().synchronize()
    doors = [
        x.set,
        lambda value: x.__setitem__(..., value),
        lambda value: cupola.to_device(value, "f4"),
    ]
    with stream.capture() as graph:
        for door in doors:
            with pytest.raises(cupola.ArgumentTypeError, match="being captured") as caught:
                door(source)
            remedy = str(caught.value).partition("; pass ")[2].partition(" for its values now")[0]
            door(eval(remedy, {"numpy": np, "array": source}))
    graph.instantiate()(stream)
    stream.synchronize()
    np.testing.assert_array_equal(x.get(), np.asarray(source))


def test_an_array_without_axes_is_read_by_each_launch(driver):
    stream, value = cupola.Stream(non_blocking=True), np.array(1, np.float32)
    x, y = cupola.zeros(N, np.float32), cupola.zeros((), np.float32)
    cupola.Device().synchronize()
    with stream.capture() as graph:
        x[1:] = value
        y.set(value)
        there = cupola.to_device(value)
    run = graph.instantiate()
    for now in (1, 2):
        value[()] = now
        run(stream)
        stream.synchronize()
        assert x.get().tolist() == [0] + [now] * 5 and y.get() == there.get() == now


def test_numbers_and_lists_are_values(driver):
    stream, listed = cupola.Stream(non_blocking=True), [1, 2, 3]
    x, y = cupola.zeros(3, np.float32), cupola.zeros(3, np.float32)
    cupola.Device().synchronize()
    with stream.capture() as graph:
        x[...] = listed
        y[...] = np.float64(4)
        there = cupola.to_device(listed, "f4")
    listed[0] = 9
    graph.instantiate()(stream)
    stream.synchronize()
    assert x.get().tolist() == there.get().tolist() == [1, 2, 3] and y.get().tolist() == [4] * 3


@pytest.mark.parametrize("dtype", ["f4", ">f4"])
def test_edges_and_orders_are_values(driver, dtype):
    """The host checks them once, so that no launch may read other ones."""
    stream, x = cupola.Stream(non_blocking=True), cupola.to_device(np.array([0, 2, 4], np.float32))
    edges, order = np.arange(5, dtype=dtype), np.array([2, 1, 0])
    cupola.Device().synchronize()
    with stream.capture() as graph:
        bins = cupola.digitize(x, edges)
        counts, _ = cupola.histogram(x, edges)
        places = cupola.searchsorted(-x, -x, sorter=order)
    edges[...], order[...] = edges[::-1].copy(), 10**9
    graph.instantiate()(stream)
    stream.synchronize()
    assert bins.get().tolist() == [1, 3, 5] and counts.get().tolist() == [1, 0, 1, 1]
    assert places.get().tolist() == [2, 1, 0]


def test_structs_of_another_byte_order_are_not_converted(driver):
    """The printed remedy has the fields of the dtype."""
    stream, host = cupola.Stream(non_blocking=True), np.zeros(3, PAIR.newbyteorder())
    host["a"], x = [1, 2, 3], cupola.zeros(3, PAIR)
    cupola.Device().synchronize()
    with stream.capture() as graph:
        for door in (x.set, cupola.to_device):
            with pytest.raises(cupola.ArgumentTypeError, match=r"numpy.dtype\(\[\('a'") as caught:
                door(host)
            remedy = str(caught.value).partition("; pass ")[2].partition(" for its values now")[0]
            door(eval(remedy, {"numpy": np, "array": host}))
    graph.instantiate()(stream)
    stream.synchronize()
    assert x.get()["a"].tolist() == [1, 2, 3]


def test_a_struct_for_a_variable_is_not_converted(driver):
    """The printed remedy makes the struct's dtype, and not only its size."""
    stream, variable = cupola.Stream(non_blocking=True), images.module().globals["counter"]
    before = variable.get(np.int32)
    value = np.array([(1, 2)], [("a", ">i2"), ("b", ">i2")])
    cupola.Device().synchronize()
    with stream.capture() as graph:
        with pytest.raises(cupola.ArgumentTypeError, match="value is of") as caught:
            variable.set(value)
        remedy = str(caught.value).partition("; pass ")[2].partition(" for its values now")[0]
        variable.set(eval(remedy, {"numpy": np, "value": value}))
    graph.instantiate()(stream)
    stream.synchronize()
    assert variable.get(np.int16).tolist() == [1, 2]
    variable.set(before)
