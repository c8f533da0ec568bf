"""Memory of several devices: copies between them, and its lifetime."""

import os
import subprocess
import sys

import pytest

PEERS = """
import numpy as np, cupola
first, second = cupola.devices()[:2]
host = np.arange(1000, dtype=np.float32).reshape(10, 100)
with second:
    there = cupola.to_device(host)
assert there.device == second
np.testing.assert_array_equal(cupola.to_device(there, device=0).get(), host)
here = cupola.zeros((10, 100), np.float32)
here[...] = there
np.testing.assert_array_equal(here.get(), host)
here[::2, ::-1] = there.T[50:55].T.reshape(5, 10)[:, :1]
expected = host.copy()
expected[::2, ::-1] = host.T[50:55].T.reshape(5, 10)[:, :1]
np.testing.assert_array_equal(here.get(), expected)
a, b = cupola.alloc(100, device=0), cupola.alloc(100, device=1)
a.fill(7)
first.synchronize()
b.copy_from(a)
out = bytearray(100)
b.copy_to(out)
assert out == b"\\7" * 100
assert first.can_access(first)
if first.can_access(second):
    for _ in range(2):
        first.enable_peer_access(second)
    kernel = cupola.shipped_kernels()["saxpy"]
    kernel[4, 256](2.0, there.address, there.address, here.address, 1000)
    np.testing.assert_array_equal(here.get(), 3 * host)
    for _ in range(2):
        first.disable_peer_access(second)
print("done")
"""
BETWEEN_DEFAULT_STREAMS = """
import threading
import numpy as np, cupola
gate, host = threading.Event(), np.arange(1 << 16, dtype=np.float32)
source = cupola.to_device(host, device=0)
target = cupola.zeros(host.size, np.float32, device=1)
cupola.Device(0).synchronize()
with cupola.Device(1):
    cupola.Stream.current().launch_host_func(gate.wait)
    target.set(source)  # waits for the gate
del source
another = cupola.full(host.size, 7, np.float32, device=0)  # may get the same memory, but not yet
gate.set()
assert (target.get() == host).all() and (another.get() == 7).all()
print("done")
"""


@pytest.mark.several_devices
def test_memory_outlives_its_use_on_another_devices_default_stream(driver):
    """The default streams of all devices have the same handle but are different streams."""
    variables = {**os.environ, "CUPOLA_CPU_DEVICES": "2", "CUPOLA_DRIVER": driver}
    answer = subprocess.run(
        [sys.executable, "-c", BETWEEN_DEFAULT_STREAMS],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (answer.stdout, answer.stderr) == ("done\n", "")


@pytest.mark.several_devices
def test_two_devices_copy_from_each_other(driver):
    variables = {**os.environ, "CUPOLA_CPU_DEVICES": "2", "CUPOLA_DRIVER": driver}
    answer = subprocess.run(
        [sys.executable, "-c", PEERS], env=variables, capture_output=True, text=True
    )
    assert (answer.stdout, answer.stderr) == ("done\n", "")
