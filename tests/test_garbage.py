"""Garbage collection: each extension type that can hold Python objects takes part."""

import gc
import importlib
import pathlib
import sys
import time
import types
import weakref

import numpy as np
import pytest
from graphs import everything_is_done, ints, kernel
from test_texture import REFERENCES

import cupola
from cupola.declare.family_table import read
from cupola.tuning.family import Family

__all__ = ["everything_is_done"]

HAVE_GC, HEAP = 1 << 14, 1 << 9

# Extension types without garbage collection, and what they hold instead of Python objects.
WITHOUT = {
    "cupola.device.Device": "an index",
    "cupola.event.Event": "an event of the library",
    "cupola.graph.After": "handles of nodes, within a call",
    "cupola.native_event.NativeEvent": "an event of the library",
    "cupola.native_operation.NativeOperation": "an operation of the library",
    "cupola.pipelines.Chunk": "numbers",
    "cupola.pipelines.HostArgument": "an index",
    "cupola.pool.Pool": "an index",
    "cupola.profiler.Recording": "a recording of the library",
    "cupola.stream.Stream": "a stream of the library",
}


def extension_types():
    folder = pathlib.Path(cupola.__file__).parent
    for path in sorted([*folder.glob("*.so"), *folder.glob("arrays/*.so")]):
        parts = path.relative_to(folder.parent).with_name(path.name.partition(".")[0]).parts
        module = importlib.import_module(".".join(parts))
        for value in vars(module).values():
            if not isinstance(value, type) or value.__module__ != module.__name__:
                continue
            if not value.__flags__ & HEAP and not value.__module__.endswith("._shared"):
                yield f"{value.__module__}.{value.__qualname__}", value


def test_every_extension_type_is_collected_or_listed(driver):
    found = dict(extension_types())
    without = {name for name, kind in found.items() if not kind.__flags__ & HAVE_GC}
    assert "cupola.graph.Graph" in found and without == set(WITHOUT)


class Thing:
    """Owns what refers to it; has 1 MiB."""

    def __init__(self):
        self.memory = bytearray(1 << 20)

    def call(self, *given):
        self.given = given


class HostArray(np.ndarray):
    """NumPy's array with attributes."""


def host_array():
    return np.zeros(1000, np.float32).view(HostArray)


def graph_of_a_method():
    thing, graph = Thing(), cupola.Graph()
    graph.add_host(thing.call)
    thing.kept = graph
    return thing


def graph_and_what_is_ready():
    thing = graph_of_a_method()
    thing.run = thing.kept.instantiate()
    thing.other = thing.kept.instantiate()
    return thing


def launched_graph():
    thing = graph_and_what_is_ready()
    stream = cupola.Stream(non_blocking=True)
    for _ in range(3):
        thing.run(stream)
    stream.synchronize()
    assert thing.given == ()
    return thing


def only_what_is_ready():
    thing = graph_of_a_method()
    thing.kept = thing.kept.instantiate()
    return thing


def held_object():
    thing, graph = Thing(), cupola.Graph()
    graph.hold(thing, thing)
    graph.hold(thing)
    thing.kept = graph, graph.instantiate()
    return thing


def kernel_node():
    thing, graph = Thing(), cupola.Graph()
    thing.array = cupola.Array.from_address(ints(1).address, 1, np.int32, owner=thing)
    thing.kept = graph.add_kernel(kernel(), 1, 1, thing.array, 1)
    return thing


def updated_node():
    thing, x = kernel_node(), ints(1)
    thing.run = thing.kept.graph.instantiate()
    thing.run.update(thing.kept, x, 1)
    thing.run.update(thing.kept, thing.array, 1)
    return thing


def updated_graph():
    thing, graph = graph_of_a_method(), cupola.Graph()
    graph.add_host(print)
    thing.run = graph.instantiate()
    thing.run.update(thing.kept)
    return thing


def child_graph():
    thing, outer = graph_of_a_method(), cupola.Graph()
    outer.add_child(thing.kept)
    outer.add_child(thing.kept)
    thing.outer = outer, outer.instantiate()
    return thing


def captured():
    thing, stream = Thing(), cupola.Stream(non_blocking=True)
    capture = stream.capture()
    with capture as graph:
        stream.launch_host_func(thing.call)
    thing.kept = capture, graph, graph.instantiate()
    return thing


def captured_launch():
    thing, stream = only_what_is_ready(), cupola.Stream(non_blocking=True)
    with stream.capture() as graph:
        thing.kept(stream)
        thing.kept(stream)
    thing.outer = graph, graph.instantiate()
    return thing


def array_with_an_owner():
    thing = Thing()
    thing.kept = cupola.Array.from_address(ints(1).address, 1, np.int32, owner=thing)[:1]
    return thing


def memory_with_an_owner():
    host = host_array()
    host.kept = cupola.register_host(host)
    return host


def prepared_launch():
    thing = array_with_an_owner()
    thing.launch = kernel().prepare(1, 1, thing.kept, 1)
    return thing


def transfers():
    host = host_array()
    host.kept = cupola.Out(host), cupola.InOut(host)
    return host


def configured():
    class Queue(cupola.Stream):
        pass

    stream = Queue(non_blocking=True)
    stream.kept = kernel()[1, 1, stream]
    return stream


def texture():
    thing = Thing()
    memory = cupola.zeros(64, np.float32)
    thing.array = cupola.Array.from_address(memory.address, 64, np.float32, owner=(memory, thing))
    thing.kept = cupola.Texture(thing.array)
    return thing


def tensor_map():
    thing = Thing()
    memory = cupola.zeros(64, np.float32)
    array = cupola.Array.from_address(memory.address, 64, np.float32, owner=(memory, thing))
    thing.kept = cupola.TensorMap(array, 32)
    return thing


def surface():
    class Picture(cupola.CudaArray):
        pass

    picture = Picture((4, 4), np.float32, surface=True)
    picture.kept = cupola.Surface(picture)
    return picture


def stream_with_an_owner():
    thing, stream = Thing(), cupola.Stream(non_blocking=True)
    thing.kept = stream, cupola.Stream.from_handle(stream.handle, owner=thing)
    return thing


def stream_of_an_object():
    """A stream by the protocol of streams, within what a kernel's brackets keep."""
    thing, stream = Thing(), cupola.Stream(non_blocking=True)
    thing.__cuda_stream__ = lambda: (0, stream.handle)
    thing.kept = kernel()[1, 1, thing]
    return thing


def module_of_a_texture():
    thing = texture()
    variable = b".global .f32 shift;\n.global .surfref"
    thing.module = cupola.load(REFERENCES.replace(b".global .surfref", variable))
    thing.module.textures["image"] = thing.kept
    return thing


def kernel_of_a_texture():
    thing = module_of_a_texture()
    thing.module = thing.module["read"]
    return thing


def names_of_a_module():
    thing = module_of_a_texture()
    thing.module = thing.module.globals, thing.module.textures
    return thing


def variable_of_a_module():
    thing = module_of_a_texture()
    variable = thing.module.globals["shift"]
    thing.module = variable, variable.array(np.float32)
    return thing


def tensor_of_an_exporter():
    class Exporter(Thing):
        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    thing = Exporter()
    thing.array = ints(1, 2)
    thing.kept = cupola.from_dlpack(thing)
    return thing


def operation():
    op = cupola.op(
        {"float32": cupola.shipped_kernels()["saxpy"]},
        "saxpy",
        inputs={"x": "T[n]", "y": "T[n]"},
        outputs={"z": "T[n]"},
        scalars={"a": "float"},
        arguments=["a", "x", "y", "z", "n"],
        grid=["ceildiv(n, 32)"],
        block=[32],
    )
    x = cupola.ones(4, np.float32)
    assert op(x, x, a=2.0).get().tolist() == [3] * 4
    thing = Thing()
    thing.kept = op
    op.thing = thing
    return thing


class OneKernel:
    """The source of a family whose variants have one kernel."""

    def kernel(self, declaration, variant, types, index):
        return kernel()

    def parameters(self, declaration):
        return "x", "n"

    def dropped(self, capability, types):
        return {}

    def package(self, declaration):
        return ""


def family():
    table = {
        "kernel": "one", "tunables": {"TX": [1]}, "default": {"TX": 1}, "grid": "n", "block": "TX",
    }  # fmt: skip
    made, thing = Family(read(table), OneKernel()), Thing()
    made(ints(1), 1)
    thing.kept, made.thing = made, thing
    return thing


CYCLES = [
    graph_of_a_method, graph_and_what_is_ready, launched_graph, only_what_is_ready, held_object,
    kernel_node, updated_node, updated_graph, child_graph, captured, captured_launch,
    array_with_an_owner, memory_with_an_owner, prepared_launch, transfers, configured, texture,
    tensor_map, surface, stream_with_an_owner, stream_of_an_object, module_of_a_texture,
    kernel_of_a_texture, names_of_a_module, variable_of_a_module, tensor_of_an_exporter, operation,
    family,
]  # fmt: skip

# Types of which no object is in a cycle that users can make.
INSIDE = {
    "cupola._argument.Signature": "has the dtypes of parameters",
    "cupola._names.KeywordBinder": "has names",
    "cupola.array_access.Allocation": "has a function of CuPy or PyTorch",
    "cupola.array_access.ArrayAccess": "the base of the next three",
    "cupola.array_access.CupolaAccess": "one object in a process",
    "cupola.array_access.CupyAccess": "one object in a process, with functions of CuPy",
    "cupola.array_access.TorchAccess": "one object in a process, with functions of PyTorch",
    "cupola.arrays.gemm_call.GemmCall": "has the lock of a library",
    "cupola.arrays.planned_call.Plan": "has the dtypes and kernels of a call",
    "cupola.arrays.planned_call.PlannedCalls": "one for each function of the package",
    "cupola.arrays.planned_call.Result": "has the form of an array",
    "cupola.arrays.planned_call.Work": "within a call",
    "cupola.eager_call.EagerCall": "has plans",
    "cupola.eager_call.Plan": "has numbers of a call",
    "cupola.interface.Interface": "within a call",
    "cupola.kernels.CallContext": "within a call",
    "cupola.kernels.FamilyLaunch": "has a kernel",
    "cupola.pipelines.Pipeline": "releases the function and the arrays of users at its end",
    "cupola.pipelines.Slot": "has a pipeline",
    "cupola.transfer.In": "has a NumPy array of no subclass",
    "cupola.variant_choice.Chooser": "has kernels",
    "cupola.variant_choice.Entry": "has a kernel with its grid",
    "cupola.variant_choice.LaunchSteps": "has a declaration",
}


def kinds_in(thing):
    """The extension types of the objects that are in a cycle with the object.

    The names of modules are left out: they lead to all objects of the process.
    """
    names = {id(vars(module)) for module in list(sys.modules.values())}
    found, users, waiting = {}, {}, [thing]
    while waiting:
        user = waiting.pop()
        for each in gc.get_referents(user):
            if isinstance(each, (type, types.ModuleType)) or id(each) in names:
                continue
            users.setdefault(id(each), []).append(user)
            if id(each) not in found:
                found[id(each)] = each
                waiting.append(each)
    inside, waiting = {}, [thing]
    while waiting:
        for each in users.get(id(waiting.pop()), []):
            if id(each) not in inside:
                inside[id(each)] = each
                waiting.append(each)
    return {kind for each in inside.values() for kind in type(each).__mro__}


def test_every_collected_type_has_a_cycle(driver):
    kinds = {kind: name for name, kind in extension_types() if kind.__flags__ & HAVE_GC}
    seen = set().union(*(kinds_in(cycle()) for cycle in CYCLES))
    assert {name for kind, name in kinds.items() if kind not in seen} == set(INSIDE)


def is_collected(reference):
    """The library may release objects on a thread of its own."""
    for _ in range(100):
        gc.collect()
        if reference() is None:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("cycle", CYCLES, ids=lambda cycle: cycle.__name__)
def test_a_cycle_is_collected(driver, cycle):
    reference = weakref.ref(cycle())  # within the assertion, pytest would keep the object
    assert is_collected(reference)


@pytest.mark.parametrize("cycle", CYCLES, ids=lambda cycle: cycle.__name__)
def test_a_cycle_that_is_used_stays(driver, cycle):
    thing = cycle()
    kept = dict(vars(thing))
    for _ in range(3):
        gc.collect()
    assert vars(thing).keys() == kept.keys()
    assert all(vars(thing)[name] is value for name, value in kept.items())


@pytest.mark.parametrize("user", ["graph", "run", "outer graph", "outer run", "in flight"])
def test_what_a_graph_calls_stays_while_it_can_be_called(driver, user):
    """The object is reachable only by one owner of the library's reference."""
    seen, stream = [], cupola.Stream(non_blocking=True)

    class Caller:
        def __init__(self):
            self.kept = self.graph = cupola.Graph()
            self.graph.add_host(self.call)
            self.run = self.graph.instantiate()

        def call(self):
            seen.append(len(vars(self)))

    caller, outer = Caller(), cupola.Graph()
    outer.add_child(caller.graph)
    owners = {
        "graph": caller.graph, "run": caller.run, "outer graph": outer,
        "outer run": outer.instantiate(), "in flight": None,
    }  # fmt: skip
    owner, reference = owners[user], weakref.ref(caller)
    gate = cupola.Event()
    if user == "in flight":
        stream.launch_host_func(time.sleep, 0.2)
        caller.run(stream)
    gate.record(stream)
    del caller, outer, owners
    for _ in range(3):
        gc.collect()
    if owner is not None:
        run = owner.instantiate() if isinstance(owner, cupola.Graph) else owner
        run(stream)
        del run
    stream.synchronize()
    assert seen == [3]
    del owner
    assert is_collected(reference)
