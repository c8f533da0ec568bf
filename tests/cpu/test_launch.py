"""Launches: both ways to pass arguments, every limit, occupancy, and what a fault leaves behind."""

import ctypes
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *


@pytest.fixture
def pointer(cuda):
    pointer = cuda.alloc(1 << 20)
    cuda.cuMemsetD8_v2(pointer, 0, 1 << 20)
    cuda.cuCtxSynchronize()  # the fill is on the legacy stream, which not every test waits for
    yield pointer
    cuda.cuCtxSynchronize()
    cuda.cuMemFree_v2(pointer)


@pytest.mark.parametrize("grid, block", [(1, 1), (1, 1024), (7, 33), (2048, 32), (256, 1024)])
def test_every_thread_runs_once(cuda, kernel, pointer, grid, block):
    cuda.launch(kernel("add1"), grid, block, c_uint64(pointer))
    values = cuda.read(pointer, 1 << 18)
    assert values == [1] * (grid * block) + [0] * ((1 << 18) - grid * block)


def test_arguments_in_a_buffer(cuda, kernel, pointer):
    class Packed(ctypes.Structure):
        _fields_ = [("p", c_uint64), ("v", c_uint)]

    packed, size = Packed(pointer, 9), c_size_t(12)
    extra = (c_void_p * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), 0)
    cuda.cuLaunchKernel(kernel("store"), 1, 1, 1, 8, 1, 1, 0, 0, c_void_p(), extra)
    assert cuda.read(pointer, 9) == [9] * 8 + [0]
    extra[0] = 7
    assert (
        cuda.code("cuLaunchKernel", kernel("store"), 1, 1, 1, 8, 1, 1, 0, 0, c_void_p(), extra)
        == INVALID_VALUE
    )


def test_arguments_are_taken_at_the_call(cuda, kernel, pointer):
    flag, stream, value = cuda.pinned(4), cuda.stream(NON_BLOCKING), c_uint(1)
    cuda.launch(kernel("wait_flag"), 1, 1, c_uint64(flag), stream=stream)
    cuda.launch(kernel("store"), 1, 1, c_uint64(pointer), value, stream=stream)
    value.value = 2
    word(flag).value = 1
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(pointer, 1) == [1]
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFreeHost(flag)


@pytest.mark.parametrize(
    "grid, block",
    [
        ((0, 1, 1), 1),
        ((1, 0, 1), 1),
        ((1, 1, 0), 1),
        (1, (0, 1, 1)),
        (1, (1, 0, 1)),
        (1, (1, 1, 0)),
        (2**31, 1),
        ((1, 65536, 1), 1),
        ((1, 1, 65536), 1),
        (1, 1025),
        (1, (1, 1025, 1)),
        (1, (1, 1, 65)),
        (1, (1024, 2, 1)),
        (1, 2**31),
    ],
)
def test_shapes_beyond_the_limits(cuda, kernel, grid, block):
    assert cuda.launch_code(kernel("empty"), grid, block) == INVALID_VALUE


def test_more_threads_than_the_kernel_takes(cuda, kernel):
    assert cuda.launch_code(kernel("narrow"), 1, 64) == SUCCESS
    assert cuda.launch_code(kernel("narrow"), 1, 65) == INVALID_VALUE


def test_another_shape_than_the_kernel_requires(cuda, kernel):
    assert cuda.launch_code(kernel("exact"), 1, (32, 2)) == SUCCESS
    assert cuda.launch_code(kernel("exact"), 1, (64, 1)) == INVALID_VALUE


def test_dynamic_shared_memory(cuda, kernel, pointer):
    cuda.launch(kernel("mirror"), 1, 32, c_uint64(pointer), shared=128)
    assert cuda.read(pointer, 32) == list(range(31, -1, -1))


def test_shared_memory_needs_the_attribute(cuda, kernel, pointer):
    function = kernel("mirror")
    big = 60 << 10
    argument = c_uint64(pointer)
    assert cuda.launch_code(function, 1, 32, argument, shared=big) == INVALID_VALUE
    cuda.cuFuncSetAttribute(function, 8, big)
    assert cuda.launch_code(function, 1, 32, argument, shared=big) == SUCCESS
    assert cuda.launch_code(function, 1, 32, argument, shared=big + 1) == INVALID_VALUE
    cuda.cuFuncSetAttribute(function, 8, 48 << 10)


def test_missing_arguments(cuda, kernel):
    code = cuda.code(
        "cuLaunchKernel", kernel("store"), 1, 1, 1, 1, 1, 1, 0, 0, c_void_p(), c_void_p()
    )
    assert code == INVALID_VALUE


def test_wrong_function(cuda, own):
    assert cuda.launch_code(0x5678, 1, 1) == INVALID_HANDLE
    assert cuda.launch_code(0, 1, 1) == INVALID_HANDLE


def test_the_way_of_cuda_2(cuda, kernel, pointer):
    store = kernel("store")
    cuda.cuFuncSetBlockShape(store, 8, 1, 1)
    cuda.cuParamSetSize(store, 12)
    cuda.cuParamSetv(store, 0, byref(c_uint64(pointer)), 8)
    cuda.cuParamSeti(store, 8, 5)
    cuda.cuLaunchGrid(store, 2, 1)
    assert cuda.read(pointer, 17) == [5] * 16 + [0]


def test_no_context(passes):
    passes("""
        module = cuda.module()
        function = cuda.function(module, "empty")
        cuda.cuCtxSetCurrent(c_void_p())
        assert cuda.launch_code(function, 1, 1) == INVALID_CONTEXT
    """)


def test_a_stream_tells_its_context(passes):
    """As an H200's driver has it: only the default streams are those of the current context."""
    passes("""
        module, stream, event, pointer = cuda.module(), cuda.stream(), cuda.event(), cuda.alloc(64)
        function, host = cuda.function(module, "empty"), cuda.pinned(64)
        other = c_void_p()
        for change in (
            lambda: cuda.cuCtxSetCurrent(c_void_p()),
            lambda: cuda.cuCtxCreate_v2(byref(other), 0, 0),
        ):
            change()
            expected = INVALID_HANDLE if other.value else INVALID_CONTEXT
            for default in (0, 1, 2):
                assert cuda.launch_code(function, 1, 1, stream=default) == expected
            cuda.launch(function, 1, 1, stream=stream)
            cuda.cuMemsetD8Async(pointer, 7, 64, stream)
            cuda.cuMemcpyDtoHAsync_v2(c_void_p(host), pointer, 64, stream)
            cuda.cuEventRecord(event, stream)
            cuda.cuStreamWaitEvent(stream, event, 0)
            cuda.cuStreamSynchronize(stream)
            assert cuda.code("cuStreamQuery", stream) == 0
        assert word(host).value == 0x07070707
    """)


# ---- occupancy ----------------------------------------------------------------------------


def blocks(cuda, function, block, shared=0):
    out = c_int()
    cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(byref(out), function, block, shared)
    return out.value


def test_occupancy(cuda, kernel):
    threads, most, shared = c_int(), c_int(), c_int()
    cuda.cuDeviceGetAttribute(byref(threads), 39, 0)
    cuda.cuDeviceGetAttribute(byref(most), 106, 0)
    cuda.cuDeviceGetAttribute(byref(shared), 81, 0)
    assert blocks(cuda, kernel("empty"), 1024) == threads.value // 1024
    assert blocks(cuda, kernel("empty"), 32) == most.value
    assert blocks(cuda, kernel("empty"), 32, 48 << 10) == shared.value // (49 << 10)
    assert blocks(cuda, kernel("empty"), 65) == threads.value // 96
    assert blocks(cuda, kernel("empty"), 1025) == 0
    assert blocks(cuda, kernel("empty"), 32, 100 << 10) == 0


def test_best_block(cuda, kernel):
    grid, block, count = c_int(), c_int(), c_int()
    cuda.cuDeviceGetAttribute(byref(count), 16, 0)
    best = cuda.cuOccupancyMaxPotentialBlockSize
    best(byref(grid), byref(block), kernel("empty"), c_void_p(), 0, 0)
    assert block.value == 1024 and grid.value % count.value == 0
    best(byref(grid), byref(block), kernel("narrow"), c_void_p(), 0, 0)
    assert block.value == 64
    best(byref(grid), byref(block), kernel("empty"), c_void_p(), 0, 96)
    assert block.value == 64  # 32 blocks of it fill a multiprocessor, 21 of 96 do not


def test_shared_memory_left(cuda, kernel):
    size = c_size_t()
    cuda.cuOccupancyAvailableDynamicSMemPerBlock(byref(size), kernel("empty"), 2, 128)
    assert blocks(cuda, kernel("empty"), 128, min(size.value, 48 << 10)) >= 2
    code = cuda.code(
        "cuOccupancyAvailableDynamicSMemPerBlock", byref(size), kernel("empty"), 4, 1024
    )
    assert code == INVALID_VALUE
    code = cuda.code(
        "cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(c_int()), kernel("empty"), 0, 0
    )
    assert code == INVALID_VALUE


# ---- faults -------------------------------------------------------------------------------

FAULTS = [("wild", ILLEGAL_ADDRESS), ("misaligned", MISALIGNED_ADDRESS), ("trap", LAUNCH_FAILED)]


@pytest.mark.parametrize("name, code", FAULTS)
def test_a_fault_is_the_answer_from_then_on(passes, name, code):
    passes(f"""
        stream, event, module = cuda.stream(NON_BLOCKING), cuda.event(), cuda.module()
        pointer = cuda.alloc(64)
        cuda.launch(cuda.function(module, {name!r}), 1, 1, c_uint64(pointer), stream=stream)
        assert cuda.code("cuStreamSynchronize", stream) == {code}
        assert cuda.code("cuStreamQuery", stream) == {code}
        assert cuda.code("cuCtxSynchronize") == {code}
        assert cuda.code("cuEventRecord", event, 0) == {code}
        assert cuda.code("cuMemAlloc_v2", byref(c_uint64()), 4) == {code}
        assert cuda.code("cuMemFree_v2", pointer) == {code}
        assert cuda.code("cuMemcpyDtoH_v2", (c_uint * 1)(), pointer, 4) == {code}
        assert cuda.code("cuStreamCreate", byref(c_void_p()), 0) == {code}
        assert cuda.code("cuModuleUnload", module) == {code}
        assert cuda.code("cuEventDestroy_v2", event) == {code}
        assert cuda.code("cuStreamDestroy_v2", stream) == {code}
        assert cuda.code("cuPointerGetAttribute", byref(c_uint64()), 2, pointer) == SUCCESS
    """)


def test_an_event_after_a_fault(passes):
    passes(f"""
        event = cuda.event()
        cuda.launch(cuda.function(cuda.module(), "wild"), 1, 1)
        cuda.code("cuEventRecord", event, 0)
        assert cuda.code("cuEventSynchronize", event) == {ILLEGAL_ADDRESS}
    """)


def test_work_behind_a_fault_is_not_done(passes):
    passes(f"""
        module, flag, pointer = cuda.module(), cuda.pinned(4), cuda.pinned(4)
        cuda.launch(cuda.function(module, "wait_flag"), 1, 1, c_uint64(flag))
        wild, store = cuda.function(module, "wild"), cuda.function(module, "store")
        cuda.launch(wild, 1, 1)
        cuda.launch(store, 1, 1, c_uint64(pointer), c_uint(1))
        word(flag).value = 1
        assert cuda.code("cuCtxSynchronize") == {ILLEGAL_ADDRESS}
        assert word(pointer).value == 0
    """)


def test_a_callback_hears_of_the_fault_and_a_host_function_is_not_called(passes, own):
    passes(f"""
        seen, module, flag, stream = [], cuda.module(), cuda.pinned(4), cuda.stream(NON_BLOCKING)
        callback = Callback(lambda stream, status, data: seen.append(status))
        function = HostFunction(lambda data: seen.append("called"))
        cuda.launch(cuda.function(module, "wait_flag"), 1, 1, c_uint64(flag), stream=stream)
        cuda.launch(cuda.function(module, "wild"), 1, 1, stream=stream)
        cuda.cuLaunchHostFunc(stream, function, 0)
        cuda.cuStreamAddCallback(stream, callback, 0, 0)
        word(flag).value = 1
        assert cuda.code("cuStreamSynchronize", stream) == {ILLEGAL_ADDRESS}
        assert seen == [{ILLEGAL_ADDRESS}], seen
    """)


def test_a_fault_has_a_text_and_ends_with_its_context(passes, own):
    passes("""
        import ctypes
        last = cuda.library.cupola_cpu_last_fault
        last.restype = ctypes.c_char_p
        assert last() == b""
        mine, before = c_void_p(), c_void_p()
        cuda.cuCtxCreate_v2(byref(mine), 0, 0)
        cuda.launch(cuda.function(cuda.module(), "wild"), 1, 1)
        assert cuda.code("cuCtxSynchronize") == ILLEGAL_ADDRESS
        assert b"wild" in last() and b"\\n" not in last()
        cuda.cuCtxDestroy_v2(mine)
        cuda.cuCtxSynchronize()
        cuda.cuMemFree_v2(cuda.alloc(16))
    """)


def test_reset_ends_a_fault(passes, own):
    passes("""
        cuda.launch(cuda.function(cuda.module(), "wild"), 1, 1)
        assert cuda.code("cuCtxSynchronize") == ILLEGAL_ADDRESS
        cuda.cuDevicePrimaryCtxReset_v2(0)
        cuda.primary()
        cuda.cuMemFree_v2(cuda.alloc(16))
        cuda.launch(cuda.function(cuda.module(), "empty"), 1, 1)
        cuda.cuCtxSynchronize()
    """)


def test_time_limit(passes, own):
    passes(
        """
        module = cuda.module()
        for _ in range(3):
            cuda.launch(cuda.function(module, "empty"), 100, 32)
        cuda.cuCtxSynchronize()
        begin = time.monotonic()
        cuda.launch(cuda.function(module, "spin"), 4, 32)
        assert cuda.code("cuCtxSynchronize") == LAUNCH_TIMEOUT
        assert 0.2 < time.monotonic() - begin < 10
    """,
        CUPOLA_CPU_TIMEOUT="0.25",
    )


def test_one_worker_runs_everything(passes, own):
    passes(
        """
        pointer, module = cuda.alloc(1 << 18), cuda.module()
        cuda.cuMemsetD8_v2(pointer, 0, 1 << 18)
        cuda.launch(cuda.function(module, "add1"), 512, 128, c_uint64(pointer))
        assert cuda.read(pointer, 1 << 16) == [1] * (1 << 16)
        count = c_int()
        cuda.cuDeviceGetAttribute(byref(count), 16, 0)
        assert count.value == 1
    """,
        CUPOLA_CPU_THREADS="1",
    )


def test_times_of_kernels(cuda, kernel, pointer):
    """Two events around work are in order and not negative."""
    start, stop, ms = cuda.event(), cuda.event(), c_float()
    cuda.cuEventRecord(start, 0)
    cuda.launch(kernel("add1"), 256, 256, c_uint64(pointer))
    cuda.cuEventRecord(stop, 0)
    cuda.cuEventSynchronize(stop)
    cuda.cuEventElapsedTime(byref(ms), start, stop)
    assert 0 < ms.value < 10000
    for event in (start, stop):
        cuda.cuEventDestroy_v2(event)
