"""tests/gate.py - a kernel that holds a stream until the host lets it go: order without clocks."""

import gc

import images
import numpy as np

import cupola

# How often the kernel reads the flag before the kernel gives up: about ten seconds.
LIMIT = {"cpu": 50_000_000, "cuda": 10_000_000}


class Gate:
    """``with Gate(stream) as gate``: a kernel on the stream waits until ``gate.open()``.

    The end of the block checks that the host ended the kernel's wait, and not the limit: then
    nothing in the block has waited for the stream.
    """

    def __init__(self, stream):
        gc.collect()  # garbage of earlier tests: to free an image or pinned memory is to wait
        self.stream = stream
        self.flag = cupola.empty_pinned(1, np.int32)
        self.flag[0] = 0
        self.opened = cupola.zeros(1, np.int32)
        kernel = images.module()["gate"]
        limit = LIMIT[cupola.driver.info().kind]
        self.launch = kernel.prepare(1, 1, self.flag.ctypes.data, limit, self.opened)
        cupola.Device().synchronize()  # `opened` is zero before any stream can set it

    def __enter__(self):
        cupola.Device().synchronize()
        self.launch(stream=self.stream)
        return self

    def open(self):
        self.flag[0] = 1

    def __exit__(self, kind, error, trace):
        self.open()
        cupola.Device().synchronize()
        if kind is None:
            assert self.opened.get()[0] == 1, "something waited for the gate until it gave up"


def congruential(value, steps):
    """The result of the kernel of that name: x -> a x + c, `steps` times, modulo 2^32."""
    a, c = 1664525, 1013904223
    factor, term = 1, 0
    while steps:
        if steps & 1:
            factor, term = factor * a % 2**32, (term * a + c) % 2**32
        a, c = a * a % 2**32, (c * a + c) % 2**32
        steps >>= 1
    return (factor * value + term) % 2**32
