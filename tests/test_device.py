"""Devices: what they are, and which one is current."""

import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from working import refused

import cupola


def test_equality_and_hash(driver):
    assert cupola.Device(0) == cupola.Device(0) == cupola.Device(np.int64(0)) == cupola.devices()[0]
    assert cupola.Device(cupola.Device(0)) == cupola.Device()
    assert cupola.Device(0) != 0 and cupola.Device(0) != "0"
    assert len({cupola.Device(0), cupola.Device(0)}) == 1
    assert pickle.loads(pickle.dumps(cupola.Device(0))) == cupola.Device(0)
    assert int(range(5)[cupola.Device(0)]) == 0


def test_properties(driver):
    device = cupola.Device(0)
    major, minor = device.compute_capability
    assert major >= 5 and 0 <= minor < 10
    assert device.warp_size == 32 and device.multiprocessor_count >= 1
    assert device.max_threads_per_block == 1024
    assert device.max_block == (1024, 1024, 64)
    assert device.max_grid == (2**31 - 1, 65535, 65535)
    assert device.shared_bytes_per_block == 49152
    assert device.name and device.name in repr(device)
    assert "device=0" in repr(cupola.empty(3)).lower()
    assert (device.attribute(75), device.attribute(76)) == (major, minor)
    with refused(cupola.Error):
        device.attribute(10_000)


def test_memory(driver):
    before = cupola.memory_info()
    assert 0 < before.free <= before.total
    kept = cupola.zeros(64 << 20, np.uint8)
    cupola.Device().synchronize()
    during = cupola.Device().memory
    assert during.total == before.total
    assert during.free <= before.free
    assert cupola.memory_info(0).total == cupola.memory_info(cupola.Device(0)).total
    del kept


def test_unknown_devices(driver):
    count = len(cupola.devices())
    for index in (count, -1, 10**6, 2**40):
        with refused(cupola.NotFoundError, KeyError, saying=(index, "no device")):
            cupola.Device(index)
        with refused(cupola.NotFoundError):
            cupola.empty(3, device=index)
    for wrong in ("0", 0.0, True, [0], object()):
        with refused(cupola.ArgumentError, TypeError, saying="device"):
            cupola.Device(wrong)
        with refused(cupola.ArgumentError, TypeError, saying="device"):
            cupola.Stream(device=wrong)


def test_with_the_current_device(driver):
    with cupola.Device(0) as device, cupola.Device(0):
        assert device == cupola.Device() == cupola.empty(1).device
        device.synchronize()
    assert cupola.Device() == device


TWO = """
import threading
import numpy as np, cupola
zero, one = cupola.devices()[:2]
assert zero != one and len({zero, one, cupola.Device(1)}) == 2
assert cupola.Device() == zero
with cupola.Device(1) as entered:
    assert entered == cupola.Device() == one
    array, stream, event = cupola.to_device(np.arange(3)), cupola.Stream(), cupola.Event()
    assert array.device == stream.device == event.device == one
    assert cupola.Stream.current().device == one
    with cupola.Device(0):
        assert cupola.Device() == zero and cupola.empty(3).device == zero
        assert cupola.empty_like(array).device == one
    assert cupola.Device() == one
    seen = []
    thread = threading.Thread(target=lambda: seen.append(cupola.Device()))
    thread.start()
    thread.join()
    assert seen == [zero]  # each thread has its own
    try:
        with cupola.Device(0):
            raise RuntimeError
    except RuntimeError:
        assert cupola.Device() == one
assert cupola.Device() == zero
assert array.get().tolist() == [0, 1, 2]
with stream:  # current for its own device alone
    assert cupola.Stream.current(1) == stream and cupola.Stream.current(0) != stream
    assert cupola.empty(3).device == zero
copy = cupola.to_device(array)
assert copy.device == zero and copy.get().tolist() == [0, 1, 2]
there = cupola.zeros(3, int, device=1)
there.set(copy)
assert there.device == one and there.get().tolist() == [0, 1, 2]
x = cupola.to_device(np.arange(4, dtype=np.float32), device=one)
assert (3 * np.arange(4)).tolist() == cupola.saxpy(2.0, x, x).get().tolist()
for wrong in (lambda: array.get(stream=cupola.Stream()), lambda: cupola.empty(3, stream=stream)):
    try:
        wrong()
    except cupola.ArgumentError as error:
        assert isinstance(error, ValueError) and "device" in str(error), error
    else:
        raise AssertionError("was taken")
zero.synchronize()
one.synchronize()
assert cupola.memory_info(1).total > 0
print("done")
"""


@pytest.mark.several_devices
def test_two_devices(driver):
    variables = {**os.environ, "CUPOLA_CPU_DEVICES": "2", "CUPOLA_DRIVER": driver}
    command = [sys.executable, "-c", textwrap.dedent(TWO)]
    answer = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert (answer.stdout, answer.stderr) == ("done\n", "")
