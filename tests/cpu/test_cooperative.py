"""Cooperative grids: all blocks under way at once, waiting for each other."""

import pathlib
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

import images
import pytest
from driver_abi import *

from .extended import *
from .graphs import kernel_params

SOURCE = pathlib.Path(__file__).with_name("groups.cu")


@pytest.fixture(scope="module")
def groups(started):
    text = images.compiled("groups.75.ptx", SOURCE, "-ptx", "-arch=compute_75")
    started.primary()
    return started.module(text.read_bytes() + b"\0")


@pytest.fixture
def function(cuda, groups):
    supported = c_int()
    cuda.cuDeviceGetAttribute(byref(supported), 95, 0)
    if not supported.value:
        pytest.skip("no cooperative launches")
    return lambda name: cuda.function(groups, name)


@pytest.fixture
def memory(cuda):
    at = cuda.alloc(1 << 20)
    cuda.cuMemsetD8_v2(at, 0, 1 << 20)
    cuda.cuCtxSynchronize()
    yield at
    cuda.cuCtxSynchronize()
    cuda.cuMemFree_v2(at)


def resident(cuda, function, block, shared=0):
    """Blocks that may be under way at once."""
    each, count = c_int(), c_int()
    cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(byref(each), function, block, shared)
    cuda.cuDeviceGetAttribute(byref(count), 16, 0)
    return each.value * count.value


def cooperative(cuda, function, grid, block, *arguments, shared=0, stream=0):
    pointers = (c_void_p * max(1, len(arguments)))(*(ctypes.addressof(a) for a in arguments))
    return cuda.code(
        "cuLaunchCooperativeKernel", function, grid, 1, 1, block, 1, 1, shared, stream, pointers
    )


def sums(blocks, count):
    total, out = 0, []
    for n in range(count):
        total += sum(range(blocks)) + blocks * n
        out += [total % 2**32] * blocks
    return out


@pytest.mark.parametrize("block", [32, 256, 1024])
def test_as_many_blocks_as_are_resident(cuda, function, memory, block):
    rounds = function("rounds")
    blocks = min(resident(cuda, rounds, block), 1000)
    places, out = c_uint64(memory), c_uint64(memory + 4096)
    assert cooperative(cuda, rounds, blocks, block, places, out, c_uint(20)) == SUCCESS
    assert cuda.read(memory + 4096, blocks * 20) == sums(blocks, 20)


def test_one_worker_runs_them_all(passes, function):
    text = images.compiled("groups.75.ptx", SOURCE, "-ptx", "-arch=compute_75")
    passes(
        f"""
        from cpu.test_cooperative import cooperative, resident, sums
        rounds = cuda.function(cuda.module(open({str(text)!r}, "rb").read() + b"\\0"), "rounds")
        at, blocks = cuda.alloc(1 << 20), min(resident(cuda, rounds, 64), 100)
        cuda.cuMemsetD8_v2(at, 0, 1 << 20)
        more = c_uint64(at), c_uint64(at + 4096), c_uint(10)
        assert cooperative(cuda, rounds, blocks, 64, *more) == SUCCESS
        assert cuda.read(at + 4096, blocks * 10) == sums(blocks, 10)
    """,
        CUPOLA_CPU_THREADS="1",
        PYTHONPATH=os.pathsep.join([str(SOURCE.parents[1]), os.environ.get("PYTHONPATH", "")]),
    )


def test_blocks_wait_for_later_ones(cuda, function, memory):
    backwards = function("backwards")
    blocks = min(resident(cuda, backwards, 64), 200)
    turn, out = c_uint64(memory), c_uint64(memory + 4096)
    assert cooperative(cuda, backwards, blocks, 64, turn, out) == SUCCESS
    assert cuda.read(memory + 4096, blocks) == list(reversed(range(blocks)))


def test_the_grid_knows(cuda, function, memory):
    valid, out = function("valid"), c_uint64(memory)
    # is_valid() reads registers whose values PTX leaves to the driver. In a grid that is not
    # cooperative, NVIDIA's driver may leave any values in them.
    plain = ([1], [2]) if cuda.on_hardware else ([1],)
    cuda.launch(valid, 1, 1, out)
    assert cuda.read(memory, 1) in plain
    assert cooperative(cuda, valid, 1, 1, out) == SUCCESS
    assert cuda.read(memory, 1) == [2]
    cuda.launch(valid, 1, 1, out)
    assert cuda.read(memory, 1) in plain
    assert launch_ex(cuda, valid, 1, 1, (out,), attribute(COOPERATIVE, 1)) == SUCCESS
    assert cuda.read(memory, 1) == [2]


def test_a_node_stays_cooperative(cuda, function, memory):
    stream, valid = cuda.stream(NON_BLOCKING), function("valid")
    graph, ready, node, count = c_void_p(), c_void_p(), c_void_p(), c_size_t(1)
    cuda.cuStreamBeginCapture_v2(stream, 1)
    assert cooperative(cuda, valid, 1, 1, c_uint64(memory), stream=stream) == SUCCESS
    cuda.cuStreamEndCapture(stream, byref(graph))
    cuda.cuGraphGetNodes(graph, byref(node), byref(count))
    changed = kernel_params(valid, 1, 1, c_uint64(memory + 4))
    cuda.cuGraphKernelNodeSetParams_v2(node, byref(changed))
    cuda.cuGraphInstantiateWithFlags(byref(ready), graph, 0)
    cuda.cuGraphLaunch(ready, stream)
    changed = kernel_params(valid, 1, 1, c_uint64(memory + 8))
    cuda.cuGraphExecKernelNodeSetParams_v2(ready, node, byref(changed))
    cuda.cuGraphLaunch(ready, stream)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(memory, 3) == [0, 2, 2]
    cuda.cuGraphExecDestroy(ready)
    cuda.cuGraphDestroy(graph)
    cuda.cuStreamDestroy_v2(stream)


def test_more_than_are_resident(cuda, function, memory):
    rounds, more = function("rounds"), (c_uint64(memory), c_uint64(memory + 4096), c_uint(1))
    for block, shared in ((1024, 0), (64, 0), (64, 40 << 10)):
        most = resident(cuda, rounds, block, shared)
        code = cooperative(cuda, rounds, most + 1, block, *more, shared=shared)
        assert code == COOPERATIVE_LAUNCH_TOO_LARGE
        code = launch_ex(
            cuda, rounds, (1, 65535, 2), block, more, attribute(COOPERATIVE, 1), shared=shared
        )
        assert code == COOPERATIVE_LAUNCH_TOO_LARGE
        assert cooperative(cuda, rounds, 1, block, *more, shared=shared) == SUCCESS


def test_beside_other_work(cuda, function, kernel, memory):
    """A cooperative grid that waits for the host holds up no other stream."""
    flag, streams = cuda.pinned(4), [cuda.stream(NON_BLOCKING) for _ in range(2)]
    wait, add = kernel("wait_flag"), kernel("add1")
    blocks = resident(cuda, wait, 32)
    assert cooperative(cuda, wait, blocks // 2 or 1, 32, c_uint64(flag), stream=streams[0]) == 0
    cuda.launch(add, 64, 128, c_uint64(memory), stream=streams[1])
    cuda.cuStreamSynchronize(streams[1])
    assert cuda.code("cuStreamQuery", streams[0]) == NOT_READY
    word(flag).value = 1
    cuda.cuStreamSynchronize(streams[0])
    assert cuda.read(memory, 64 * 128 + 1) == [1] * 64 * 128 + [0]
    for stream in streams:
        cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFreeHost(flag)


def test_wrong_shapes(cuda, function, memory):
    valid, out = function("valid"), c_uint64(memory)
    assert cooperative(cuda, valid, 0, 1, out) == INVALID_VALUE
    assert cooperative(cuda, valid, 1, 2000, out) == INVALID_VALUE
    assert cooperative(cuda, valid, 1, 32, out, shared=1 << 20) == COOPERATIVE_LAUNCH_TOO_LARGE


def test_a_fault_ends_the_others(passes, own):
    passes(f"""
        from cpu.test_launch_attributes import launch_ex, attribute
        module, flag = cuda.module(), cuda.pinned(4)
        code = launch_ex(cuda, cuda.function(module, "wild"), 16, 64, (), attribute(2, 1))
        assert code == SUCCESS
        assert cuda.code("cuCtxSynchronize") == {ILLEGAL_ADDRESS}
    """)


def test_time_limit(passes, own):
    passes(
        """
        from cpu.test_launch_attributes import launch_ex, attribute
        spin = cuda.function(cuda.module(), "spin")
        assert launch_ex(cuda, spin, 16, 64, (), attribute(2, 1)) == SUCCESS
        assert cuda.code("cuCtxSynchronize") == LAUNCH_TIMEOUT
    """,
        CUPOLA_CPU_TIMEOUT="0.25",
    )
