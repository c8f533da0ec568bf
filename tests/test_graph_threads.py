"""Threads that capture and launch graphs at the same time."""

import threading

import numpy as np
from graphs import everything_is_done, ints, kernel, stream

import cupola

__all__ = ["everything_is_done", "stream"]


def test_threads_capture_at_the_same_time():
    """Each thread has its own stream and allocations; another thread works without a capture."""
    results = {}

    def capture(number):
        stream = cupola.Stream(non_blocking=True)
        for turn in range(20):
            x = cupola.zeros(32, np.int32, stream=stream)
            with stream.capture() as graph:
                y = cupola.empty(32, np.int32)
                kernel()[1, 32](x, 32)
                y.set(x)
                for _ in range(number):
                    kernel()[1, 32](y, 32)
            run = graph.instantiate()
            run(stream)
            run(stream)
            results[number, turn] = y.get(stream=stream, out=np.empty(32, np.int32)).tolist()

    def plain():
        stream = cupola.Stream(non_blocking=True)
        for turn in range(60):
            x = cupola.zeros(32, np.int32, stream=stream)
            kernel()[1, 32, stream](x, 32)
            stream.synchronize()
            results["plain", turn] = x.get(stream=stream, out=np.empty(32, np.int32)).tolist()

    threads = [threading.Thread(target=capture, args=(n,)) for n in range(3)]
    threads.append(threading.Thread(target=plain))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert results == {
        **{(n, turn): [2 + n] * 32 for n in range(3) for turn in range(20)},
        **{("plain", turn): [1] * 32 for turn in range(60)},
    }


def test_threads_launch_the_same_graph():
    x = ints(0)
    graph = cupola.Graph()
    last = None
    for _ in range(3):
        last = graph.add_kernel(kernel(), 1, 1, x, 1, after=last)
    run = graph.instantiate()

    def work():
        stream = cupola.Stream(non_blocking=True)
        for _ in range(50):
            run(stream)
        stream.synchronize()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert x.get() == 4 * 50 * 3


def test_graphs_with_host_nodes_cause_no_deadlock():
    """Some launches hold the GIL, others do not; the callables need it."""
    counts = [0] * 4

    def work(number):
        stream, x = cupola.Stream(non_blocking=True), cupola.zeros(1, np.int32)
        graph = cupola.Graph()
        one = graph.add_kernel(kernel(), 1, 1, x, 1)

        def count():
            counts[number] += 1

        if number % 2:
            graph.add_host(count, after=one)
        run = graph.instantiate()
        for _ in range(300):
            run(stream)
        stream.synchronize()

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive()
    assert counts == [0, 300, 0, 300]
