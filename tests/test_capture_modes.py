"""Calls that may wait for a device work during a capture, of any thread, and keep it valid.

A driver forbids such calls and invalidates the capture. tests/cpu/test_graph_capture.py shows for
which calls NVIDIA's driver does.
"""

import threading

import numpy as np
import pytest
from graphs import ints, kernel
from test_driver import good

import cupola


class Things:
    """Made before the capture begins."""

    def __init__(self):
        self.other = cupola.Stream(non_blocking=True)
        self.event, self.pool = self.other.record(), cupola.Device().pool
        self.start = self.other.record()
        self.large, self.host = cupola.zeros(1 << 20, np.int32), np.zeros(1 << 20, np.int32)
        self.ready, self.graph = ready_graph(self.other), cupola.Graph()
        cupola.Device().synchronize()


def ready_graph(stream):
    x = ints(0)
    with stream.capture() as graph:
        kernel()[1, 1](x, 1)
    return graph.instantiate()


CALLS = {
    "event.done": lambda it: it.event.done,
    "event.synchronize": lambda it: it.event.synchronize(),
    "event.elapsed_since": lambda it: it.event.elapsed_since(it.start),
    "stream.done": lambda it: it.other.done,
    "stream.synchronize": lambda it: it.other.synchronize(),
    "pool": lambda it: (it.pool.used, it.pool.trim(), it.pool.reset_high()),
    "copies": lambda it: (
        it.large.set(it.host, stream=it.other),
        it.large.get(out=it.host, stream=it.other),
    ),
    "allocation": lambda it: cupola.empty(1 << 24, np.uint8),
    "instantiate": lambda it: it.graph.instantiate(),
    "launch": lambda it: it.ready(it.other),
    "unload": lambda it: cupola.register_host(np.zeros(1 << 16, np.uint8)).release(),
}


@pytest.mark.parametrize("mode", ["thread_local", "global", "relaxed"])
@pytest.mark.parametrize("elsewhere", [False, True], ids=["same thread", "other thread"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_capture_goes_on_beside(driver, call, mode, elsewhere):
    stream, x, things = cupola.Stream(non_blocking=True), ints(0), Things()
    failed = []

    def work():
        try:
            call(things)
        except Exception as error:  # an error of either thread
            failed.append(error)

    with stream.capture(mode) as graph:
        kernel()[1, 1](x, 1)
        if elsewhere:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        else:
            work()
        kernel()[1, 1](x, 1)
    assert not failed
    graph.instantiate()(stream)
    stream.synchronize()
    assert x.get() == 2


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_capture_goes_on_beside_staged_copies_and_a_pipeline(driver, elsewhere):
    """By several threads, through page-locked memory that is allocated meanwhile."""
    code = f"""
    import threading, numpy as np, cupola
    n = 3 << 20
    host, back = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    stream, other = cupola.Stream(non_blocking=True), cupola.Stream(non_blocking=True)
    x, large = cupola.zeros(8, np.int32), cupola.zeros(n, np.int32)
    twice = np.zeros(n, np.int32)
    cupola.Device().synchronize()
    failed = []
    def double(chunk, stream, inputs, outputs):
        outputs[0].set(inputs[0] + inputs[0], stream=stream)
    def work():
        try:
            large.set(host, stream=other)
            large.get(out=back, stream=other)
            other.synchronize()
            # On another thread than the one whose current stream is captured.
            if {elsewhere}:
                cupola.pipeline(
                    double, inputs=host, outputs=twice, chunk=1 << 18, staging=True)
        except BaseException as error:
            failed.append(error)
    with stream.capture("global") as graph:
        x.fill(7)
        if {elsewhere}:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        else:
            work()
    assert not failed, failed
    graph.instantiate()(stream)
    assert (x.get(stream=stream) == 7).all()
    assert (back == host).all() and (twice == {elsewhere} * 2 * host).all()
    """
    good(code, CUPOLA_DRIVER=driver, CUPOLA_STAGING_BYTES="1M", CUPOLA_STAGING_THREADS=3)
