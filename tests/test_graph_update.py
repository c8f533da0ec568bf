"""Updates of an executable graph: arguments of a node, and a whole graph."""

import gc

import numpy as np
from gate import Gate
from graphs import everything_is_done, ints, kernel, stream
from working import refused

import cupola

__all__ = ["everything_is_done", "stream"]


def test_an_update_of_one_node_changes_later_launches(stream):
    x, y, total = ints(1, 1, 1, 1), ints(10, 10, 10, 10), ints(0, 0, 0, 0)
    graph = cupola.Graph()
    first = graph.add_kernel(kernel("accumulate"), 1, 4, x, total, 4)
    graph.add_kernel(kernel(), 1, 4, total, 4, after=first)
    run = graph.instantiate()
    run(stream)
    run.update(first, y, total, 2)
    run(stream)
    run.update(first, x, total, 4)
    run(stream)
    run.update(first, x, total, 4, grid=1, block=2)
    run(stream)
    stream.synchronize()
    np.testing.assert_array_equal(total.get(), [1 + 10 + 1 + 1 + 4] * 2 + [1 + 0 + 1 + 0 + 4] * 2)
    again = graph.instantiate()  # the graph is as it was
    total.set(np.zeros(4, np.int32))
    cupola.Device().synchronize()
    again(stream)
    stream.synchronize()
    np.testing.assert_array_equal(total.get(), [2] * 4)


def test_an_update_does_not_change_earlier_launches(stream):
    """Each launch keeps its arguments, even if it has not begun."""
    values, out = [ints(n) for n in range(20)], ints(0)
    graph = cupola.Graph()
    node = graph.add_kernel(kernel("accumulate"), 1, 1, values[0], out, 1)
    run = graph.instantiate()
    with Gate(stream):
        for value in values:
            run.update(node, value, out, 1)
            run(stream)
        del value
        values.clear()  # behind the launches only
        gc.collect()
    assert out.get() == sum(range(20))


def test_an_update_of_a_captured_node_needs_its_kernel(stream):
    x = ints(0, 0)
    with stream.capture() as graph:
        kernel()[1, 2](x, 1)
    (node,) = graph.nodes
    run = graph.instantiate()
    with refused(cupola.ArgumentError, TypeError, saying="kernel="):
        run.update(node, x, 2)
    run.update(node, x, 2, kernel=kernel())
    run(stream)
    stream.synchronize()
    assert x.get().tolist() == [1, 1]


def test_another_graph_of_the_same_topology_updates_a_graph(stream):
    x, y = ints(0), ints(0)

    def build(target, times):
        graph, last = cupola.Graph(), None
        for _ in range(times):
            last = graph.add_kernel(kernel(), 1, 1, target, 1, after=last)
        return graph

    run = build(x, 2).instantiate()
    run.update(build(y, 2))
    run(stream)
    stream.synchronize()
    assert (x.get(), y.get()) == (0, 2)
    with refused(cupola.DriverError, saying=["CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "nodes"]):
        run.update(build(y, 3))
    run(stream)
    stream.synchronize()
    assert y.get() == 4
