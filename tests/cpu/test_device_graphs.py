"""Graphs that kernels of other graphs launch: order, uploads, limits, and what is refused."""

import ctypes
import struct
from ctypes import byref, c_int, c_uint64, c_void_p
from pathlib import Path

import images
import pytest
from driver_abi import *

from .conditions import linked
from .graphs import KERNEL, kernel_params
from .node_params import Graph

SOURCE = Path(__file__).with_name("device_graphs.cu")
AUTO_FREE, DEVICE_LAUNCH = 1, 4
NODE_REFUSED = 3  # CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
TAIL, FORGET, SIBLING = 1 << 56, 2 << 56, 3 << 56
# Errors of the runtime, as the kernels append them.
INVALID, PENDING, NOT_PERMITTED = -1, -69, -800


class Graphs:
    """Makes graphs of the kernels of device_graphs.cu, and runs them."""

    def __init__(self, cuda):
        self.cuda = cuda
        text = images.compiled("device_graphs.ptx", SOURCE, "-rdc=true", "-ptx", "-arch=compute_75")
        self.module = cuda.module(linked(cuda, text.read_text()))
        self.list = cuda.alloc(4096)
        cuda.cuMemsetD32_v2(self.list, 0, 1024)
        self.made, self.ready = [], []

    def graph(self, *kernels):
        """A graph whose kernels run one after another: each is a name and arguments."""
        graph, node = Graph(self.cuda), None
        self.made.append(graph)
        for name, *arguments in kernels:
            given = [
                argument if hasattr(argument, "value") else c_uint64(argument)
                for argument in arguments
            ]
            function = self.cuda.function(self.module, name)
            node = self.kernel(graph, function, given, [node] if node else [])
        return graph

    def kernel(self, graph, function, arguments, after):
        made = kernel_params(function, 1, 1, *arguments)
        graph.kept.append(made)
        return graph.add(KERNEL, bytes(made), after)[0]

    def host(self, *kernels):
        return self.instantiate(self.graph(*kernels), 0)

    def device(self, *kernels, upload=True):
        ready = self.instantiate(self.graph(*kernels), DEVICE_LAUNCH)
        if upload:
            self.upload(ready)
        return ready

    def instantiate(self, graph, flags):
        self.ready.append(graph.ready(flags))
        return self.ready[-1]

    def upload(self, ready):
        self.cuda.cuGraphUpload(ready, 0)
        self.cuda.cuCtxSynchronize()

    def write(self, address, handles):
        self.cuda.cuMemcpyHtoD_v2(address, (c_uint64 * len(handles))(*handles), 8 * len(handles))

    def append(self, number):
        return self.device(("append", self.list, c_int(number)))

    def run(self, ready, times=1):
        """Launches the graph and returns the list."""
        for _ in range(times):
            self.cuda.cuGraphLaunch(ready, 0)
        self.cuda.cuCtxSynchronize()
        words = self.cuda.read(self.list, 1024, c_int)
        return words[1 : 1 + words[0]]

    def refused(self, graph):
        """The code, and the result and node that cuGraphInstantiateWithParams reports."""
        given = (c_uint64 * 4)(DEVICE_LAUNCH, 0, 0, 0)
        code = self.cuda.code(
            "cuGraphInstantiateWithParams", byref(c_void_p()), graph.handle, given
        )
        return code, given[3] & 0xFFFFFFFF, given[2]

    def close(self):
        for ready in self.ready:
            self.cuda.code("cuGraphExecDestroy", ready)
        for graph in self.made:
            self.cuda.cuGraphDestroy(graph.handle)
        self.cuda.code("cuMemFree_v2", self.list)
        self.cuda.code("cuModuleUnload", self.module)


@pytest.fixture
def graphs(cuda):
    made = Graphs(cuda)
    yield made
    made.close()


@pytest.mark.parametrize("mode", ["forget", "tail", "sibling"])
def test_a_graph_of_the_host_launches_a_graph_each_time(graphs, mode):
    inner = graphs.append(7)
    outer = graphs.host((mode, graphs.list, inner, c_int(1)))
    assert graphs.run(outer, 3) == [1, 7] * 3


def test_a_tail_follows_the_whole_graph_and_its_children(graphs):
    forgotten, first, second = (graphs.append(n) for n in (5, 8, 9))
    outer = graphs.host(
        ("tail", graphs.list, first, c_int(0)),
        ("tail", graphs.list, second, c_int(1)),
        ("forget", graphs.list, forgotten, c_int(2)),
        ("append", graphs.list, c_int(3)),
    )
    found = graphs.run(outer)
    assert sorted(found[:5]) == [0, 1, 2, 3, 5] and found[5:] == [8, 9]


def test_the_tails_of_a_tail_run_before_the_next_tail(graphs):
    inner, last = graphs.append(5), graphs.append(9)
    first = graphs.device(("tail", graphs.list, inner, c_int(4)))
    outer = graphs.host(
        ("tail", graphs.list, first, c_int(0)), ("tail", graphs.list, last, c_int(1))
    )
    assert graphs.run(outer) == [0, 1, 4, 5, 9]


def test_the_stream_waits_for_all_graphs(graphs):
    """Also for siblings, which no graph waits for."""
    inner = graphs.append(5)
    middle = graphs.device(("sibling", graphs.list, inner, c_int(4)))
    outer = graphs.host(("forget", graphs.list, middle, c_int(1)))
    assert sorted(graphs.run(outer, 2)) == [1, 1, 4, 4, 5, 5]


@pytest.mark.parametrize("rounds", [1, 2, 1000])
def test_a_graph_launches_itself_as_a_tail(graphs, rounds):
    counter = graphs.list
    graphs.cuda.cuMemsetD32_v2(counter, rounds, 1)
    ready = graphs.device(("again", counter))
    graphs.cuda.cuGraphLaunch(ready, 0)
    graphs.cuda.cuCtxSynchronize()
    assert graphs.cuda.read(counter, 1) == [0]


def test_a_graph_can_launch_itself_once_and_only_as_a_tail(graphs):
    assert graphs.run(graphs.device(("again_twice", graphs.list))) == [INVALID, 0, 1, INVALID, 2]


@pytest.mark.usefixtures("own")  # an H200 answered in another way
def test_siblings_launch_each_other(graphs):
    counter, handles = graphs.list, graphs.list + 64
    graphs.cuda.cuMemsetD32_v2(counter, 100, 1)
    pair = [graphs.device(("in_turn", counter, handles + 8 * n)) for n in (1, 0)]
    graphs.write(handles, pair)
    graphs.cuda.cuGraphLaunch(pair[0], 0)
    graphs.cuda.cuCtxSynchronize()
    assert graphs.cuda.read(counter, 1) == [0]


def test_the_current_graph_is_a_device_graph(graphs):
    for make, expected in ((graphs.host, False), (graphs.device, True)):
        ready = make(("current", graphs.list))
        graphs.run(ready)
        assert graphs.cuda.read(graphs.list, 1, c_uint64) == [ready if expected else 0]
        graphs.cuda.cuMemsetD32_v2(graphs.list, 0, 2)


def test_an_update_needs_an_upload(graphs):
    inner = graphs.append(1)
    outer = graphs.host(("tail", graphs.list, inner, c_int(0)))
    changed = graphs.graph(("append", graphs.list, c_int(2)))
    graphs.cuda.cuGraphExecUpdate_v2(inner, changed.handle, (c_uint64 * 3)())
    assert graphs.run(outer) == [0, 1]
    graphs.upload(inner)
    assert graphs.run(outer) == [0, 1, 0, 2]


@pytest.mark.cpu_only("NVIDIA's documents do not define these calls")
def test_launches_that_are_refused(graphs):
    """Each leaves the list with an error, and the next launch works."""
    fresh = graphs.device(("append", graphs.list, c_int(5)), upload=False)
    plain = graphs.host(("append", graphs.list, c_int(6)))
    good = graphs.append(7)
    for graph, stream in ((fresh, TAIL), (plain, TAIL), (0x123, TAIL), (good, 0), (good, 5)):
        ready = graphs.host(("in_stream", graphs.list, graph, stream))
        assert graphs.run(ready)[-2:] == [INVALID, 0], (graph, stream)
    # The host's launch uploads the graph.
    assert graphs.run(fresh)[-1] == 5
    assert graphs.run(graphs.host(("in_stream", graphs.list, fresh, TAIL)))[-2:] == [0, 5]
    graphs.cuda.launch(
        graphs.cuda.function(graphs.module, "in_stream"),
        1,
        1,
        c_uint64(graphs.list),
        c_uint64(good),
        c_uint64(TAIL),
    )
    assert graphs.run(good)[-3:] == [NOT_PERMITTED, 0, 7]


def test_a_graph_is_launched_again_when_it_has_ended(graphs):
    inner = graphs.append(7)
    twice = ("forget", graphs.list, inner, c_int(1))
    found = graphs.run(graphs.host(twice, twice))
    # A GPU may refuse the second launch, because the first runs beside the kernel.
    assert found == [1, 7, 1, 7] or (graphs.cuda.on_hardware and INVALID in found)


@pytest.mark.usefixtures("own")  # an H200 answered in another way
@pytest.mark.parametrize("stream, limit", [(FORGET, 120), (TAIL, 255)])
def test_the_number_of_launches_has_a_limit(graphs, stream, limit):
    many = limit + 1
    made = [graphs.append(0) for _ in range(many)]
    handles = graphs.cuda.alloc(8 * many)
    graphs.write(handles, made)
    outer = graphs.host(("every", graphs.list, handles, c_int(many), stream))
    for _ in range(2):  # each run counts its own launches
        found = graphs.run(outer)
        assert found.count(0) == limit and found.count(PENDING) == 1 == len(found) - limit
        graphs.cuda.cuMemsetD32_v2(graphs.list, 0, 1024)
    graphs.cuda.cuMemFree_v2(handles)


@pytest.mark.usefixtures("own")  # an H200 answered in another way
def test_what_a_device_graph_cannot_contain(graphs, cuda):
    host, event = (c_int * 64)(), cuda.event()
    pageable = ctypes.addressof(host)
    bad = graphs.graph(("child", graphs.list))
    assert graphs.refused(bad)[:2] == (NOT_SUPPORTED, NODE_REFUSED)
    empty = Graph(cuda)
    graphs.made.append(empty)
    assert graphs.refused(empty)[0] == INVALID_VALUE
    for add in (
        lambda graph: graph.allocate(64)[0],
        lambda graph: graph.copy(pageable, graphs.list, 64, host=True),
        lambda graph: graph.add(5)[0],  # an empty node
        lambda graph: graph.add(7, struct.pack("Q", event))[0],  # a record
    ):
        graph = graphs.graph(("append", graphs.list, c_int(0)))
        node = add(graph)
        assert graphs.refused(graph) == (NOT_SUPPORTED, NODE_REFUSED, node)
    good = graphs.graph(("append", graphs.list, c_int(0)))
    code = cuda.code(
        "cuGraphInstantiateWithFlags", byref(c_void_p()), good.handle, DEVICE_LAUNCH | AUTO_FREE
    )
    assert code == INVALID_VALUE


def test_copies_and_fills_of_device_graphs_run(graphs, cuda):
    graph = Graph(cuda)
    graphs.made.append(graph)
    filled = graph.fill(graphs.list + 256, 9, 4)
    graph.copy(graphs.list + 512, graphs.list + 256, 16, after=[filled])
    inner = graphs.instantiate(graph, DEVICE_LAUNCH)
    graphs.upload(inner)
    graphs.run(graphs.host(("forget", graphs.list, inner, c_int(0))))
    assert cuda.read(graphs.list + 512, 4) == [9] * 4


def test_a_device_graph_keeps_its_rules_when_it_is_changed(graphs, cuda):
    ready = graphs.append(1)
    changed = graphs.graph(("child", graphs.list))
    info = (c_uint64 * 3)()
    assert cuda.code("cuGraphExecUpdate_v2", ready, changed.handle, info) == 910
    assert graphs.run(ready) == [1]


@pytest.mark.usefixtures("own")
def test_a_fault_of_a_launched_graph_ends_the_context(script):
    done = script("""
from driver_abi import *
from cpu.test_device_graphs import Graphs, c_int
graphs = Graphs(Driver())
faulty, later = graphs.device(("fault",)), graphs.append(1)
outer = graphs.host(
    ("forget", graphs.list, faulty, c_int(0)), ("tail", graphs.list, later, c_int(0))
)
graphs.cuda.cuGraphLaunch(outer, 0)
print(graphs.cuda.code("cuCtxSynchronize"))
""")
    assert done.stdout == "700\n", done.stdout + done.stderr


@pytest.mark.cpu_only("NVIDIA's driver 580 ends the process")
def test_a_destroyed_graph_that_runs_ends(graphs, cuda):
    ready = graphs.append(1)
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuGraphExecDestroy(ready)
    assert graphs.run(graphs.append(2)) == [1, 2]
