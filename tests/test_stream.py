"""Order within streams and between them, shown with a gate: no clock decides."""

import ctypes
import os
import threading

import images
import numpy as np
import pytest
from gate import Gate, congruential
from working import refused

import cupola
from cupola.stream import stream_of


@pytest.fixture(autouse=True)
def everything_is_done(driver):
    yield
    cupola.Device().synchronize()


def value(number=0):
    there = cupola.to_device(np.array(number, np.uint32))
    cupola.Device().synchronize()  # streams that are not blocking don't wait for the copy
    return there


def step(stream, where, steps=1):
    images.module()["congruential"][1, 1, stream](where, steps)


def copy(stream, source, target):
    images.module()["copy_one"][1, 1, stream](source, target)


def test_a_launch_returns_before_its_kernel_ran():
    stream, x = cupola.Stream(non_blocking=True), value(5)
    assert stream.done
    with Gate(stream) as gate:
        for _ in range(100):
            step(stream, x)
        assert not stream.done
        gate.open()
        stream.synchronize()
        assert stream.done
    assert x.get() == congruential(5, 100)


def test_order_within_a_stream():
    stream, x, out = cupola.Stream(non_blocking=True), value(1), [value() for _ in range(20)]
    with Gate(stream):
        for i, target in enumerate(out):
            step(stream, x, i)
            copy(stream, x, target)
    total = np.cumsum(range(20)).tolist()
    assert [target.get() for target in out] == [congruential(1, n) for n in total]


@pytest.mark.parametrize("by", ["event", "stream", "protocol"])
def test_a_stream_waits_for_another(by):
    first, second = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
    x, out = value(3), value()
    with Gate(first):
        step(first, x, 10)
        if by == "event":
            event = cupola.Event()
            event.record(first)
            second.wait(event)
        else:
            second.wait(first if by == "stream" else Protocol(first))
        copy(second, x, out)
        assert not second.done
    assert out.get() == congruential(3, 10)


def test_what_is_queued_after_the_event_is_not_waited_for():
    first, second = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
    x, out = value(3), value()
    step(first, x, 10)
    event = first.record()
    with Gate(first):
        step(first, x, 10)
        second.wait(event)
        copy(second, x, out)
        second.synchronize()  # would stand till the gate gives up
    assert (out.get(), x.get()) == (congruential(3, 10), congruential(3, 20))


def test_streams_run_side_by_side(driver):
    if driver == "cpu" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("on one core the CPU device has one worker")
    first, second = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
    x = value(4)
    with Gate(first):
        step(second, x, 9)
        second.synchronize()
        assert not first.done
    assert x.get() == congruential(4, 9)


def test_the_default_stream_takes_turns_with_blocking_streams():
    blocking, x, out = cupola.Stream(), value(8), value()
    launch = images.module()["copy_one"].prepare(1, 1, x, out)
    with Gate(blocking) as gate:
        step(blocking, x, 10)
        launch()  # on the legacy default stream
        mark = cupola.Stream.current().record()
        assert not mark.done
        gate.open()
        mark.synchronize()
        assert blocking.done
    assert out.get() == congruential(8, 10)


def test_copies_are_in_order_with_kernels():
    stream = cupola.Stream(non_blocking=True)
    host = cupola.empty_pinned((), np.uint32)
    back = cupola.empty_pinned((), np.uint32)
    host[...], back[...] = 6, 99
    x = cupola.empty((), np.uint32, stream=stream)
    with Gate(stream):
        x.set(host, stream=stream)  # neither waits: host memory is page-locked
        step(stream, x, 4)
        assert x.get(out=back, stream=stream) is back
        assert back == 99
    assert back == congruential(6, 4)


def test_a_new_array_is_ordered_on_its_stream():
    stream = cupola.Stream(non_blocking=True)
    with Gate(stream), stream:
        x = cupola.zeros(1000, np.uint32)
        step(None, x, 7)
        part = x[:2]
    np.testing.assert_array_equal(part.get(), [congruential(0, 7), 0])


class Protocol:
    """Another library's stream."""

    def __init__(self, stream, version=0):
        self.stream, self.version = stream, version

    def __cuda_stream__(self):
        return self.version, self.stream.handle


class Offered:
    """Device memory which another library makes on a stream of its own."""

    def __init__(self, owner, stream):
        interface = {**owner.__cuda_array_interface__, "stream": stream.handle}
        self.owner, self.__cuda_array_interface__ = owner, interface


def test_foreign_memory_is_waited_for_on_its_stream():
    theirs, ours = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
    x, out, there, again = value(2), value(), value(), value()
    with Gate(theirs):
        step(theirs, x, 5)
        offered = Offered(x, theirs)
        copy(ours, offered, out)
        assert not ours.done
        there.set(offered, stream=ours)
        with ours:
            shared = cupola.asarray(offered)
            copy(None, shared, again)
    assert out.get() == there.get() == again.get() == congruential(2, 5)


class Stated(Protocol):
    """A stream that states its device, as those of PyTorch do."""

    def __init__(self, stream, device_index):
        super().__init__(stream)
        self.device_index = device_index


def library_stream(module, **attributes):
    """A stream of a release of a library that has no __cuda_stream__."""
    return type("Stream", (), {"__module__": module, **attributes})()


# Each call that takes a stream of another library, by the name that its errors begin with.
def doors():
    x = value(2)
    scale = cupola.elementwise(
        "unsigned *out, const unsigned *x", "out[i] = 2 * x[i]", name="scale"
    )
    scale(x, x)
    return {
        "": lambda stream: step(stream, x),
        "scale: argument stream: ": lambda stream: scale(x, x, stream=stream),
        "one: argument stream: ": lambda stream: stream_of(stream, x.device_index, "one"),
    }


def test_each_call_refuses_the_same_streams():
    stream = cupola.Stream()
    wrong = [
        (7, "a stream is a cupola.Stream or an object with __cuda_stream__, got int; for a CUst"),
        (Protocol(stream, version=1), "__cuda_stream__ has version 1; cupola supports version 0"),
        (Stated(stream, stream.device_index + 1), "the work for it is of "),
        (library_stream("other.cuda", ptr=stream.handle), "got Stream; for a CUstream handle use"),
        (library_stream("cupy.cuda", ptr=stream.handle, device_id=9), "the work for it is of"),
    ]
    for title, call in doors().items():
        for other, message in wrong:
            with pytest.raises(cupola.ArgumentError, match=message) as caught:
                call(other)
            assert str(caught.value).startswith(title)


def test_streams_of_libraries_without_the_protocol():
    stream = cupola.Stream(non_blocking=True)
    # Like the objects of these libraries, each one holds its stream.
    same = [
        Stated(stream, stream.device_index),
        library_stream(
            "torch.cuda.streams", cuda_stream=stream.handle, device_index=0, held=stream
        ),
        library_stream("cupy.cuda.stream", ptr=stream.handle, device_id=-1, held=stream),
        library_stream(
            "numba.cuda.cudadrv.driver", handle=ctypes.c_void_p(stream.handle), held=stream
        ),
        library_stream("numba_cuda.streams", handle=stream.handle, held=stream),
    ]
    for other in same:
        assert stream_of(other, 0) == stream
        for call in doors().values():
            call(other)
    default = library_stream("numba.cuda.cudadrv.driver", handle=ctypes.c_void_p(0))
    assert stream_of(default, 0) == cupola.Stream.from_handle(0)
    assert stream_of(None, 0) == cupola.Stream.current()


def test_foreign_streams():
    stream, x = cupola.Stream(non_blocking=True), value(5)
    assert stream.__cuda_stream__() == (0, stream.handle)
    wrapped = cupola.Stream.from_handle(stream.handle, owner=stream)
    assert wrapped == stream and wrapped.handle == stream.handle
    assert hash(wrapped) == hash(stream) and stream != cupola.Stream()
    with Gate(stream):
        for other in (wrapped, Protocol(stream)):
            step(other, x)
            assert not wrapped.done
        images.module()["congruential"].launch(1, 1, x, 1, stream=Protocol(stream))
    assert x.get() == congruential(5, 3)
    for wrong in (Protocol(stream, 1), object(), 5, "s"):
        with refused(cupola.ArgumentError, TypeError, saying="stream"):
            stream.wait(wrong)
    for wrong in (-1, True, 1.0, None, "1"):
        with refused(cupola.ArgumentError, TypeError, saying="handle"):
            cupola.Stream.from_handle(wrong)


def test_a_wrapped_stream_keeps_its_owner():
    class Owner:
        gone = False

        def __init__(self, stream):
            self.stream = stream

        def __del__(self):
            Owner.gone = True

    stream = cupola.Stream()
    wrapped = cupola.Stream.from_handle(stream.handle, owner=Owner(stream))
    assert not Owner.gone
    wrapped.synchronize()
    del wrapped
    assert Owner.gone


def test_with_statements_nest():
    default, one, two = cupola.Stream.current(), cupola.Stream(), cupola.Stream()
    assert default.handle in (0, 1)
    with one as entered:
        assert entered is one and cupola.Stream.current() == one
        with two, one:
            assert cupola.Stream.current() == one
            with one:
                assert cupola.Stream.current() == one
        assert cupola.Stream.current() == one
        with pytest.raises(RuntimeError), two:
            assert cupola.Stream.current() == two
            raise RuntimeError
        assert cupola.Stream.current() == one
    assert cupola.Stream.current() == default


def test_leaving_out_of_order_is_an_error():
    one, two = cupola.Stream(), cupola.Stream()
    one.__enter__()
    two.__enter__()
    with refused(cupola.ArgumentError, ValueError, saying="last"):
        one.__exit__(None, None, None)
    two.__exit__(None, None, None)
    one.__exit__(None, None, None)
    with refused(cupola.ArgumentError, ValueError):
        one.__exit__(None, None, None)
    assert cupola.Stream.current() not in (one, two)


def test_each_thread_has_its_own_current_stream():
    seen, mine = {}, cupola.Stream()

    def other():
        seen["first"] = cupola.Stream.current()
        with cupola.Stream() as own:
            seen["own"] = cupola.Stream.current() == own
            entered.set()
            left.wait(30)
            seen["still"] = cupola.Stream.current() == own

    entered, left = threading.Event(), threading.Event()
    with mine:
        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(30)
        assert cupola.Stream.current() == mine
    left.set()
    thread.join()
    assert seen == {"first": cupola.Stream.current(), "own": True, "still": True}


def test_the_current_stream_is_what_everything_uses():
    stream, x, out = cupola.Stream(non_blocking=True), value(1), value()
    launch = images.module()["congruential"].prepare(1, 1, x, 2)
    with Gate(stream), stream:
        images.module()["congruential"][1, 1](x, 2)
        images.module()["congruential"].launch(1, 1, x, 2)
        images.module()["congruential"].forall(1)(x, 0)
        launch()
        out.set(x)
        event = cupola.Event()
        event.record()
        assert not event.done
    assert x.get() == out.get() == congruential(1, 6)


def test_a_stream_that_is_let_go_still_does_its_work():
    x, first = value(7), cupola.Stream(non_blocking=True)
    gate = Gate(first)
    with gate:
        step(first, x, 50)
        del first, gate.stream
    assert x.get() == congruential(7, 50)


def test_priorities_and_repr():
    for priority in (0, -1, 5, -100):  # beyond the device's range: the nearest
        x, stream = value(1), cupola.Stream(priority=priority)
        stream.wait(cupola.Stream.current())
        step(stream, x)
        stream.synchronize()
        assert x.get() == congruential(1, 1)
    assert repr(stream) == f"<cupola.Stream {stream.handle:#x} on device 0>"


def test_the_default_streams_as_objects(driver):
    if driver == "cpu" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("on one core the CPU device has one worker")
    legacy, own = cupola.Stream.legacy(), cupola.Stream.per_thread()
    assert (legacy.handle, own.handle) == (1, 2)
    assert legacy.__cuda_stream__() == (0, 1) and not legacy.non_blocking
    x, y = value(1), value(1)
    for stream in (legacy, own):
        step(stream, x)
        stream.synchronize()
        assert stream.done
    seen = {}

    def other():
        with cupola.Stream.per_thread() as mine:  # the stream of this thread, which no gate holds
            images.module()["congruential"][1, 1](y, 1)
            mine.synchronize()
        seen["done"] = y.get(out=np.empty((), np.uint32), stream=mine)

    with Gate(own):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(30)
        assert seen["done"] == congruential(1, 1)
    assert x.get() == congruential(1, 2)


def test_priorities_of_the_device():
    least, greatest = cupola.Stream.priorities()
    assert least >= greatest
    assert cupola.Stream(priority=greatest).priority == greatest
    assert cupola.Stream(priority=greatest - 100).priority == greatest
    assert cupola.Stream(priority=least + 100).priority == least
    assert cupola.Stream(non_blocking=True).non_blocking
    assert not cupola.Stream().non_blocking
