"""Memory of a device: copies, ranges, managed memory, the pool, and handles of other processes."""

import gc
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from test_driver import good
from working import refused

import cupola


def test_bytes_are_copied_in_and_out(driver):
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


def test_copies_take_memories_and_addresses(driver):
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
        lambda: memory.copy_from(-1, 0, 3),
        lambda: memory.copy_to(1 << 64, 0, 3),
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
        lambda: memory.copy_from(bytes(3), 1.5),
        lambda: memory.copy_from(bytes(3), nbytes=1.5),
        lambda: memory.copy_from(other.address, 0, 2.5),
        lambda: memory.copy_to(bytearray(3), 1.5),
        lambda: memory.fill(2.5),
        lambda: memory.fill(None),
        lambda: memory.fill("a"),
        lambda: memory.fill(1, 1.5),
        lambda: memory.fill(1, 0, 1.5),
        lambda: cupola.Device().pool.trim(1.5),
        lambda: cupola.alloc(1.5),
        lambda: cupola.alloc(True),
    ):
        with refused(cupola.ArgumentError, TypeError):
            wrong()
    with pytest.raises(BufferError, match="copy_to"):
        memoryview(memory)


def test_empty_memory_is_usable_and_freed_memory_is_refused(driver):
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


def test_an_array_views_memory_by_its_address(driver):
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


def test_host_and_device_share_managed_memory(driver):
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
    assert view.sum() == 78  # the memory of the host's view stays
    assert cupola.managed(0).host.shape == (0,)
    for wrong in (cupola.zeros(3), cupola.to_device(np.zeros(3))):
        with refused(cupola.ArgumentError, TypeError, saying="managed"):
            wrong.host  # noqa: B018
        with refused(cupola.ArgumentError, TypeError, saying="managed"):
            wrong.prefetch()


def test_managed_memory_takes_advice(driver):
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


def test_another_process_opens_a_handle(driver):
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
    # Its own handle, and one of zeros, which NVIDIA's driver does not have to refuse.
    for wrong in [memory.ipc_handle(), bytes(64)][: 2 if driver == "cpu" else 1]:
        with refused(cupola.DriverError, saying="another process"):
            cupola.Memory.from_ipc_handle(wrong)


def test_a_pool_counts_used_and_reserved_memory(driver):
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


def test_page_locked_memory_with_a_view_is_freed_once():
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
