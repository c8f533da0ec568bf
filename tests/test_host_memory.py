"""Page-locked and registered host memory, and copies of pageable memory."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from working import refused

import cupola


@pytest.mark.parametrize("write_combined", [False, True])
def test_pinned_arrays_are_page_locked(driver, write_combined):
    pinned = cupola.empty_pinned((2, 3), np.int16, write_combined=write_combined)
    pinned[:] = [[1, 2, 3], [4, 5, 6]]
    there = cupola.empty((2, 3), np.int16)
    stream = cupola.Stream()
    there.set(pinned, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(there.get(), [[1, 2, 3], [4, 5, 6]])


def test_registered_arrays_are_page_locked(driver):
    host = np.arange(10_000, dtype=np.int32)
    there = cupola.empty_like(host)
    with cupola.register_host(host) as registered:
        assert registered.pinned and registered.nbytes == host.nbytes
        assert registered.address == host.ctypes.data
        stream = cupola.Stream()
        there.set(host, stream=stream)
        there.get(out=host, stream=stream)
        stream.synchronize()
        with cupola.register_host(host[100:200]):  # a part of it
            pass
        there.set(host)
    np.testing.assert_array_equal(there.get(), np.arange(10_000))
    with cupola.register_host(host):  # a second registration
        pass
    with cupola.register_host(bytearray(100)):
        pass
    with refused(cupola.ArgumentError, TypeError, saying="contiguous"):
        cupola.register_host(host[::2])
    with refused(cupola.ArgumentError, TypeError):
        cupola.register_host(5)
    first = cupola.register_host(host[1000:2000])
    with refused(cupola.DriverError, saying="ALREADY_REGISTERED"):
        cupola.register_host(host[1500:2500])
    first.release()


def test_registered_memory_keeps_its_owner(driver):
    registered = cupola.register_host(np.full(1000, 7, np.uint8))
    gc.collect()
    assert bytes(registered) == b"\7" * 1000


STAGED = """
import threading
import numpy as np, cupola
rng = np.random.default_rng(1)
for size in (1 << 20, (1 << 20) + 1, (5 << 20) + 77, 33 << 20):
    host = rng.integers(0, 256, size, np.uint8)
    there = cupola.to_device(host)
    expected = host.copy()
    host[:] = 0  # a pageable source has been read
    assert (there.get() == expected).all()
streams = [cupola.Stream() for _ in range(6)]
arrays = [rng.integers(0, 256, (3 << 20) + i, np.uint8) for i in range(6)]
failures = []
def work(stream, array):
    for _ in range(3):
        there = cupola.to_device(array, stream=stream)
        if not (there.get(stream=stream) == array).all():
            failures.append(stream)
threads = [threading.Thread(target=work, args=pair) for pair in zip(streams, arrays)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not failures
from cupola import In, InOut, Out
x = rng.random(1 << 20, np.float32)
out = np.empty_like(x)
cupola.shipped_kernels()["saxpy"].forall(x.size)(2.0, In(x), In(x), Out(out), x.size)
assert (out == np.float32(2) * x + x).all()

# A copy whose stream is held up keeps no other stream's copies from running.
held, free, go = cupola.Stream(), cupola.Stream(), threading.Event()
target, large = cupola.empty(40 << 20, np.uint8), np.ones(40 << 20, np.uint8)
held.launch_host_func(go.wait)
waiting = threading.Thread(target=lambda: target.set(large, stream=held))
waiting.start()
for array in arrays:
    assert (cupola.to_device(array, stream=free).get(stream=free) == array).all()
assert not go.is_set()
go.set()
waiting.join()
held.synchronize()
assert (target.get() == 1).all()
print("done")
"""


@pytest.mark.parametrize("threads", ["1", "5"])
def test_pageable_memory_is_copied_through_page_locked_chunks(driver, threads):
    variables = {
        **os.environ,
        "CUPOLA_STAGING_BYTES": str(1 << 20),
        "CUPOLA_STAGING_THREADS": threads,
        "CUPOLA_DRIVER": driver,
    }
    answer = subprocess.run(
        [sys.executable, "-c", STAGED], env=variables, capture_output=True, text=True, timeout=120
    )
    assert (answer.stdout, answer.stderr) == ("done\n", "")
