"""Attributes of cuLaunchKernelEx: taken, done, or refused with a code."""

from ctypes import byref, c_int, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .extended import *

FLOAT_HALF, FLOAT_TWO = 0x3F000000, 0x40000000
DISABLE_TIMING = 2


@pytest.fixture
def target(cuda):
    at = cuda.alloc(64)
    cuda.cuMemsetD8_v2(at, 0, 64)
    cuda.cuCtxSynchronize()
    yield at
    cuda.cuCtxSynchronize()
    cuda.cuMemFree_v2(at)


@pytest.fixture
def store(cuda, kernel, target):
    """Launches `store` of 3 with attributes; the code, and whether the kernel ran."""

    def launch(*attributes, **more):
        cuda.cuMemsetD8_v2(target, 0, 64)
        cuda.cuCtxSynchronize()
        arguments = c_uint64(target), c_uint(3)
        code = launch_ex(cuda, kernel("store"), 1, 8, arguments, *attributes, **more)
        return code, cuda.read(target, 9) == [3] * 8 + [0]

    return launch


TAKEN, REFUSED = (SUCCESS, True), (INVALID_VALUE, False)


def test_no_attributes(store):
    assert store() == TAKEN
    assert store(name="cuLaunchKernelEx_ptsz") == TAKEN


@pytest.mark.parametrize("made", [
    attribute(IGNORE),
    attribute(COOPERATIVE, 0),
    attribute(COOPERATIVE, 1),
    cluster(1),
    attribute(CLUSTER_SCHEDULING_POLICY_PREFERENCE, 1),
    attribute(PROGRAMMATIC_STREAM_SERIALIZATION, 1),
    attribute(PRIORITY, -1),
    attribute(MEM_SYNC_DOMAIN, 1),
    attribute(ACCESS_POLICY_WINDOW, 0, 0, 0, 0, FLOAT_HALF, 0, 0),
    attribute(PREFERRED_SHARED_MEMORY_CARVEOUT, 50),
], ids=lambda made: str(made.id))  # fmt: skip
def test_taken(store, made):
    assert store(made) == TAKEN


@pytest.mark.parametrize("made", [
    attribute(SYNCHRONIZATION_POLICY, 1),
    attribute(MEM_SYNC_DOMAIN_MAP, 0x0100),
    attribute(NVLINK_UTIL_CENTRIC_SCHEDULING, 1),
    attribute(PRIORITY, -1000),  # clamped, as a stream's is
], ids=lambda made: str(made.id))  # fmt: skip
def test_taken_here(own, store, made):
    assert store(made) == TAKEN


@pytest.mark.parametrize("made", [
    attribute(CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3),
    attribute(MEM_SYNC_DOMAIN, 2),
    attribute(MEM_SYNC_DOMAIN_MAP, 0x0900),
    attribute(SYNCHRONIZATION_POLICY, 0),
    attribute(SYNCHRONIZATION_POLICY, 5),
    attribute(ACCESS_POLICY_WINDOW, 0, 0, 0, 0, FLOAT_TWO, 0, 0),
    attribute(ACCESS_POLICY_WINDOW, 0, 0, 0, 0, FLOAT_HALF, 3, 0),
    attribute(ACCESS_POLICY_WINDOW, 0, 0, 0, 0, FLOAT_HALF, 0, 2),
    attribute(PREFERRED_SHARED_MEMORY_CARVEOUT, 101),
    attribute(NVLINK_UTIL_CENTRIC_SCHEDULING, 2),
    attribute(DEVICE_UPDATABLE_KERNEL_NODE, 2),
    attribute(15),
    attribute(99),
], ids=lambda made: f"{made.id}-{made.value[0]}")  # fmt: skip
def test_wrong_values(own, store, made):
    assert store(made) == REFUSED


def test_a_cluster_of_no_blocks(own, store):
    assert store(cluster(0)) == store(cluster(2, 0)) == (INVALID_CLUSTER_SIZE, False)


def test_updatable_nodes_are_not_supported(own, store):
    assert store(attribute(DEVICE_UPDATABLE_KERNEL_NODE, 1)) == (NOT_SUPPORTED, False)


def test_attributes_without_an_array(cuda, kernel, own):
    shape = config(1, 8)
    shape.count, shape.attributes = 1, None
    code = cuda.code("cuLaunchKernelEx", byref(shape), kernel("empty"), c_void_p(), c_void_p())
    assert code == INVALID_VALUE
    assert cuda.code("cuLaunchKernelEx", c_void_p(), kernel("empty"), c_void_p(), c_void_p()) == (
        INVALID_VALUE
    )


@pytest.mark.parametrize("which", [PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT])
def test_events_of_a_launch(cuda, kernel, store, which):
    flag, stream, event = cuda.pinned(4), cuda.stream(NON_BLOCKING), cuda.event(DISABLE_TIMING)
    cuda.launch(kernel("wait_flag"), 1, 1, c_uint64(flag), stream=stream)
    made = attribute(which, *pointer(event), 0, 0)
    assert launch_ex(cuda, kernel("empty"), 1, 1, (), made, stream=stream) == SUCCESS
    assert cuda.code("cuEventQuery", event) == NOT_READY
    word(flag).value = 1
    cuda.cuEventSynchronize(event)
    cuda.cuStreamSynchronize(stream)
    assert cuda.code("cuEventQuery", event) == SUCCESS
    cuda.cuEventDestroy_v2(event)
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFreeHost(flag)


@pytest.mark.parametrize("which", [PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT])
def test_events_that_a_launch_refuses(cuda, own, store, which):
    timed, plain = cuda.event(0), cuda.event(DISABLE_TIMING)
    assert store(attribute(which, *pointer(timed), 0, 0)) == REFUSED
    assert store(attribute(which, *pointer(plain), 1, 0)) == REFUSED  # an external record
    assert store(attribute(which, *pointer(0x1238), 0, 0)) == (INVALID_HANDLE, False)
    for event in (timed, plain):
        cuda.cuEventDestroy_v2(event)


def test_function_attributes(cuda, kernel):
    function, value = kernel("empty"), c_int()

    def get(which):
        cuda.cuFuncGetAttribute(byref(value), which, function)
        return value.value

    assert [get(n) for n in (10, 11, 12, 13, 14)] == [0] * 5
    for which, put in ((9, 50), (14, 1), (15, 2)):
        cuda.cuFuncSetAttribute(function, which, put)
        assert get(which) == put
        cuda.cuFuncSetAttribute(function, which, 0)
    cuda.cuFuncSetAttribute(function, 9, -1)
    assert get(9) == -1


@pytest.mark.parametrize("which, value", [(9, 101), (9, -2), (11, -1), (15, 3), (10, 1), (0, 5)])
def test_function_attributes_out_of_range(cuda, kernel, own, which, value):
    assert cuda.code("cuFuncSetAttribute", kernel("empty"), which, value) == INVALID_VALUE
