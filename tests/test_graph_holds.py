"""A graph keeps the objects that it uses alive, and releases them when it ends."""

import gc
import weakref

import images
import numpy as np
import pytest
from gate import Gate
from graphs import everything_is_done, ints, kernel, stream

import cupola

__all__ = ["everything_is_done", "stream"]


@pytest.mark.parametrize("how", ["capture", "nodes"])
def test_it_holds_what_it_uses(stream, how):
    """The names of arrays, kernel, module and graph are deleted; freed memory would be reused."""
    n = 1 << 16
    module = cupola.load(images.ptx())
    increment = module["increment"]
    x, out = cupola.zeros(n, np.int32), cupola.zeros(n, np.int32)
    back = cupola.empty_pinned(n, np.int32)
    back[:] = 0
    cupola.Device().synchronize()
    if how == "capture":
        gc.collect()  # another library's garbage would spoil the capture
        with stream.capture() as graph:
            increment[n // 64, 64](x, n)
            out.set(x)
            temporary = cupola.empty(n, np.int32)
            temporary.set(out)
            temporary.get(out=back, stream=stream)
            del temporary, x, out  # in the middle of the capture
            gc.collect()
    else:
        graph = cupola.Graph()
        one = graph.add_kernel(increment, n // 64, 64, x, n)
        two = graph.add_copy(out, x, after=one)
        graph.add_copy(back, out, after=two)
        del x, out, one, two
    run, back = graph.instantiate(), weakref.ref(back)
    del graph, module, increment
    gc.collect()
    taken = [cupola.to_device(np.full(n, 77, np.int32)) for _ in range(20)]
    for _ in range(5):
        run(stream)
    stream.synchronize()
    assert (back() == 5).all()
    assert all((each.get() == 77).all() for each in taken)
    del run
    gc.collect()
    assert back() is None


def test_what_ends_in_a_capture_does_not_spoil_it(stream):
    """The objects end as garbage that is collected during the capture."""
    x, other = ints(0), cupola.Stream()
    ended = [cupola.Graph(), cupola.Event(), cupola.load(images.ptx()), other]
    ended += [cupola.empty_pinned(64, np.int32), cupola.managed(64, np.int32)]
    ended[0].add_kernel(kernel(), 1, 1, x, 1)
    ended.append(ended[0].instantiate())
    ended[-1](other)
    ended[1].record(other)
    other.synchronize()
    del other
    with stream.capture() as graph:
        kernel()[1, 1](x, 1)
        ended.clear()
        gc.collect()
        kernel()[1, 1](x, 1)
    graph.instantiate()(stream)
    stream.synchronize()
    assert x.get() == 3


class Foreign:
    """Another library's memory, made on a stream of its own."""

    def __init__(self, owner, stream):
        interface = {**owner.__cuda_array_interface__, "stream": stream.handle}
        self.owner, self.__cuda_array_interface__ = owner, interface


def test_memory_of_other_libraries_is_waited_for_and_held(stream):
    theirs, x = cupola.Stream(non_blocking=True), ints(0)
    kernel()[1, 1, theirs](x, 1)
    foreign = Foreign(x, theirs)
    gone = weakref.ref(foreign)
    with stream.capture() as graph:
        kernel()[1, 1](foreign, 1)
    del foreign
    run = graph.instantiate()
    del graph
    gc.collect()
    assert gone() is not None and theirs.done
    run(stream)
    stream.synchronize()
    assert x.get() == 2
    del run
    gc.collect()
    assert gone() is None


def as_it_is(foreign):
    return foreign


def prepared(kernel, array):
    kernel.prepare(1, 1, array, 1)()


def replaced(kernel, array):
    launch = kernel.prepare(1, 1, None, 1)
    launch[0] = array
    launch()


def plain(kernel, array):
    kernel[1, 1](array, 1)


@pytest.mark.parametrize("use", [plain, prepared, replaced])
@pytest.mark.parametrize("take", [as_it_is, cupola.asarray], ids=["as it is", "as an Array"])
def test_a_graph_holds_memory_of_other_libraries(stream, use, take):
    theirs, x = cupola.Stream(non_blocking=True), ints(0)
    foreign = Foreign(x, theirs)
    cupola.Device().synchronize()
    gone = weakref.ref(foreign)
    with stream.capture() as graph:
        use(kernel(), take(foreign))
    del foreign
    run = graph.instantiate()
    del graph
    gc.collect()
    assert gone() is not None
    for _ in range(2):
        run(stream)
    stream.synchronize()
    assert x.get() == 2
    del run
    gc.collect()
    assert gone() is None


def test_copies_and_fills_hold_memory_of_other_libraries(stream):
    arrays = [cupola.zeros(8, np.int32) for _ in range(3)]
    owners = [Foreign(x, stream) for x in arrays]
    cupola.Device().synchronize()
    out = cupola.empty_pinned(8, np.int32)
    a, b, c = (cupola.Array.from_address(x.owner.address, 8, np.int32, owner=x) for x in owners)
    del arrays
    gone = [weakref.ref(x) for x in owners]
    with stream.capture() as graph:
        a.fill(7)
        b[:] = a
        c[::2] = b[::2]
        c.get(out=out, stream=stream)
    run = graph.instantiate()
    del a, b, c, owners, graph
    gc.collect()
    assert all(each() is not None for each in gone)
    run(stream)
    stream.synchronize()
    assert out.tolist() == [7, 0] * 4
    del run
    gc.collect()
    assert [each() for each in gone] == [None] * 3


@pytest.mark.cpu_only(reason="a GPU does not share NumPy's memory")
def test_a_graph_holds_the_memory_of_numpy(driver, stream):
    host = np.zeros(1 << 12, np.int32)
    gone, x = weakref.ref(host), cupola.from_dlpack(host)
    with stream.capture() as graph:
        kernel().prepare(1, 1, x, 1)()
    run = graph.instantiate()
    del host, x, graph
    gc.collect()
    run(stream)
    stream.synchronize()
    assert gone()[0] == 1
    del run
    gc.collect()
    assert gone() is None


def test_raw_memory_is_copied_by_each_launch(stream):
    memory, source, target = cupola.alloc(8), bytearray(b"abcdefgh"), bytearray(8)
    with stream.capture() as graph:
        memory.copy_from(source)
        memory.fill(ord("-"), 2, 3)
        memory.copy_to(target)
    assert target == bytes(8)
    run = graph.instantiate()
    del graph
    with pytest.raises(BufferError):
        source.append(0)  # the bytearray must keep its address
    source[:] = b"ABCDEFGH"
    run(stream)
    stream.synchronize()
    assert target == b"AB---FGH"
    del run
    gc.collect()
    source.append(0)


def test_every_kind_of_memory_comes_in_a_capture(stream):
    """The memory exists at once, and every launch of the graph uses the same."""
    host = np.zeros(4096, np.int32)
    with stream.capture() as graph:
        made = [cupola.empty(4, np.int32), cupola.managed(4, np.int32)]
        raw, pinned = cupola.alloc(16, exportable=True), cupola.empty_pinned(4, np.int32)
        registered = cupola.register_host(host)
        for each in made:
            each.fill(3)
            kernel()[1, 1](each, 1)
        raw.fill(1)
        made[0].get(out=pinned, stream=stream)
        registered.release()
        del raw
    run = graph.instantiate()
    for _ in range(3):
        run(stream)
    stream.synchronize()
    assert pinned.tolist() == [4, 3, 3, 3]
    assert made[1].host.tolist() == [4, 3, 3, 3]
    assert len(graph.nodes) == 6  # none of which allocates


def test_memory_is_given_back_when_the_graph_goes(stream):
    nbytes = 64 << 20
    before = cupola.memory_info().free
    for _ in range(40):
        with stream.capture() as graph:
            x = cupola.empty(nbytes, np.uint8)
            kernel()[1, 1](x.__cuda_array_interface__["data"][0], 1)  # found by its address
        run = graph.instantiate()
        run(stream)
        stream.synchronize()
        del x, graph, run
    gc.collect()
    cupola.Device().synchronize()
    assert cupola.memory_info().free > before - 20 * nbytes


def test_a_graph_that_goes_while_it_runs(stream):
    x = ints(0)
    with stream.capture() as graph:
        kernel()[1, 1](x, 1)
    run = graph.instantiate()
    with Gate(stream):
        run(stream)
        del run, graph
        gc.collect()
    assert x.get() == 1


# So wide that a fill is neither a pattern of four bytes nor passed by value.
WIDE = np.dtype([("key", np.int64), ("rest", np.uint8, 100)])
ELEMENTS = {
    "four bytes": np.int32(0x01020304),
    "eight bytes": np.float64(1 / 3),
    "wide": np.frombuffer(bytes(range(1, 109)), WIDE)[0],
}


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("name", ELEMENTS)
def test_a_captured_fill_holds_its_element(stream, name, step):
    element = ELEMENTS[name]
    given = np.zeros((), element.dtype)
    given[...] = element
    x = cupola.to_device(np.zeros(1 << 10, element.dtype))
    cupola.Device().synchronize()
    with stream.capture() as graph:
        if step == 1:
            x.fill(given)
        else:
            x[::step].fill(given)
    given[...] = np.zeros((), element.dtype)
    run = graph.instantiate()
    del graph, given
    gc.collect()
    taken = [cupola.to_device(np.full(size, 77, np.uint8)) for size in (8, 108, 512) * 20]
    run(stream)
    expected = np.zeros(1 << 10, element.dtype)
    expected[::step] = element
    assert x.get(stream=stream).tobytes() == expected.tobytes()
    assert all((each.get() == 77).all() for each in taken)


def test_a_captured_upload_reads_the_host_at_each_launch(stream):
    rows, wide = np.arange(8, dtype=np.int32), np.zeros((4, 1024), np.int32)
    x, y = cupola.zeros((3, 8), np.int32), cupola.zeros((4, 512), np.int32)
    cupola.Device().synchronize()
    with stream.capture() as graph:
        x[...] = rows  # repeated on the device
        y.set(wide[:, :512])  # long rows
    run = graph.instantiate()
    del graph
    for value in (3, 4):
        rows[:], wide[:] = value, value
        run(stream)
        assert (x.get(stream=stream) == value).all() and (y.get(stream=stream) == value).all()


def frozen_by_set(target, host):
    target.set(host)


def frozen_by_assignment(target, host):
    target[...] = host


@pytest.mark.parametrize("copy", [frozen_by_set, frozen_by_assignment])
@pytest.mark.parametrize("name", ["every other", "reversed", "columns"])
def test_an_upload_that_would_freeze_a_copy_is_refused(stream, copy, name):
    host = {
        "every other": np.arange(64, dtype=np.int32).reshape(4, 16)[:, ::2],
        "reversed": np.arange(32, dtype=np.int32).reshape(4, 8)[::-1],
        "columns": np.asfortranarray(np.arange(32, dtype=np.int32).reshape(4, 8)),
    }[name]
    x = cupola.zeros((4, 8), np.int32)
    refused = pytest.raises(cupola.ArgumentError, match=r"C-contiguous.*ascontiguousarray")
    with stream.capture(), refused:
        copy(x, host)
    copy(x, host)
    assert (x.get() == host).all()


def test_an_upload_that_would_freeze_converted_elements_is_refused(stream):
    x, host = cupola.zeros(8, np.float32), np.arange(8, dtype=np.float64)
    with stream.capture() as graph:
        with pytest.raises(cupola.ArgumentTypeError, match=r"float64.*numpy\.array\("):
            x[...] = host
        x[...] = [1, 2, 3, 4, 5, 6, 7, 8]  # values, and no memory of the program's
    graph.instantiate()(stream)
    assert x.get(stream=stream).tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
