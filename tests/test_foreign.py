"""Arrays of other libraries as arguments: the quick look at them sees what the long one sees."""

import importlib.util
import os
import subprocess
import sysconfig
from pathlib import Path

import images
import numpy as np
import pytest
from gate import Gate
from working import refused

import cupola


@pytest.fixture(scope="module")
def exchange(driver):
    """A module with a type that offers DLPack's C functions."""
    target = images.folder() / "exchange.so"
    include = sysconfig.get_paths()["include"]
    source = Path(__file__).with_name("exchange.c")
    command = [os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Werror", "-Wno-unused-function"]
    subprocess.run([*command, "-shared", "-fPIC", f"-I{include}", source, "-o", target], check=True)
    spec = importlib.util.spec_from_file_location("exchange", target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def x(driver):
    return cupola.zeros(8, np.int32)


def known(module, base, array):
    """An object whose type was read before, and the answers it gave by its interface."""
    asked = []

    class Known(base):
        answer = array.__cuda_array_interface__

        @property
        def __cuda_array_interface__(self):
            asked.append(True)
            return self.answer

    kernel = module["increment"]
    first = Known() if base is object else Known(array.address, array.shape, code=0)
    kernel[1, 1](first, 1)  # reads the dictionary as Python objects
    asked.clear()
    return Known, asked


def test_a_type_is_read_in_full_once(exchange, x):
    module = images.module()
    kind, asked = known(module, exchange.Tensor, x)
    before = exchange.asked()
    tensor = kind(x.address, x.shape, code=0)
    for _ in range(5):
        module["increment"][1, 1](tensor, 1)
    assert asked == [] and exchange.asked() == before + 5
    assert x.get()[0] == 6


@pytest.mark.parametrize("strides", [None, (4, 1), (4, 1, 1)])
@pytest.mark.parametrize("offset", [0, 8])
def test_where_the_elements_begin(exchange, x, strides, offset):
    module = images.module()
    kind, asked = known(module, exchange.Tensor, x)
    shape = (1, 4) if strides is None or len(strides) == 2 else (1, 4, 1)
    tensor = kind(x.address, shape, strides, code=0, offset=offset)
    module["increment"][1, 1](tensor, 1)
    assert asked == []
    expected = np.zeros(8, np.int32)
    expected[0] = 1
    expected[offset // 4] += 1
    np.testing.assert_array_equal(x.get(), expected)


@pytest.mark.parametrize(
    "what",
    [
        {"strides": (2,)},
        {"strides": (0,)},
        {"code": 2},
        {"code": 0, "bits": 64},
        {"code": 3},
        {"code": 250},
        {"bits": 4},
        {"lanes": 2},
        {"type": 1},
        {"type": 10},
        {"device": 1},
        {"fails": True},
    ],
)
def test_what_is_not_plain_is_read_in_full(exchange, x, what):
    """The interface, which says that all is well, decides: the quick look gives no opinion."""
    module = images.module()
    kind, asked = known(module, exchange.Tensor, x)
    tensor = kind(x.address, x.shape, **{"code": 0, **what})
    module["increment"][1, 1](tensor, 1)
    # Elements of another type are for the parameter to judge, where its type is known.
    assert asked or what in ({"code": 2}, {"code": 0, "bits": 64})
    assert x.get()[0] == 2


def test_elements_are_checked(exchange, x):
    kernel = cupola.load(images.described())["increment"]
    kind, _ = known({"increment": kernel}, exchange.Tensor, x)

    class Floats(kind):
        pass

    Floats.answer = {**x.__cuda_array_interface__, "typestr": "<f4"}

    kernel[1, 1](kind(x.address, x.shape, code=0), 1)
    kernel[1, 1](kind(x.address, x.shape, code=2), 1)  # by the full reader, the interface decides
    with refused(cupola.ArgumentTypeError, saying=("increment", "float32")):
        kernel[1, 1](Floats(x.address, x.shape, code=2), 1)
    assert x.get()[0] == 3


@pytest.mark.parametrize("base", ["exchange", "interface"])
def test_the_data_is_waited_for(exchange, x, base):
    """Pending work of the stream that the array names runs before the kernel."""
    module = images.module()
    theirs, ours = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
    by_exchange = base == "exchange"
    kind, _ = known(module, exchange.Tensor if by_exchange else object, x)
    cupola.Device().synchronize()
    if by_exchange:
        exchange.set_stream(theirs.handle)
        array = kind(x.address, x.shape, code=0)
    else:
        array = kind()
        array.answer = {**x.__cuda_array_interface__, "stream": theirs.handle}
    try:
        with Gate(theirs) as gate:
            module["increment"][1, 1, theirs](x, 1)
            module["increment"][1, 1, ours](array, 1)
            assert not ours.done
            gate.open()
            ours.synchronize()
    finally:
        exchange.set_stream(0)
    assert x.get()[0] == 3


def names(array, stream):
    """An object that offers the array, on a stream; its type was not seen before."""

    class Named:
        @property
        def __cuda_array_interface__(self):
            return {**array.__cuda_array_interface__, "stream": stream.handle}

    # The fast path refuses the type of the argument.
    images.module()["axpy"][1, 1](0.0, Named(), Named(), Named(), 0)
    return Named()


@pytest.mark.parametrize("order", ["aba", "aab", "abb", "aaa"])
def test_the_data_of_several_arrays_is_waited_for(driver, order):
    """The kernel waits for each of the streams that they name."""
    kernel = images.module("ptx")["axpy"]
    increment = images.module()["increment"]
    streams = {"a": cupola.Stream(non_blocking=True), "b": cupola.Stream(non_blocking=True)}
    ours = cupola.Stream(non_blocking=True)
    for late in sorted(set(order)):
        x, y, out = [cupola.zeros(4, np.float32) for _ in range(3)]
        arrays = [names(one, streams[key]) for one, key in zip((x, y, out), order, strict=True)]
        cupola.Device().synchronize()
        with Gate(streams[late]) as gate:
            kernel[1, 4, ours](2.0, *arrays, 4)
            increment[1, 1, ours](cupola.zeros(1, np.int32), 1)
            assert not ours.done
            gate.open()
            ours.synchronize()
        del gate  # its end would wait for the next one


def test_what_reading_an_argument_queues_is_waited_for(driver):
    """An array that is made as it is read: work on the stream of an array before it."""
    theirs, ours = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
    module = images.module()
    x, y, total = [cupola.zeros(8, np.float32) for _ in range(3)]
    gates = []

    class Lazy:
        @property
        def __cuda_array_interface__(self):
            if gates:
                gates[0].launch(stream=theirs)
            return {**y.__cuda_array_interface__, "stream": theirs.handle}

    first = names(x, theirs)
    module["axpy"][1, 1](0.0, Lazy(), Lazy(), Lazy(), 0)
    cupola.Device().synchronize()
    gate = Gate(theirs)
    gates.append(gate)
    kernel = module["axpy"]
    kernel[1, 1, ours](1.0, first, Lazy(), total, 0)
    assert not ours.done
    gate.open()
    ours.synchronize()
    assert gate.opened.get()[0] == 1


def test_an_array_of_a_stream_in_the_same_capture(x):
    """The other stream's work becomes a part of the graph, before the kernel."""
    theirs, ours = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
    increment = images.module()["increment"]
    array = names(x, theirs)
    cupola.Device().synchronize()
    with ours.capture() as graph:
        theirs.wait(ours)
        increment[1, 1, theirs](x, 1)
        increment[1, 1, ours](array, 1)
    assert x.get()[0] == 0
    graph.instantiate()()
    cupola.Device().synchronize()
    assert x.get()[0] == 2


def test_an_array_of_a_stream_outside_of_the_capture(x):
    theirs, ours = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
    increment = images.module()["increment"]
    array = names(x, theirs)
    cupola.Device().synchronize()  # non-blocking streams do not wait for the fill
    increment[1, 1, theirs](x, 1)
    with ours.capture() as graph:
        increment[1, 1, ours](array, 1)
    assert x.get()[0] == 1  # the launch waited only for the stream that the array names
    graph.instantiate()()
    cupola.Device().synchronize()
    assert x.get()[0] == 2


@pytest.mark.parametrize(
    "changed, saying",
    [
        ({"strides": (8,)}, "C-contiguous"),
        ({"mask": 1}, "mask"),
        ({"version": "3"}, "TypeError"),
        ({"typestr": "|O8"}, "objects"),
    ],
)
def test_interfaces_that_changed_are_refused(x, changed, saying):
    module = images.module()
    kind, _ = known(module, object, x)
    array = kind()
    module["increment"][1, 1](array, 1)
    array.answer = {**x.__cuda_array_interface__, **changed}
    with refused(cupola.ArgumentError, saying=saying):
        module["increment"][1, 1](array, 1)
    assert x.get()[0] == 2


def test_more_types_than_are_kept(x):
    module = images.module()
    arrays = []
    for _ in range(20):
        kind, _ = known(module, object, x)
        arrays.append(kind())
    for array in arrays:
        module["increment"][1, 1](array, 1)
    assert x.get()[0] == 40
