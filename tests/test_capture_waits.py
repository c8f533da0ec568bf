"""Calls that wait or that give the host a result at once are refused in a capture.

The capture goes on after each: its graph is complete and runs. test_capture_modes.py has the calls
that work beside a capture.
"""

import copy
import inspect
import pickle
import re
import types

import images
import numpy as np
import pytest
from graphs import everything_is_done, ints, kernel
from working import assert_works

import cupola

__all__ = ["everything_is_done"]


class Things:
    """Made before the capture begins."""

    def __init__(self):
        self.stream, self.other = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
        self.x = cupola.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
        self.i, self.one = ints(0, 1, 2), cupola.to_device(np.array(3, np.int32))
        self.mask, self.p = self.i > 0, cupola.to_device(np.full(4, 0.25))
        self.event, self.early = cupola.Event(), self.other.record()
        self.rng = cupola.random.default_rng(1)
        self.xorwow = cupola.random.XORWOW(1)
        self.launch = kernel().prepare(1, 1, self.i, 1)
        self.counter = images.module().globals["counter"]
        self.host = np.zeros(6, np.float32)
        self.module = cupola.load(images.SCALE)
        cupola.Device().synchronize()

    def recorded(self):
        self.event.record()
        return self.event


def double(chunk, stream, inputs, outputs):
    outputs[0].set(inputs[0] + inputs[0], stream=stream)


# Refused calls, by the public name, or by their text in a program.
REFUSED = {
    "cupola.device.Device.synchronize": lambda it: cupola.Device().synchronize(),
    "cupola.stream.Stream.synchronize": lambda it: it.stream.synchronize(),
    "stream.done": lambda it: it.stream.done,
    "cupola.event.Event.synchronize": lambda it: it.recorded().synchronize(),
    "event.done": lambda it: it.recorded().done,
    "cupola.event.Event.elapsed_since": lambda it: it.recorded().elapsed_since(it.early),
    "elapsed_since a captured event": lambda it: it.early.elapsed_since(it.recorded()),
    "cupola.stream.Stream.wait": lambda it: it.stream.wait(it.other),
    "stream.wait(event)": lambda it: it.stream.wait(it.early),
    "legacy.wait(event)": lambda it: cupola.Stream.legacy().wait(it.recorded()),
    "float": lambda it: float(it.x[0, 0]),
    "int": lambda it: int(it.one),
    "complex": lambda it: complex(it.one),
    "bool": lambda it: bool(it.one),
    "if sum": lambda it: 1 if it.x.sum() else 2,
    "index": lambda it: [1, 2, 3, 4][it.one],
    "format": lambda it: f"{it.one:d}",
    "in": lambda it: 2 in it.i[:1],
    "numbers of an iteration": lambda it: [int(each) for each in it.i],
    "pickle": lambda it: pickle.dumps(it.x),
    "pickle of a launch": lambda it: pickle.dumps(it.launch),
    "copy.copy": lambda it: copy.copy(it.x),
    "copy.deepcopy": lambda it: copy.deepcopy(it.x),
    "numpy.array_equal": lambda it: np.array_equal(it.x, it.x),
    "cupola.array.Array.item": lambda it: it.one.item(),
    "cupola.array.Array.tolist": lambda it: it.x.tolist(),
    "cupola.array.Array.nonzero": lambda it: it.i.nonzero(),
    "x[mask]": lambda it: it.i[it.mask],
    "cupola.nonzero": lambda it: cupola.nonzero(it.i),
    "cupola.array_api.nonzero": lambda it: cupola.array_api.nonzero(it.i),
    "cupola.flatnonzero": lambda it: cupola.flatnonzero(it.i),
    "cupola.argwhere": lambda it: cupola.argwhere(it.i),
    "cupola.where": lambda it: cupola.where(it.mask),
    "cupola.compress": lambda it: cupola.compress(it.mask, it.i),
    "cupola.extract": lambda it: cupola.extract(it.mask, it.i),
    "cupola.unique": lambda it: cupola.unique(it.i),
    "cupola.array_api.unique_all": lambda it: cupola.array_api.unique_all(it.i),
    "cupola.array_api.unique_counts": lambda it: cupola.array_api.unique_counts(it.i),
    "cupola.array_api.unique_inverse": lambda it: cupola.array_api.unique_inverse(it.i),
    "cupola.array_api.unique_values": lambda it: cupola.array_api.unique_values(it.i),
    "cupola.union1d": lambda it: cupola.union1d(it.i, it.i),
    "cupola.intersect1d": lambda it: cupola.intersect1d(it.i, it.i),
    "cupola.setdiff1d": lambda it: cupola.setdiff1d(it.i, it.i),
    "cupola.setxor1d": lambda it: cupola.setxor1d(it.i, it.i),
    "cupola.allclose": lambda it: cupola.allclose(it.x, it.x),
    "cupola.array_equal": lambda it: cupola.array_equal(it.x, it.x),
    "cupola.bincount": lambda it: cupola.bincount(it.i),
    "cupola.histogram": lambda it: cupola.histogram(it.x),
    "histogram by a rule": lambda it: cupola.histogram(it.x, "fd"),
    "histogram by edges": lambda it: cupola.histogram(it.x, it.x[0]),
    "cupola.digitize": lambda it: cupola.digitize(it.x, it.x[0]),
    "cupola.repeat": lambda it: cupola.repeat(it.i, it.i),
    "cupola.random.generator.Generator.bytes": lambda it: it.rng.bytes(8),
    "cupola.random.generator.Generator.choice": lambda it: it.rng.choice(4, p=it.p),
    "In": lambda it: kernel()[1, 1](cupola.In(np.zeros(1, np.int32)), 1),
    "InOut": lambda it: kernel()[1, 1](cupola.InOut(np.zeros(1, np.int32)), 1),
    "Out": lambda it: kernel()[1, 1](cupola.Out(np.zeros(1, np.int32)), 1),
    "a function of kernels on the host": lambda it: cupola.kernels.saxpy(2, it.host, it.host),
    "Variable.get": lambda it: it.counter.get(np.int32),
    "cupola.pipeline": lambda it: cupola.pipeline(
        double, inputs=it.host, outputs=np.zeros(6, np.float32), chunk=2
    ),
    "cupola.module.Module.unload": lambda it: it.module.unload(),
}
ON_THE_CPU_DEVICE = {
    "numpy.from_dlpack": lambda it: np.from_dlpack(it.x),
    "makers on NumPy arrays": lambda it: cupola.elementwise("float* x", "x[i] = 1", name="one")(
        np.zeros(3, np.float32)
    ),
}

# Public names whose docstrings speak of waiting, for another reason.
NOT_REFUSED = {
    "cupola.alloc": "other streams wait; freeing exportable memory is put off",
    "cupola.array.Array.host": "tells the program to wait",
    "cupola.asarray": "streams wait for each other",
    "cupola.count_nonzero": "says that it does not wait",
    "cupola.coverage.stop": "tells the program to wait",
    "cupola.empty": "other streams wait",
    "cupola.from_dlpack": "streams wait for each other",
    "cupola.hello": "runs on a stream of its own",
    "cupola.isin": "does not wait for these operands",
    "cupola.kernel.Kernel.launch": "waits for In, Out and InOut alone",
    "cupola.kernels.asarray": "streams wait for each other",
    "cupola.kernels.hello": "runs on a stream of its own",
    "cupola.managed": "tells the program to wait",
    "cupola.nanargmin": "the host does not check",
    "cupola.put": "the device checks its indices",
    "cupola.profile": "waits at the end of the block, for other streams",
    "cupola.random.xorwow.XORWOW.advance": "is on the host",
    "cupola.random.xorwow.XORWOW.state": "is on the host until numbers were made",
    "cupola.ravel_multi_index": "does not check",
    "cupola.record": "leaves launches of captures out",
    "cupola.register_host": "freeing is put off",
    "cupola.set_trace": "of the debugger",
    "cupola.stream.Stream.capture": "describes this",
    "cupola.stream.Stream.launch_host_func": "later work waits",
    "cupola.stream.Stream.legacy": "streams wait for each other",
    "cupola.stream.Stream.non_blocking": "streams wait for each other",
    "cupola.take": "the device checks its indices",
    "cupola.texture.CudaArray.get": "a node, as Array.get",
    "cupola.unravel_index": "does not check",
}


def documented_to_wait():
    """Public functions, methods and properties with the word in their docstrings."""
    seen, found, todo = set(), set(), [("cupola", cupola)]
    while todo:
        path, owner = todo.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        for name in dir(owner):
            value = None if name.startswith("_") else getattr(owner, name, None)
            place = getattr(value, "__module__", None) or ""
            if isinstance(value, types.ModuleType):
                if value.__name__.startswith("cupola.") and value.__name__.count(".") == 1:
                    todo.append((value.__name__, value))
            elif inspect.isclass(value):
                if place.startswith("cupola"):
                    todo.append((f"{place}.{value.__qualname__}", value))
            elif {"wait", "waits"} & set((value.__doc__ or "").lower().replace(".", " ").split()):
                found.add(f"{path}.{name}")
    return found


def test_every_call_that_waits_is_in_the_tables(driver):
    listed = {*REFUSED, *NOT_REFUSED}
    assert documented_to_wait() <= listed, documented_to_wait() - listed
    assert not set(REFUSED) & set(NOT_REFUSED)


def refused_in_a_capture(call):
    it, x = Things(), ints(0)
    with it.stream.capture() as graph:
        kernel()[1, 1](x, 1)
        with pytest.raises(cupola.ArgumentError, match="captur"):
            call(it)
        kernel()[1, 1](x, 1)
    run = graph.instantiate()
    for turn in range(1, 3):
        run(it.stream)
        it.stream.synchronize()
        assert x.get() == 2 * turn
    assert_works()


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_a_call_that_waits_is_refused_and_the_capture_goes_on(driver, call):
    refused_in_a_capture(call)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("float", "float()"), ("int", "int()"), ("complex", "complex()"), ("bool", "bool()"),
        ("cupola.array.Array.item", "item()"), ("cupola.array.Array.tolist", "tolist()"),
        ("pickle", "pickling an array"), ("x[mask]", r"x\[key\]: .*cupola.where"),
        ("cupola.nonzero", "nonzero: .*mask.sum"), ("cupola.argwhere", "argwhere: .*cumsum"),
        ("cupola.unique", "unique: .*cupola.sort"), ("cupola.union1d", "union1d: .*cupola.sort"),
        ("cupola.intersect1d", "intersect1d: .*isin"), ("cupola.setdiff1d", "setdiff1d: .*isin"),
        ("cupola.setxor1d", "setxor1d: .*isin"), ("cupola.extract", "extract: .*cupola.where"),
        ("cupola.compress", "compress: .*cupola.where"), ("cupola.digitize", "digitize: argument"),
        ("cupola.bincount", "bincount: .*cupola.histogram"), ("cupola.repeat", "repeat: argument"),
        ("Variable.get", r"counter.get\(\): .*array\(dtype\)"),
        ("a function of kernels on the host", "saxpy: .*to_device"),
        ("cupola.pipeline", "pipeline: .*to_device"),
        ("cupola.stream.Stream.synchronize", "synchronize after the graph"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_call_and_a_remedy(driver, name, text):
    it = Things()
    pattern = text if "*" in text else re.escape(text)
    with it.stream.capture(), pytest.raises(cupola.ArgumentError, match=pattern):
        REFUSED[name](it)


def test_the_remedies_work_in_a_capture(driver):
    it = Things()
    with it.stream.capture() as graph:
        kept = cupola.where(it.mask, it.i, -1)
        count, places = it.mask.sum(), cupola.cumsum(it.mask) - 1
        in_order = cupola.sort(it.i.ravel())
        begins = in_order[1:] != in_order[:-1]
        among = cupola.isin(it.i, it.i[:1])
        counts, _ = cupola.histogram(it.i, 3, range=(0, 3))
        taken, row = cupola.take(it.i, it.one, mode="clip"), it.x[it.i[:1]]
        it.x.get(out=it.host.reshape(2, 3))
        number = it.counter.array(np.int32).get()
    graph.instantiate()(it.stream)
    it.stream.synchronize()
    assert kept.get().tolist() == [-1, 1, 2]
    assert count.get() == 2 and places.get().tolist() == [-1, 0, 1]
    assert row.get().tolist() == it.x.get()[:1].tolist()
    assert begins.get().all() and among.get().tolist() == [True, False, False]
    assert counts.get().tolist() == [1, 1, 1] and taken.get() == 2
    assert it.host.tolist() == list(range(6)) and number[0] == it.counter.get(np.int32)[0]


@pytest.mark.cpu_only(reason="elsewhere NumPy's arrays are refused at any time")
@pytest.mark.parametrize("call", ON_THE_CPU_DEVICE.values(), ids=ON_THE_CPU_DEVICE)
def test_what_waits_on_the_cpu_device_alone(driver, call):
    refused_in_a_capture(call)


@pytest.mark.parametrize("mode", ["thread_local", "global", "relaxed"])
def test_an_event_of_a_capture_can_be_used_again(driver, mode):
    """After it is recorded outside, the host can wait for it."""
    it = Things()
    with it.stream.capture(mode):
        kernel()[1, 1](it.i, 3)
        assert it.recorded() is it.event
    with pytest.raises(cupola.ArgumentError, match="recorded in a captured stream"):
        it.event.synchronize()
    it.event.record(it.other)
    it.event.synchronize()
    assert it.event.done and it.event.elapsed_since(it.event) == 0


def test_what_is_shown_in_a_capture_has_no_elements(driver):
    it = Things()
    with it.stream.capture():
        shown = repr(it.x), str(it.x), f"{it.x}"
    assert all("shape=(2, 3)" in each and "[" not in each for each in shown)


def test_each_launch_writes_what_get_returned(driver):
    it = Things()
    with it.stream.capture() as graph:
        kernel()[1, 8](it.i, 3)
        host = it.i.get()
    run = graph.instantiate()
    for turn in range(1, 3):
        run(it.stream)
        it.stream.synchronize()
        np.testing.assert_array_equal(host, np.arange(3) + turn)


def test_a_variable_is_set_by_each_launch(driver):
    it, value = Things(), np.array([5], np.int32)
    before = it.counter.get(np.int32)
    with it.stream.capture() as graph:
        it.counter.set(value)
        with pytest.raises(cupola.ArgumentError, match="in C order"):
            it.counter.set(np.zeros((4, 2), np.uint8)[:, 0])
    assert it.counter.get(np.int32) == before
    run = graph.instantiate()
    for now in (5, 6):
        value[0] = now
        run(it.stream)
        it.stream.synchronize()
        assert it.counter.get(np.int32) == now
    it.counter.set(before)
