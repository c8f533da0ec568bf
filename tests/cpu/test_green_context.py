"""Green contexts: resources, their partitions, contexts and their streams."""

import ctypes
from ctypes import byref, c_int, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

SM, INVALID_RESOURCE_TYPE, INVALID_RESOURCE_CONFIGURATION = 1, 914, 915
DEFAULT_STREAM, IGNORE_COSCHEDULING, LARGE_CLUSTERS = 1, 1, 2


class Resource(ctypes.Structure):
    _fields_ = [
        ("type", c_int),
        ("private", ctypes.c_ubyte * 92),
        ("count", c_uint),
        ("least", c_uint),
        ("alignment", c_uint),
        ("rest", ctypes.c_ubyte * 36),
    ]


def whole(cuda):
    resource = Resource()
    cuda.cuDeviceGetDevResource(0, byref(resource), SM)
    return resource


def split(cuda, resource, groups, least, flags=0):
    """The code, the groups, and the remaining resource."""
    parts, count, rest = (Resource * max(1, groups))(), c_uint(groups), Resource()
    code = cuda.code(
        "cuDevSmResourceSplitByCount", parts, byref(count), byref(resource), byref(rest), flags,
        least,
    )  # fmt: skip
    return code, list(parts[: count.value]) if code == SUCCESS else [], rest


@pytest.fixture
def green(cuda):
    """Makes green contexts of resources, which end with the test."""
    made = []

    def make(*resources):
        array, description, context = (
            (Resource * len(resources))(*resources),
            c_void_p(),
            c_void_p(),
        )
        cuda.cuDevResourceGenerateDesc(byref(description), array, len(resources))
        cuda.cuGreenCtxCreate(byref(context), description, 0, DEFAULT_STREAM)
        made.append(context)
        return context

    yield make
    for context in made:
        cuda.code("cuGreenCtxDestroy", context)


def test_the_resource_of_a_device(cuda):
    resource, count, again = whole(cuda), c_int(), Resource()
    cuda.cuDeviceGetAttribute(byref(count), 16, 0)
    assert (resource.type, resource.count) == (SM, count.value)
    assert resource.least > 0 and resource.alignment > 0
    cuda.cuCtxGetDevResource(cuda.primary(), byref(again), SM)
    assert bytes(again) == bytes(resource)
    cuda.cuDevicePrimaryCtxRelease_v2(0)


def test_a_split_takes_parts_that_are_large_enough(cuda):
    resource = whole(cuda)
    for least in {resource.least, resource.count // 2, resource.count}:
        code, parts, rest = split(cuda, resource, 64, least)
        assert code == SUCCESS and parts and all(p.count >= least for p in parts)
        assert len({p.count for p in parts}) == 1
        assert sum(p.count for p in parts) + rest.count == resource.count
        assert rest.type == (SM if rest.count else 0)
        asked = c_uint()
        cuda.cuDevSmResourceSplitByCount(None, byref(asked), byref(resource), None, 0, least)
        assert asked.value == len(parts)
    code, parts, rest = split(cuda, resource, 1, resource.least)
    assert len(parts) == 1 and rest.count == resource.count - parts[0].count


def test_mistakes_of_splits(cuda):
    resource = whole(cuda)
    _, (part,), rest = split(cuda, resource, 1, resource.least)
    wrong = INVALID_RESOURCE_CONFIGURATION
    assert split(cuda, resource, 1, resource.count + 1)[0] == wrong
    assert split(cuda, part, 1, 1)[0] == wrong  # `part` has no green context
    assert split(cuda, Resource(), 1, 1)[0] == INVALID_RESOURCE_TYPE
    forged = Resource(SM)
    forged.count = forged.least = forged.alignment = resource.count
    assert split(cuda, forged, 1, 1)[0] == wrong
    assert split(cuda, resource, 1, 1, IGNORE_COSCHEDULING | LARGE_CLUSTERS)[0] == INVALID_VALUE
    assert split(cuda, resource, 0, 1)[0] == INVALID_VALUE
    assert rest.type in (0, SM)


def test_a_green_context(cuda, green, kernel):
    resource = whole(cuda)
    _, (part,), _ = split(cuda, resource, 1, resource.least)
    context, found, primary = green(part), Resource(), cuda.primary()
    cuda.cuGreenCtxGetDevResource(context, byref(found), SM)
    assert found.count == part.count and found.least > 0
    assert split(cuda, found, 1, found.least, IGNORE_COSCHEDULING)[0] == SUCCESS
    stream, memory = c_void_p(), cuda.alloc(128)
    cuda.cuGreenCtxStreamCreate(byref(stream), context, NON_BLOCKING, -99)
    cuda.cuMemsetD32Async(memory, 5, 32, stream)
    cuda.launch(kernel("add1"), 1, 32, c_uint64(memory), stream=stream.value)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(memory, 32) == [6] * 32
    owner, of = c_void_p(7), c_void_p(7)
    cuda.cuStreamGetCtx_v2(stream, byref(owner), byref(of))
    assert (owner.value, of.value) == (primary.value, context.value)
    cuda.cuStreamGetGreenCtx(stream, byref(of))
    assert of.value == context.value
    plain = cuda.stream()
    cuda.cuStreamGetGreenCtx(plain, byref(of))
    cuda.cuStreamGetCtx_v2(plain, byref(owner), None)
    cuda.cuStreamGetCtx_v2(plain, byref(owner), byref(of))
    assert (owner.value, of.value) == (primary.value, None)
    cuda.cuStreamDestroy_v2(plain)
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFree_v2(memory)
    cuda.cuDevicePrimaryCtxRelease_v2(0)


def test_work_in_a_context_of_a_green_one(cuda, green):
    context, made, primary = green(whole(cuda)), c_void_p(), cuda.primary()
    cuda.cuCtxFromGreenCtx(byref(made), context)
    cuda.cuCtxSetCurrent(made)
    now, function = c_void_p(), cuda.function(cuda.module(), "add1")
    cuda.cuCtxGetCurrent(byref(now))
    assert now.value == made.value
    memory, stream = cuda.alloc(128), cuda.stream()
    cuda.cuMemsetD32_v2(memory, 0, 32)
    cuda.launch(function, 1, 32, c_uint64(memory), stream=stream)
    assert cuda.read(memory, 32) == [1] * 32
    cuda.cuMemFree_v2(memory)
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuCtxSetCurrent(primary)
    cuda.cuDevicePrimaryCtxRelease_v2(0)


def test_the_context_of_a_green_one_has_a_handle_of_its_own(cuda, green):
    resource, primary = whole(cuda), cuda.primary()
    _, (part,), _ = split(cuda, resource, 1, resource.least)
    contexts, handles = (green(part), green(part)), []
    for context in contexts:
        for _ in range(2):
            made = c_void_p()
            cuda.cuCtxFromGreenCtx(byref(made), context)
            handles.append(made.value)
    assert handles[0] == handles[1] and handles[2] == handles[3]
    assert len({primary.value, handles[0], handles[2]}) == 3
    found, of, now = Resource(), c_void_p(), c_void_p()
    cuda.cuCtxGetDevResource(c_void_p(handles[0]), byref(found), SM)
    assert found.count == part.count
    cuda.cuCtxPushCurrent_v2(c_void_p(handles[0]))
    stream = cuda.stream(NON_BLOCKING)
    cuda.cuStreamGetGreenCtx(stream, byref(of))
    assert of.value == contexts[0].value
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuCtxPopCurrent_v2(byref(now))
    assert now.value == handles[0]
    cuda.cuCtxGetCurrent(byref(now))
    assert now.value == primary.value
    cuda.cuGreenCtxDestroy(contexts[0])
    if not cuda.on_hardware:  # on hardware, driver 580 ends the process
        assert cuda.code("cuCtxSetCurrent", c_void_p(handles[0])) != SUCCESS
        cuda.cuCtxSetCurrent(primary)
    cuda.cuDevicePrimaryCtxRelease_v2(0)


def test_events_of_a_green_context(cuda, green):
    context, stream, held, event = green(whole(cuda)), c_void_p(), cuda.pinned(64), cuda.event(2)
    cuda.cuGreenCtxStreamCreate(byref(stream), context, NON_BLOCKING, 0)
    cuda.cuStreamWaitValue32_v2(stream, held, 1, 1)
    cuda.cuGreenCtxRecordEvent(context, event)
    assert cuda.code("cuEventQuery", event) == NOT_READY
    word(held).value = 1
    cuda.cuEventSynchronize(event)
    cuda.cuGreenCtxWaitEvent(context, event)
    cuda.cuStreamSynchronize(stream)
    assert cuda.code("cuGreenCtxRecordEvent", context, None) == INVALID_HANDLE
    assert cuda.code("cuGreenCtxWaitEvent", context, None) == INVALID_HANDLE
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuEventDestroy_v2(event)
    cuda.cuMemFreeHost(c_void_p(held))


def test_numbers_of_green_contexts(cuda, green):
    first, second = (c_uint64() for _ in range(2))
    for context, number in zip(
        (green(whole(cuda)), green(whole(cuda))), (first, second), strict=True
    ):
        cuda.cuGreenCtxGetId(context, byref(number))
    assert first.value != second.value


def test_a_green_context_holds_the_primary_one(passes):
    passes(
        """
        from cpu.test_green_context import *
        description, green, flags, active = c_void_p(), c_void_p(), c_uint(), c_int()
        cuda.cuDevResourceGenerateDesc(byref(description), byref(whole(cuda)), 1)
        cuda.cuGreenCtxCreate(byref(green), description, 0, DEFAULT_STREAM)
        for expected in (1, 0):
            if expected:
                cuda.cuDevicePrimaryCtxRelease_v2(0)
            else:
                cuda.cuGreenCtxDestroy(green)
            cuda.cuDevicePrimaryCtxGetState(0, byref(flags), byref(active))
            assert active.value == expected
    """
    )


def test_what_is_left_of_a_green_context_that_is_gone(cuda, green):
    context, stream, out = green(whole(cuda)), c_void_p(), byref(c_void_p())
    cuda.cuGreenCtxStreamCreate(byref(stream), context, NON_BLOCKING, 0)
    cuda.cuGreenCtxDestroy(context)
    gone = CONTEXT_IS_DESTROYED
    for name in ("cuStreamQuery", "cuStreamSynchronize", "cuStreamDestroy_v2"):
        assert cuda.code(name, stream) == gone
    assert cuda.code("cuGreenCtxDestroy", context) == gone
    assert cuda.code("cuGreenCtxGetDevResource", context, byref(Resource()), SM) == gone
    assert cuda.code("cuCtxFromGreenCtx", out, context) == gone
    assert cuda.code("cuGreenCtxGetId", context, out) == gone
    assert cuda.code("cuGreenCtxStreamCreate", out, context, NON_BLOCKING, 0) == gone


def test_mistakes(cuda, green):
    context, resource, out = green(whole(cuda)), whole(cuda), byref(c_void_p())
    code, description = cuda.code, c_void_p()
    assert code("cuDeviceGetDevResource", 0, byref(resource), 2) == INVALID_RESOURCE_TYPE
    assert code("cuDeviceGetDevResource", 99, byref(resource), SM) == INVALID_DEVICE
    assert code("cuDeviceGetDevResource", 0, None, SM) == INVALID_VALUE
    assert code("cuCtxGetDevResource", None, byref(resource), SM) == INVALID_CONTEXT
    resource = whole(cuda)
    assert code("cuDevResourceGenerateDesc", None, byref(resource), 1) == INVALID_VALUE
    assert code("cuDevResourceGenerateDesc", out, None, 1) == INVALID_VALUE
    assert code("cuDevResourceGenerateDesc", out, byref(Resource()), 1) == INVALID_RESOURCE_TYPE
    forged = byref(Resource(SM))
    assert code("cuDevResourceGenerateDesc", out, forged, 1) == INVALID_RESOURCE_CONFIGURATION
    cuda.cuDevResourceGenerateDesc(byref(description), byref(resource), 1)
    for flags in (0, 2, 3):
        assert code("cuGreenCtxCreate", out, description, 0, flags) == INVALID_VALUE
    assert code("cuGreenCtxCreate", out, description, 99, DEFAULT_STREAM) == INVALID_DEVICE
    assert code("cuGreenCtxCreate", None, description, 0, DEFAULT_STREAM) == INVALID_VALUE
    assert code("cuGreenCtxGetDevResource", context, None, SM) == INVALID_VALUE
    assert code("cuGreenCtxGetDevResource", context, byref(resource), 2) == INVALID_RESOURCE_TYPE
    for flags in (0, 2):
        assert code("cuGreenCtxStreamCreate", out, context, flags, 0) == INVALID_VALUE
    assert code("cuStreamGetGreenCtx", 0, None) == INVALID_VALUE
    for name, *arguments in [
        ("cuGreenCtxDestroy", None),
        ("cuGreenCtxGetDevResource", None, byref(resource), SM),
        ("cuCtxFromGreenCtx", out, None),
        ("cuGreenCtxStreamCreate", out, None, NON_BLOCKING, 0),
        ("cuGreenCtxRecordEvent", None, None),
        ("cuGreenCtxWaitEvent", None, None),
        ("cuGreenCtxGetId", None, out),
    ]:
        assert code(name, *arguments) == INVALID_CONTEXT, name
