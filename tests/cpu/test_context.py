"""Contexts: the primary one's count, the stack of each thread, destruction."""

from ctypes import byref, c_int, c_size_t

from driver_abi import *


def current(cuda):
    context = c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    return context.value


def create(cuda):
    context = c_void_p()
    cuda.cuCtxCreate_v2(byref(context), 0, 0)
    return context.value


def test_no_context_is_an_error(passes):
    passes(
        """
        cuda.cuInit(0)
        pointer = c_uint64()
        assert cuda.code("cuMemAlloc_v2", byref(pointer), 4) == INVALID_CONTEXT
        assert cuda.code("cuCtxSynchronize") == INVALID_CONTEXT
        assert cuda.code("cuCtxGetDevice", byref(c_int())) == INVALID_CONTEXT
        assert cuda.code("cuCtxPopCurrent_v2", byref(c_void_p())) == INVALID_CONTEXT
        context = c_void_p(1)
        cuda.cuCtxGetCurrent(byref(context))
        assert context.value is None
    """,
        start=False,
    )


def test_primary_context_is_one_and_counted(passes):
    passes(
        """
        cuda.cuInit(0)
        flags, active, first, second = c_uint(), c_int(), c_void_p(), c_void_p()

        def state():
            cuda.cuDevicePrimaryCtxGetState(0, byref(flags), byref(active))
            return active.value

        assert state() == 0
        cuda.cuDevicePrimaryCtxRetain(byref(first), 0)
        cuda.cuDevicePrimaryCtxRetain(byref(second), 0)
        assert first.value == second.value and state() == 1
        cuda.cuDevicePrimaryCtxRelease_v2(0)
        assert state() == 1
        cuda.cuDevicePrimaryCtxRelease_v2(0)
        assert state() == 0
        assert cuda.code("cuDevicePrimaryCtxRelease_v2", 0) == INVALID_CONTEXT
        cuda.cuDevicePrimaryCtxRetain(byref(second), 0)
        assert state() == 1
    """,
        start=False,
    )


def test_use_after_release_is_an_error(passes):
    passes("""
        cuda.cuDevicePrimaryCtxRelease_v2(0)
        code = cuda.code("cuMemAlloc_v2", byref(c_uint64()), 4)
        assert code in (INVALID_CONTEXT, CONTEXT_IS_DESTROYED), code
    """)


def test_stack(cuda):
    before = current(cuda)
    mine = create(cuda)
    assert current(cuda) == mine
    cuda.cuCtxPushCurrent_v2(before)
    assert current(cuda) == before
    popped = c_void_p()
    cuda.cuCtxPopCurrent_v2(byref(popped))
    assert popped.value == before and current(cuda) == mine
    cuda.cuCtxDestroy_v2(mine)
    assert current(cuda) == before


def test_null_context(cuda):
    assert cuda.code("cuCtxDestroy_v2", c_void_p()) == INVALID_VALUE
    assert cuda.code("cuCtxPushCurrent_v2", c_void_p()) == INVALID_VALUE


def test_the_primary_context_is_not_the_programs_to_destroy(cuda):
    assert cuda.code("cuCtxDestroy_v2", current(cuda)) == INVALID_CONTEXT


def test_stale_context(cuda, own):
    mine = create(cuda)
    cuda.cuCtxDestroy_v2(mine)
    assert cuda.code("cuCtxSetCurrent", mine) in (INVALID_CONTEXT, CONTEXT_IS_DESTROYED)


def test_destroying_a_context_takes_its_memory(cuda, own):
    free = lambda: (cuda.cuMemGetInfo_v2(byref(a), byref(b)), a.value)[1]
    a, b = c_size_t(), c_size_t()
    before = free()
    mine = create(cuda)
    cuda.alloc(1 << 20)
    cuda.module()
    assert free() < before
    cuda.cuCtxDestroy_v2(mine)
    assert free() == before


def test_destroying_a_context_stops_its_kernels(cuda, own):
    mine = create(cuda)
    cuda.launch(cuda.function(cuda.module(), "spin"), 2, 32)
    cuda.cuCtxDestroy_v2(mine)


def test_get_device_in_both_forms(cuda, own):
    device = c_int(-1)
    cuda.cuCtxGetDevice(byref(device))
    assert device.value == 0
    device.value = -1
    cuda.cuCtxGetDevice_v2(byref(device), c_void_p())
    assert device.value == 0


def test_limits(cuda):
    value = c_size_t()
    cuda.cuCtxGetLimit(byref(value), 0)
    assert value.value > 0
    before = value.value
    cuda.cuCtxSetLimit(0, 4096)
    cuda.cuCtxGetLimit(byref(value), 0)
    assert value.value >= 4096
    cuda.cuCtxSetLimit(0, before)
    assert cuda.code("cuCtxGetLimit", byref(value), 1000) == INVALID_VALUE
    assert cuda.code("cuCtxGetLimit", byref(value), 3) == 215


def test_stream_priorities(cuda):
    least, greatest = c_int(), c_int()
    cuda.cuCtxGetStreamPriorityRange(byref(least), byref(greatest))
    assert greatest.value < least.value == 0
    stream, got = c_void_p(), c_int()
    cuda.cuStreamCreateWithPriority(byref(stream), 0, greatest.value - 10)
    cuda.cuStreamGetPriority(stream, byref(got))
    assert got.value == greatest.value
    cuda.cuStreamDestroy_v2(stream)


def test_wrong_flags(cuda):
    assert cuda.code("cuCtxCreate_v2", byref(c_void_p()), 0x7, 0) == INVALID_VALUE
    assert cuda.code("cuDevicePrimaryCtxSetFlags_v2", 0, 0x3) == INVALID_VALUE


def test_ids_differ(cuda):
    first, second = c_uint64(), c_uint64()
    cuda.cuCtxGetId(c_void_p(), byref(first))
    mine = create(cuda)
    cuda.cuCtxGetId(c_void_p(), byref(second))
    cuda.cuCtxDestroy_v2(mine)
    assert first.value != second.value
