"""Thread-block clusters: their shapes, their barrier, each other's shared memory."""

import itertools
import pathlib
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

import images
import numpy as np
import pytest
from driver_abi import *

from .extended import *
from .graphs import kernel_params

SOURCE = pathlib.Path(__file__).with_name("groups.cu")


@pytest.fixture(scope="module")
def groups(started):
    text = images.compiled("groups.90.ptx", SOURCE, "-ptx", "-arch=compute_90")
    started.primary()
    supported = c_int()
    started.cuDeviceGetAttribute(byref(supported), 120, 0)
    if not supported.value:
        pytest.skip("no clusters")
    return started.module(text.read_bytes() + b"\0")


@pytest.fixture
def function(cuda, groups):
    return lambda name: cuda.function(groups, name)


@pytest.fixture
def memory(cuda):
    at = cuda.alloc(1 << 20)
    cuda.cuMemsetD8_v2(at, 0, 1 << 20)
    cuda.cuCtxSynchronize()
    yield at
    cuda.cuCtxSynchronize()
    cuda.cuMemFree_v2(at)


def ring(blocks, size, threads=64):
    out = []
    for block in range(blocks):
        first = block // size * size
        rank = (block - first + 1) % size
        out += [(first + rank) * 1000 + t + 5 + 1000000 * rank for t in range(threads)]
    return out


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("clusters", [1, 50])
def test_shared_memory_of_the_next_block(cuda, function, memory, size, clusters):
    out, blocks = c_uint64(memory), size * clusters
    assert launch_ex(cuda, function("ring"), blocks, 64, (out,), cluster(size)) == SUCCESS
    assert cuda.read(memory, blocks * 64) == ring(blocks, size)


def test_clusters_of_one_block_where_nobody_asked(cuda, function, memory):
    cuda.launch(function("ring"), 6, 64, c_uint64(memory))
    assert cuda.read(memory, 6 * 64) == ring(6, 1)
    cuda.launch(function("coordinates"), 2, 32, c_uint64(memory))
    values = cuda.read(memory, 32)
    assert values == [0, 0, 0, 1, 1, 1, 0, 0, 0, 2, 1, 1, 0, 1, 0, 0] + [
        0, 0, 0, 1, 1, 1, 1, 0, 0, 2, 1, 1, 0, 1, 0, 0
    ]  # fmt: skip


@pytest.mark.parametrize("shape", [(2, 1, 1), (1, 2, 1), (2, 2, 2), (4, 2, 1)])
def test_coordinates(cuda, function, memory, shape):
    grid = (8, 4, 4)
    done = launch_ex(cuda, function("coordinates"), grid, 32, (c_uint64(memory),), cluster(*shape))
    assert done == SUCCESS
    values = iter(cuda.read(memory, 16 * 128))
    counts = [g // s for g, s in zip(grid, shape, strict=True)]
    for z, y, x in itertools.product(*(range(g) for g in reversed(grid))):
        inside = [b % s for b, s in zip((x, y, z), shape, strict=True)]
        rank = inside[0] + shape[0] * (inside[1] + shape[1] * inside[2])
        outside = [b // s for b, s in zip((x, y, z), shape, strict=True)]
        expected = [*inside, *shape, *outside, *counts, rank, np.prod(shape), 1, rank * 32]
        assert list(itertools.islice(values, 16)) == expected


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_distributed_histogram(cuda, function, memory, size):
    values = np.random.default_rng(1).integers(0, 2**32, 5000, dtype=np.uint32)
    at = cuda.alloc(values.nbytes)
    cuda.cuMemcpyHtoD_v2(at, values.ctypes.data, values.nbytes)
    arguments = c_uint64(at), c_uint(values.size), c_uint64(memory)
    code = launch_ex(
        cuda, function("histogram"), size, 256, arguments, cluster(size), shared=32 * 4
    )
    assert code == SUCCESS
    expected = np.bincount(values % (32 * size), minlength=32 * size)
    assert cuda.read(memory, 32 * size) == list(expected)
    cuda.cuMemFree_v2(at)


def test_a_shape_of_the_kernels_own(cuda, function, memory):
    pairs, value = function("pairs"), c_int()
    cuda.launch(pairs, 4, 32, c_uint64(memory))
    assert cuda.read(memory, 4) == [2] * 4
    for which, expected in ((11, 2), (12, 1), (13, 1)):
        cuda.cuFuncGetAttribute(byref(value), which, pairs)
        assert value.value == expected
        # cuda.h speaks of NOT_PERMITTED; the driver says INVALID_VALUE, and takes what it is.
        refused = (INVALID_VALUE, NOT_PERMITTED)
        code = cuda.code("cuFuncSetAttribute", pairs, which, 1)
        assert code == SUCCESS if expected == 1 else code in refused
        cuda.cuFuncGetAttribute(byref(value), which, pairs)
        assert value.value == expected
    arguments = (c_uint64(memory),)
    assert launch_ex(cuda, pairs, 4, 32, arguments, cluster(2)) == SUCCESS
    assert launch_ex(cuda, pairs, 4, 32, arguments, cluster(4)) == INVALID_CLUSTER_SIZE


def test_a_shape_that_was_set(cuda, function, memory):
    coordinates, value = function("coordinates"), c_int()
    for which, put in ((11, 2), (12, 2), (13, 1)):
        cuda.cuFuncSetAttribute(coordinates, which, put)
        cuda.cuFuncGetAttribute(byref(value), which, coordinates)
        assert value.value == put
    cuda.launch(coordinates, (2, 2), 32, c_uint64(memory))
    assert cuda.read(memory, 16)[3:6] == [2, 2, 1]
    for which in (11, 12, 13):
        cuda.cuFuncSetAttribute(coordinates, which, 0)
    cuda.launch(coordinates, (2, 2), 32, c_uint64(memory))
    assert cuda.read(memory, 16)[3:6] == [1, 1, 1]


def test_a_shape_has_to_be_given(cuda, function, memory):
    kernel, value, arguments = function("explicit_only"), c_int(), (c_uint64(memory),)
    cuda.cuFuncGetAttribute(byref(value), 10, kernel)
    assert value.value == 1
    assert cuda.launch_code(kernel, 4, 32, *arguments) == INVALID_CLUSTER_SIZE
    assert launch_ex(cuda, kernel, 4, 32, arguments, cluster(4)) == SUCCESS
    assert cuda.read(memory, 4) == [4] * 4


def test_shapes_that_do_not_suit(cuda, function, memory):
    kernel, arguments = function("coordinates"), (c_uint64(memory),)
    wrong = INVALID_VALUE, INVALID_CLUSTER_SIZE
    for grid, shape in (((3,), (2,)), ((4, 3), (2, 2)), ((4, 4, 3), (1, 1, 2)), ((9,), (9,))):
        assert launch_ex(cuda, kernel, grid, 32, arguments, cluster(*shape)) in wrong
    if not cuda.on_hardware:
        assert launch_ex(cuda, kernel, 3, 32, arguments, cluster(2)) == INVALID_CLUSTER_SIZE
        code = launch_ex(cuda, kernel, 8, 32, arguments, cluster(2**31, 2**31, 2**31))
        assert code == INVALID_CLUSTER_SIZE
    cuda.cuCtxSynchronize()


def test_larger_clusters_need_leave(cuda, function, memory):
    kernel, arguments = function("ring"), (c_uint64(memory),)
    assert launch_ex(cuda, kernel, 16, 64, arguments, cluster(16)) == INVALID_CLUSTER_SIZE
    cuda.cuFuncSetAttribute(kernel, 14, 1)
    assert launch_ex(cuda, kernel, 16, 64, arguments, cluster(16)) == SUCCESS
    assert cuda.read(memory, 16 * 64) == ring(16, 16)
    cuda.cuFuncSetAttribute(kernel, 14, 0)


def test_a_bound_of_the_kernel(cuda, function, memory):
    kernel, arguments = function("bounded"), (c_uint64(memory),)
    assert launch_ex(cuda, kernel, 8, 32, arguments, cluster(4)) == SUCCESS
    assert cuda.read(memory, 8) == [4] * 8
    if not cuda.on_hardware:
        assert launch_ex(cuda, kernel, 8, 32, arguments, cluster(8)) == INVALID_CLUSTER_SIZE


def test_preferred_shapes(cuda, function, memory, own):
    kernel, arguments = function("coordinates"), (c_uint64(memory),)

    def preferred(*shape):
        made = attribute(PREFERRED_CLUSTER_DIMENSION, *shape)
        return launch_ex(cuda, kernel, 8, 32, arguments, cluster(2), made)

    assert preferred(4, 1, 1) == SUCCESS
    assert preferred(3, 1, 1) == INVALID_VALUE  # no multiple of the regular shape
    assert preferred(16, 1, 1) == INVALID_VALUE  # no divisor of the grid
    assert preferred(4, 1, 2) == INVALID_VALUE
    assert preferred(0, 1, 1) == INVALID_VALUE


def test_cooperative_clusters(cuda, function, memory):
    arguments = c_uint64(memory), c_uint64(memory + 4096), c_uint(5)
    both = cluster(2), attribute(COOPERATIVE, 1)
    assert launch_ex(cuda, function("rounds"), 8, 64, arguments, *both) == SUCCESS
    total = list(itertools.accumulate(28 + 8 * n for n in range(5)))
    assert cuda.read(memory + 4096, 40) == [t for t in total for _ in range(8)]


def test_dependent_launches(cuda, function, memory):
    stream, argument = cuda.stream(NON_BLOCKING), (c_uint64(memory),)
    for _ in range(20):
        assert launch_ex(cuda, function("first"), 64, 128, argument, stream=stream) == SUCCESS
        early = attribute(PROGRAMMATIC_STREAM_SERIALIZATION, 1)
        code = launch_ex(cuda, function("second"), 64, 128, argument, early, stream=stream)
        assert code == SUCCESS
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(memory, 64 * 128 + 1) == [8] * 64 * 128 + [0]
    cuda.cuStreamDestroy_v2(stream)


def test_a_node_keeps_its_shape(cuda, function, memory):
    """Setting a node's parameters does not change its attributes."""
    stream, kernel = cuda.stream(NON_BLOCKING), function("ring")
    graph, ready, node, count = c_void_p(), c_void_p(), c_void_p(), c_size_t(1)
    cuda.cuStreamBeginCapture_v2(stream, 1)
    code = launch_ex(cuda, kernel, 16, 64, (c_uint64(memory),), cluster(4), stream=stream)
    assert code == SUCCESS
    cuda.cuStreamEndCapture(stream, byref(graph))
    cuda.cuGraphGetNodes(graph, byref(node), byref(count))
    places = [memory + 8192 * n for n in range(3)]
    changed = [kernel_params(kernel, 16, 64, c_uint64(place)) for place in places]
    cuda.cuGraphKernelNodeSetParams_v2(node, byref(changed[1]))
    cuda.cuGraphInstantiateWithFlags(byref(ready), graph, 0)
    cuda.cuGraphLaunch(ready, stream)
    cuda.cuGraphExecKernelNodeSetParams_v2(ready, node, byref(changed[2]))
    cuda.cuGraphLaunch(ready, stream)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(places[0], 16 * 64) == [0] * 16 * 64
    assert cuda.read(places[1], 16 * 64) == cuda.read(places[2], 16 * 64) == ring(16, 4)
    cuda.cuGraphExecDestroy(ready)
    cuda.cuGraphDestroy(graph)
    cuda.cuStreamDestroy_v2(stream)


# ---- occupancy ----------------------------------------------------------------------------


def active(cuda, function, *arguments, **more):
    out = c_int(-1)
    code = cuda.code(
        "cuOccupancyMaxActiveClusters", byref(out), function, byref(config(*arguments, **more))
    )
    return code, out.value


def potential(cuda, function, *arguments, **more):
    out = c_int(-1)
    cuda.cuOccupancyMaxPotentialClusterSize(byref(out), function, byref(config(*arguments, **more)))
    return out.value


def test_active_clusters(cuda, function):
    ring, pairs = function("ring"), function("pairs")
    code, two = active(cuda, ring, 16, 64, cluster(2))
    assert code == SUCCESS and two >= 1
    assert active(cuda, ring, 16, 64, cluster(4))[1] <= two
    assert active(cuda, pairs, 16, 64) == active(cuda, pairs, 16, 64, cluster(2))
    assert active(cuda, pairs, 16, 64, cluster(4))[0] == INVALID_CLUSTER_SIZE
    assert active(cuda, ring, 16, 64) == (SUCCESS, 0)  # without a shape there are no clusters


def test_how_large_a_cluster_may_be(cuda, function):
    ring = function("ring")
    assert potential(cuda, ring, 16, 64) == 8
    assert potential(cuda, function("pairs"), 16, 64) == 8  # whatever the kernel's shape is
    # Whether the driver heeds a kernel's .maxclusterrank here, nothing says.
    assert potential(cuda, function("bounded"), 16, 64) in ((4, 8) if cuda.on_hardware else (4,))
    cuda.cuFuncSetAttribute(ring, 14, 1)
    assert potential(cuda, ring, 16, 64) == 16
    cuda.cuFuncSetAttribute(ring, 14, 0)


def test_occupancy_numbers(cuda, function, own):
    count, each = c_int(), c_int()
    ring = function("ring")
    cuda.cuDeviceGetAttribute(byref(count), 16, 0)
    cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(byref(each), ring, 256, 0)
    for size in (1, 2, 8):
        expected = max(1, count.value * each.value // size)
        assert active(cuda, ring, 16, 256, cluster(size)) == (SUCCESS, expected)
    assert active(cuda, ring, 16, 0, cluster(2))[0] == INVALID_VALUE
    assert active(cuda, ring, 16, 64, cluster(2), shared=100 << 10) == (SUCCESS, 0)


# ---- devices without clusters ---------------------------------------------------------------


def test_an_older_device_has_none(passes, own):
    passes(
        """
        from cpu.extended import *
        value, module = c_int(), cuda.module()
        cuda.cuDeviceGetAttribute(byref(value), 120, 0)
        assert value.value == 0
        empty = cuda.function(module, "empty")
        assert launch_ex(cuda, empty, 4, 32, (), cluster(2)) == NOT_SUPPORTED
        assert launch_ex(cuda, empty, 4, 32, (), cluster(1)) == SUCCESS
        cuda.cuCtxSynchronize()
    """,
        CUPOLA_CPU_COMPUTE_CAPABILITY="8.0",
    )
