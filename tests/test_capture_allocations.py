"""Memory that a running capture allocated, and streams that take no part in the capture.

Work on another stream runs at once. The memory has no contents before the graph is launched, so
such work is refused with it, and the capture goes on.
"""

import copy
import pickle

import images
import numpy as np
import operations
import pytest
from graphs import everything_is_done, ints, kernel
from test_op import made
from working import assert_works

import cupola

__all__ = ["everything_is_done"]

N = 8
REFUSED_TEXT = "running capture allocated"


class Things:
    """Made before the capture begins; `y` is allocated in the capture."""

    def __init__(self):
        self.stream, self.other = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
        self.z = cupola.to_device(np.arange(N, dtype=np.int32))
        self.floats = cupola.ones(N, np.float32)
        self.raw = cupola.alloc(4 * N)
        self.copy = made(operations.COPY)
        self.copy(self.floats)
        self.y = self.memory = self.texels = None
        cupola.Device().synchronize()

    def allocate(self):
        self.y = self.z + 1
        self.memory = cupola.alloc(4 * N)
        self.memory.fill(1)
        self.texels = cupola.CudaArray(N, np.int32)
        self.texels.set(self.y)
        self.real = self.floats + 1


def on_other(call):
    def function(it):
        with it.other:
            return call(it)

    return function


def graph_with(it):
    graph = cupola.Graph()
    graph.add_fill(it.y, 1)
    graph.instantiate()(it.other)


def pipeline_with(it):
    host = np.zeros(1, np.int32)
    cupola.pipeline(kernel("accumulate"), arguments=[it.y, it.z, N], outputs=host, threads=N)


# Refused calls, by their text in a program; `on_other` makes the other stream the current one.
REFUSED = {
    "get": lambda it: it.y.get(stream=it.other),
    "get(out=)": lambda it: it.y.get(out=np.zeros(N, np.int32), stream=it.other),
    "get(out=) of another dtype": lambda it: it.y.get(out=np.zeros(N), stream=it.other),
    "get of a view": lambda it: it.y[::-2].get(stream=it.other),
    "get of rows": lambda it: it.y.reshape(2, 4)[:, 1:3].get(stream=it.other),
    "set": lambda it: it.y.set(np.zeros(N, np.int32), stream=it.other),
    "set of an array of a device": lambda it: it.y.set(it.z, stream=it.other),
    "set by it": lambda it: it.z.set(it.y, stream=it.other),
    "fill": lambda it: it.y.fill(9, stream=it.other),
    "fill of a view": lambda it: it.y[::2].fill(9, stream=it.other),
    "copy": lambda it: it.y.copy(stream=it.other),
    "launch": lambda it: kernel()[1, N, it.other](it.y, N),
    "launch by address": lambda it: kernel()[1, N, it.other](it.y.address, N),
    "launch with an inner address": lambda it: kernel()[1, 1, it.other](it.y.address + 4, 1),
    "launch of a view": lambda it: kernel()[1, 1, it.other](it.y[2:], 1),
    "launch with Memory": lambda it: kernel()[1, N, it.other](it.memory, N),
    "launch of a prepared kernel": lambda it: kernel().prepare(1, N, it.y, N)(stream=it.other),
    "launch without a copy of it": lambda it: kernel()[1, N, it.other](
        cupola.Array.from_address(it.y.address, N, np.int32), N
    ),
    "forall": lambda it: kernel().forall(N, stream=it.other)(it.y, N),
    "launch of a graph": graph_with,
    "Memory.copy_from": lambda it: it.memory.copy_from(bytes(4 * N), stream=it.other),
    "Memory.copy_from a Memory": lambda it: it.raw.copy_from(it.memory, stream=it.other),
    "Memory.copy_to": lambda it: it.memory.copy_to(bytearray(4 * N), stream=it.other),
    "Memory.fill": lambda it: it.memory.fill(3, stream=it.other),
    "CudaArray.get": lambda it: it.texels.get(stream=it.other),
    "CudaArray.set": lambda it: it.texels.set(it.z, stream=it.other),
    "CudaArray.set by it": lambda it: it.texels.set(it.y, stream=it.other),
    "with: x += 1": on_other(lambda it: it.y.__iadd__(1)),
    "with: x + 1": on_other(lambda it: it.y + 1),
    "with: x.sum()": on_other(lambda it: it.y.sum()),
    "with: x @ x": on_other(lambda it: it.real @ it.real),
    "with: x[:] = 1": on_other(lambda it: it.y.__setitem__(slice(None), 1)),
    "with: x[0] = 1": on_other(lambda it: it.y.__setitem__(0, 1)),
    "with: x[indices]": on_other(lambda it: it.y[np.array([1, 2])]),
    "with: x[mask]": on_other(lambda it: it.y[it.y > 0]),
    "with: float(x[0])": on_other(lambda it: float(it.y[0])),
    "with: tolist": on_other(lambda it: it.y.tolist()),
    "with: sort": on_other(lambda it: cupola.sort(it.y)),
    "with: astype": on_other(lambda it: it.y.astype(np.float32)),
    "with: pickle": on_other(lambda it: pickle.dumps(it.y)),
    "with: copy.copy": on_other(lambda it: copy.copy(it.y)),
    "with: __dlpack__": on_other(lambda it: it.y.__dlpack__()),
    "with: __dlpack__(stream=-1)": on_other(lambda it: it.y.__dlpack__(stream=-1)),
    "with: __cuda_array_interface__": on_other(lambda it: it.y.__cuda_array_interface__),
    "with: an operation": on_other(lambda it: it.copy(it.real)),
    "with: a pipeline": on_other(pipeline_with),
    "with: a function of kernels": on_other(
        lambda it: cupola.kernels.saxpy(2, it.real, it.floats)
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_memory_of_a_capture_is_refused_elsewhere(driver, call):
    it = Things()
    with it.stream.capture() as graph:
        it.allocate()
        with pytest.raises(cupola.Error, match=REFUSED_TEXT):
            call(it)
        host = it.y.get()
    run = graph.instantiate()
    run(it.stream)
    it.stream.synchronize()
    np.testing.assert_array_equal(host, np.arange(1, N + 1))
    assert (it.real.get() == 2).all()
    assert_works()


def test_the_error_names_the_argument_and_the_remedy(driver):
    it = Things()
    with it.stream.capture():
        it.allocate()
        with pytest.raises(cupola.ArgumentValueError) as error:
            kernel()[1, N, it.other](it.y, N)
    for text in ("increment: argument 0", "stream.wait(captured_stream)", "before the capture"):
        assert text in str(error.value)


def test_an_array_of_a_capture_is_shown_without_elements(driver):
    it = Things()
    with it.stream.capture():
        it.allocate()
        with it.other:
            shown = repr(it.y), str(it.y), repr(it.z)
    assert "shape=(8,)" in shown[0] and "[" not in shown[0] + shown[1] and "[0 1 2" in shown[2]


def test_other_streams_run_at_once_with_other_memory(driver):
    it = Things()
    with it.stream.capture() as graph:
        it.allocate()
        it.z.fill(5, stream=it.other)
        kernel()[1, N, it.other](it.z, N)
        assert (it.z.get(stream=it.other) == 6).all()
        with it.other:
            later = it.z + 1
            assert float(later.sum()) == 7 * N
    graph.instantiate()(it.stream)
    assert (it.y.get(stream=it.stream) == 7).all()


def test_a_stream_that_joined_may_use_the_memory(driver):
    it = Things()
    with it.stream.capture() as graph:
        it.allocate()
        it.other.wait(it.stream)
        kernel()[1, N, it.other](it.y, N)
        with it.other:
            host = it.y.get()
            more = it.y * 2
        it.stream.wait(it.other)
    graph.instantiate()(it.stream)
    it.stream.synchronize()
    np.testing.assert_array_equal(host, np.arange(N) + 2)
    np.testing.assert_array_equal(more.get(), 2 * (np.arange(N) + 2))


@pytest.mark.parametrize("is_lost", [False, True])
def test_the_memory_is_free_to_use_after_the_capture(driver, is_lost):
    it = Things()
    try:
        with it.stream.capture():
            it.allocate()
            if is_lost:
                raise KeyError
    except KeyError:
        pass
    it.y.fill(4, stream=it.other)
    kernel()[1, N, it.other](it.y, N)
    assert (it.y.get(stream=it.other) == 5).all()


def test_another_capture_may_use_the_memory(driver):
    """Its graph is launched later, too."""
    it, second = Things(), cupola.Stream(non_blocking=True)
    with it.stream.capture() as graph:
        it.allocate()
        with second.capture() as other:
            kernel()[1, N](it.y, N)
    graph.instantiate()(it.stream)
    it.stream.synchronize()
    other.instantiate()(second)
    second.synchronize()
    np.testing.assert_array_equal(it.y.get(), np.arange(N) + 2)


# -- the legacy default stream, for which streams that are not `non_blocking` wait -----------------


LEGACY = {
    "fill": lambda x, s: x.fill(1, stream=s),
    "get": lambda x, s: x.get(stream=s),
    "set": lambda x, s: x.set(np.zeros(1, np.int32), stream=s),
    "launch": lambda x, s: kernel()[1, 1, s](x, 1),
    "prepared launch": lambda x, s: kernel().prepare(1, 1, x, 1)(stream=s),
    "record": lambda x, s: s.record(),
    "wait": lambda x, s: s.wait(cupola.Stream()),
    "wait for it": lambda x, s: cupola.Stream().wait(s),
    "synchronize": lambda x, s: s.synchronize(),
    "done": lambda x, s: s.done,
    "launch_host_func": lambda x, s: s.launch_host_func(print, 1),
    "zeros": lambda x, s: cupola.zeros(1 << 20, stream=s),
    "x + 1": lambda x, s: x + 1,
    "float": lambda x, s: float(x[0]),
    "__dlpack__": lambda x, s: x.__dlpack__(),
    "another library's array": lambda x, s: kernel()[1, 1](Legacy(x), 1),
}


class Legacy:
    """An array whose data the legacy default stream makes."""

    def __init__(self, x):
        self.__cuda_array_interface__ = {**x.__cuda_array_interface__, "stream": 1}


@pytest.mark.parametrize("call", LEGACY.values(), ids=LEGACY)
def test_the_legacy_stream_is_refused_beside_a_capture(driver, call):
    """The driver would invalidate the capture."""
    stream, legacy, x = cupola.Stream(), cupola.Stream.legacy(), ints(0)
    images.module()["increment"][1, 1](x, 1)
    cupola.Device().synchronize()
    with stream.capture() as graph:
        kernel()[1, 1](x, 1)
        with pytest.raises(cupola.ArgumentError, match=r"legacy default stream .*non_blocking"):
            if call is LEGACY["another library's array"]:
                call(x, legacy)
            else:
                with legacy:
                    call(x, legacy)
        kernel()[1, 1](x, 1)
    graph.instantiate()(stream)
    stream.synchronize()
    assert x.get() == 3
    assert_works()
