"""Raw memory: of a device, managed, page-locked, registered, of other processes."""

import gc
import os
import subprocess
import sys
import textwrap

import images
import numpy as np
import pytest
from test_driver import good
from working import refused

import cupola


def test_bytes_in_and_out(driver):
    memory = cupola.alloc(100)
    assert memory.nbytes == 100 and memory.address and memory.device_index == 0
    assert not memory.pinned and not memory.managed
    memory.fill(0xAB)
    memory.copy_from(b"hello", 10)
    memory.copy_from(np.arange(6, dtype=np.uint16).reshape(2, 3), offset=20)
    memory.copy_from(memoryview(b"xyz12"), 90, 3)
    out = bytearray(100)
    memory.copy_to(out)
    expected = bytearray(b"\xab" * 100)
    expected[10:15] = b"hello"
    expected[20:32] = np.arange(6, dtype=np.uint16).tobytes()
    expected[90:93] = b"xyz"
    assert out == expected
    part = np.zeros(5, np.uint8)
    memory.copy_to(part, 10)
    assert part.tobytes() == b"hello"
    memory.fill(1, 98)
    memory.fill(nbytes=2)
    memory.copy_to(out)
    assert out[:2] == b"\0\0" and out[97:] == b"\xab\1\1"


def test_between_memories_and_addresses(driver):
    a, b = cupola.alloc(16), cupola.alloc(32)
    a.copy_from(bytes(range(16)))
    b.fill(9)
    b.copy_from(a, 4)
    b.copy_from(a.address + 8, 24, 4)
    a.copy_to(b.address, 0, 2)
    out = bytearray(32)
    b.copy_to(out)
    assert out == bytes([0, 1, 9, 9, *range(16), 9, 9, 9, 9, 8, 9, 10, 11, 9, 9, 9, 9])
    a.copy_to(b, 12, 4)
    b.copy_to(out)
    assert out[:4] == bytes([12, 13, 14, 15])


def test_ranges_are_checked(driver):
    memory, other = cupola.alloc(10), cupola.alloc(5)
    for wrong in (
        lambda: memory.copy_from(bytes(11)),
        lambda: memory.copy_from(bytes(3), 8),
        lambda: memory.copy_from(bytes(3), -1),
        lambda: memory.copy_from(bytes(3), 0, 4),
        lambda: memory.copy_from(bytes(3), 0, -1),
        lambda: memory.copy_to(bytearray(11)),
        lambda: memory.copy_to(bytearray(1), 10),
        lambda: memory.copy_from(other, 6),
        lambda: other.copy_from(memory),
        lambda: memory.copy_from(other, 0, 6),
        lambda: memory.fill(256),
        lambda: memory.fill(-1),
        lambda: memory.fill(0, 11),
        lambda: memory.fill(0, 5, 6),
        lambda: cupola.alloc(-1),
        lambda: cupola.alloc(1 << 64),
    ):
        with refused(cupola.ArgumentError, ValueError):
            wrong()
    for wrong in (
        lambda: memory.copy_from(other.address),
        lambda: memory.copy_from("text"),
        lambda: memory.copy_from(np.zeros((4, 4), np.uint8)[:, ::2]),
        lambda: memory.copy_to(bytes(3)),
        lambda: memory.copy_to(None),
        lambda: cupola.alloc(1.5),
        lambda: cupola.alloc(True),
    ):
        with refused(cupola.ArgumentError, TypeError):
            wrong()
    with pytest.raises(BufferError, match="copy_to"):
        memoryview(memory)


def test_nothing_and_released(driver):
    nothing = cupola.alloc(0)
    assert nothing.address == 0
    nothing.copy_from(b"")
    nothing.fill(1)
    with cupola.alloc(4) as memory:
        memory.fill(1)
    memory.release()
    assert "freed" in repr(memory) and memory.address == 0
    for use in (
        lambda: memory.copy_from(b"a"),
        lambda: memory.copy_to(bytearray(1)),
        lambda: memory.fill(0),
        lambda: cupola.alloc(4).copy_from(memory),
        lambda: memory.ipc_handle(),
    ):
        with refused(cupola.ArgumentError, ValueError, saying="freed"):
            use()


def test_array_from_address(driver):
    memory = cupola.alloc(48)
    memory.copy_from(np.arange(12, dtype=np.int32))
    array = cupola.Array.from_address(memory.address + 16, (2, 2), np.int32, owner=memory)
    assert array.address == memory.address + 16
    np.testing.assert_array_equal(array.get(), [[4, 5], [6, 7]])
    columns = cupola.Array.from_address(memory.address, (4, 3), "i4", strides=(4, 16))
    np.testing.assert_array_equal(columns.get(), np.arange(12).reshape(3, 4).T)
    array.fill(-1)
    frozen = cupola.Array.from_address(memory.address, 3, "i4", readonly=True, owner=memory)
    with refused(cupola.ArgumentError, ValueError, saying="read-only"):
        frozen.fill(1)
    del memory
    gc.collect()
    np.testing.assert_array_equal(array.get(), np.full((2, 2), -1))
    assert cupola.Array.from_address(0, (0, 3)).shape == (0, 3)
    host = np.zeros(4)
    for wrong, error in [
        (lambda: cupola.Array.from_address(0, 3), ValueError),
        (lambda: cupola.Array.from_address(-1, 3), ValueError),
        (lambda: cupola.Array.from_address(1 << 64, 3), ValueError),
        (lambda: cupola.Array.from_address(host.ctypes.data, 4), ValueError),
        (lambda: cupola.Array.from_address("3", 4), TypeError),
        (lambda: cupola.Array.from_address(array.address, 3, strides=(8, 8)), ValueError),
        (lambda: cupola.Array.from_address(array.address, 3, strides=(2**64,)), ValueError),
        (lambda: cupola.Array.from_address(array.address, 3, strides=("8",)), TypeError),
        (lambda: cupola.Array.from_address(array.address, 3, strides=8), TypeError),
        (lambda: cupola.Array.from_address(array.address, 3, object), TypeError),
    ]:
        with refused(cupola.ArgumentError, error):
            wrong()


def test_managed(driver):
    array = cupola.managed((3, 4), np.float32)
    array.fill(2)
    cupola.Device().synchronize()
    assert (array.host == 2).all() and array.host.shape == (3, 4)
    array.host[1] = [1, 2, 3, 4]
    kernel = cupola.shipped_kernels()["saxpy"]
    kernel[1, 32](2.0, array, array, array, 12)
    cupola.Device().synchronize()
    np.testing.assert_array_equal(array.host, [[6] * 4, [3, 6, 9, 12], [6] * 4])
    np.testing.assert_array_equal(array[::2, 1:].host, [[6] * 3, [6] * 3])
    np.testing.assert_array_equal(array.get(), array.host)
    view = array.host
    array.free()
    assert view.sum() == 78  # what the host was lent stays
    assert cupola.managed(0).host.shape == (0,)
    for wrong in (cupola.zeros(3), cupola.to_device(np.zeros(3))):
        with refused(cupola.ArgumentError, TypeError, saying="managed"):
            wrong.host  # noqa: B018
        with refused(cupola.ArgumentError, TypeError, saying="managed"):
            wrong.prefetch()


def test_managed_advice(driver):
    if not cupola.Device().attribute(89):  # CONCURRENT_MANAGED_ACCESS
        pytest.skip("the device has no concurrent managed access")
    array = cupola.managed(1 << 16, np.uint8)
    for advice in ("read_mostly", "preferred_location", "accessed_by"):
        for device in (None, 0):
            array.advise(advice, device)
            array.advise(advice, device, give=False)
    array.advise("preferred_location", "host")
    array.prefetch("host")
    array.prefetch(0, stream=cupola.Stream())
    array[100:200].prefetch()
    cupola.Device().synchronize()
    for wrong in (lambda: array.advise("nonsense"), lambda: array.prefetch("nowhere")):
        with refused(cupola.ArgumentError, ValueError):
            wrong()


@pytest.mark.parametrize("write_combined", [False, True])
def test_pinned(driver, write_combined):
    pinned = cupola.empty_pinned((2, 3), np.int16, write_combined=write_combined)
    pinned[:] = [[1, 2, 3], [4, 5, 6]]
    there = cupola.empty((2, 3), np.int16)
    stream = cupola.Stream()
    there.set(pinned, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(there.get(), [[1, 2, 3], [4, 5, 6]])


def test_registered(driver):
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
    with cupola.register_host(host):  # once more
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


def test_handles_of_other_processes(driver):
    pooled = cupola.alloc(64)
    with refused(cupola.ArgumentError, ValueError, saying="exportable"):
        pooled.ipc_handle()
    for wrong in (b"", bytes(63), bytes(65)):
        with refused(cupola.ArgumentError, ValueError, saying="64 bytes"):
            cupola.Memory.from_ipc_handle(wrong)
    memory = cupola.alloc(64, exportable=True)
    memory.copy_from(bytes(range(64)))
    cupola.Device().synchronize()
    code = f"""
        import cupola
        memory = cupola.Memory.from_ipc_handle({memory.ipc_handle()!r})
        again = cupola.Memory.from_ipc_handle({memory.ipc_handle()!r})
        out = bytearray(64)
        memory.copy_to(out, 0)
        assert out == bytes(range(64)), out
        array = cupola.Array.from_address(memory.address, 64, "u1", owner=memory)
        array[:3] = 7
        cupola.Device().synchronize()
        again.release()
        memory.copy_from(b"answer", 3)
        cupola.Device().synchronize()
        memory.release()
    """
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    shared = "NOT_SUPPORTED" not in answer.stderr and "INVALID_CONTEXT" not in answer.stderr
    if driver == "cuda" and not shared:
        pytest.skip(f"this system shares no device memory: {answer.stderr.splitlines()[-1]}")
    assert answer.returncode == 0, answer.stderr
    out = bytearray(9)
    memory.copy_to(out)
    assert out == b"\7\7\7answer"
    # Its own, and nobody's; NVIDIA's driver is not asked what it makes of bytes that it never gave.
    for wrong in [memory.ipc_handle(), bytes(64)][: 2 if driver == "cpu" else 1]:
        with refused(cupola.DriverError, saying="another process"):
            cupola.Memory.from_ipc_handle(wrong)


def in_own_stream(nbytes):
    with cupola.Stream.per_thread():  # not from the pool
        cupola.empty(nbytes, np.uint8)


@pytest.mark.parametrize(
    "ask",
    [
        cupola.alloc,
        lambda nbytes: cupola.alloc(nbytes, exportable=True),
        lambda nbytes: cupola.empty((2, nbytes // 2), np.uint8),
        lambda nbytes: cupola.zeros(nbytes // 4, np.float32),
        lambda nbytes: cupola.full(nbytes // 8, 1.0),
        in_own_stream,
    ],
    ids=["alloc", "exportable", "empty", "zeros", "full", "per-thread stream"],
)
def test_more_memory_than_there_is(driver, ask):
    info = cupola.memory_info()
    before = cupola.to_device(np.arange(5))
    with refused(cupola.OutOfMemoryError, MemoryError, saying=("requested", "free:")) as caught:
        ask(2 * info.total)
    assert str(2 * info.total) in str(caught.value) and str(info.total) in str(caught.value)
    assert caught.value.code == 2
    np.testing.assert_array_equal(before.get(), np.arange(5))


@pytest.mark.parametrize("place", ["managed", "page-locked", "write-combined"])
def test_more_memory_than_any_machine_has(driver, place):
    """Managed memory may be more than the device has."""
    nbytes, kept = 1 << 50, cupola.empty_pinned(5, np.int32)
    kept[:] = 7
    with refused(cupola.OutOfMemoryError, MemoryError, saying=("requested", "free:")) as caught:
        if place == "managed":
            cupola.managed(nbytes, np.uint8)
        else:
            cupola.empty_pinned(nbytes, np.uint8, write_combined=place == "write-combined")
    assert str(nbytes) in str(caught.value) and caught.value.code == 2
    assert ("on the host" in str(caught.value)) == (place != "managed")
    assert (kept == 7).all()


@pytest.mark.cpu_only(reason="a compiler for GPUs may refuse so large a variable in its own way")
def test_an_image_with_more_variables_than_there_is_memory(driver):
    total = cupola.memory_info().total
    text = images.SCALE.read_bytes() + b"\n.visible .global .align 4 .b8 big[%d];\n" % (2 * total)
    with refused(cupola.OutOfMemoryError, MemoryError, saying=("free:", total)):
        cupola.load(text)


def test_too_much_in_a_capture_leaves_the_capture_well(driver):
    x, stream = cupola.zeros(4, np.int32), cupola.Stream()
    total = cupola.memory_info().total
    cupola.Device().synchronize()
    with stream.capture() as graph:
        x.fill(1)
        with pytest.raises(cupola.OutOfMemoryError, match="free:"):
            cupola.empty(2 * total, np.uint8)
        x[2:].fill(2)
    graph.instantiate()(stream)
    assert x.get(stream=stream).tolist() == [1, 1, 2, 2]


def test_the_pool(driver):
    pool = cupola.Device().pool
    assert pool.device == cupola.Device() and isinstance(pool, cupola.Pool)
    gc.collect()
    cupola.Device().synchronize()
    pool.trim()
    pool.reset_high()
    used, reserved = pool.used, pool.reserved
    assert used <= reserved
    memory = cupola.alloc(1 << 20)
    assert pool.used >= used + (1 << 20) and pool.used_high >= pool.used
    assert pool.reserved >= pool.used and pool.reserved_high >= pool.reserved
    memory.release()
    cupola.Device().synchronize()
    assert pool.used == used
    assert pool.used_high >= used + (1 << 20)
    pool.reset_high()
    assert pool.used_high <= used
    pool.trim()
    assert pool.reserved <= max(reserved, 64 << 20)
    before = pool.release_threshold
    try:
        pool.release_threshold = 123 << 20
        assert pool.release_threshold == 123 << 20
    finally:
        pool.release_threshold = before
    with refused(cupola.ArgumentError, ValueError):
        pool.trim(-1)
    with refused(cupola.NotFoundError):
        cupola.Pool(99)


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


def test_memory_outlives_its_use_on_another_devices_default_stream(driver):
    """The default streams of all devices have one handle, and are not one stream."""
    if driver == "cuda" and len(cupola.devices()) < 2:
        pytest.skip("there is one GPU")
    variables = {**os.environ, "CUPOLA_CPU_DEVICES": "2", "CUPOLA_DRIVER": driver}
    answer = subprocess.run(
        [sys.executable, "-c", BETWEEN_DEFAULT_STREAMS],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (answer.stdout, answer.stderr) == ("done\n", "")


def test_two_devices(driver):
    if driver == "cuda" and len(cupola.devices()) < 2:
        pytest.skip("there is one GPU")
    variables = {**os.environ, "CUPOLA_CPU_DEVICES": "2", "CUPOLA_DRIVER": driver}
    answer = subprocess.run(
        [sys.executable, "-c", PEERS], env=variables, capture_output=True, text=True
    )
    assert (answer.stdout, answer.stderr) == ("done\n", "")


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
def test_pageable_memory_through_page_locked_chunks(driver, threads):
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


def test_memory_that_is_lent_and_freed_twice_goes_in_the_end():
    code = """
    import gc
    from cupola.pipelines import page_locked
    memory = page_locked(0, 4096)
    view = memoryview(memory)
    memory.release()
    memory.release()
    view[:] = bytes(4096)
    del view, memory
    gc.collect()
    """
    said = good(code, CUPOLA_LOG="debug").stderr
    assert said.count("cupola: allocate 4096 bytes, page-locked") == 1
    assert said.count("cupola: free 4096 bytes, page-locked") == 1
