"""Kernels that launch kernels: order, streams, errors, limits, and programs."""

import ctypes
import json
import os
import random
import re
import struct
from ctypes import byref, c_float, c_int, c_uint, c_uint64, c_void_p
from pathlib import Path

import images
import pytest
from driver_abi import *

from .conditions import linked

SOURCE = Path(__file__).with_name("child_grids.cu")
PENDING_LIMIT = 4  # CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT
DEPTH_EXCEEDED = 65  # cudaErrorLaunchMaxDepthExceeded
PENDING_EXCEEDED = 69  # cudaErrorLaunchPendingCountExceeded


def ptx(*options):
    name = "child_grids" + "".join(option.strip("-") for option in options) + ".ptx"
    return images.compiled(name, SOURCE, "-rdc=true", "-ptx", "-arch=compute_75", *options)


@pytest.fixture
def launch(cuda):
    """Launches a kernel of child_grids.cu, waits, and returns the words of its first argument."""
    module = cuda.module(linked(cuda, ptx().read_text()))
    memory = cuda.alloc(4096)
    cuda.cuMemsetD32_v2(memory, 0, 1024)

    def run(name, *arguments, grid=1, block=1, count=64):
        given = [c_uint64(memory), *arguments]
        cuda.launch(cuda.function(module, name), grid, block, *given)
        cuda.cuCtxSynchronize()
        return cuda.read(memory, count)

    run.module, run.memory = module, memory
    yield run
    cuda.cuMemFree_v2(memory)
    cuda.cuModuleUnload(module)


def appended(words):
    return words[1 : 1 + words[0]]


def test_work_of_a_stream_runs_in_order_and_tails_after_all(launch):
    assert appended(launch("ordered")) == [0, 1, 2, 3, 100, 101]


def test_tails_of_a_tail_run_before_the_next_tail(launch):
    expected = [0, 1, 10, 11, 20, 21, 22, 12, 2]
    assert appended(launch("tails", c_int(0))) == expected


def test_a_grid_launches_itself_again_and_again(launch):
    assert launch("countdown", c_int(1000))[0] == 1000


def test_children_of_a_block_keep_their_order(cuda, launch):
    numbers = appended(launch("blocks", grid=16))
    expected = [10 * n + k for n in range(16) for k in (0, 1)]
    assert sorted(numbers) == expected
    assert all(numbers.index(10 * n) < numbers.index(10 * n + 1) for n in range(16))
    if not cuda.on_hardware:
        assert numbers == expected  # there independent work runs in the order of blocks


def test_a_stream_waits_for_an_event(launch):
    words = launch("events")
    assert appended(words) == [1, 2, 3]
    assert words[20] == 0


@pytest.mark.usefixtures("own")
def test_copies_and_fills_are_work_of_streams(cuda, launch):
    """Driver 580 reports success for a fill by device code, and fills nothing."""
    launch("moves")
    found = bytes(cuda.read(launch.memory, 264, ctypes.c_ubyte))
    row = b"\2" * 8 + b"\1" * 8
    assert found[:64] == found[64:128] == row * 4
    assert found[128:160] == b"\2" * 32
    box = (b"\7\7" + b"\1" * 6 + b"\0" * 8) * 4
    assert found[192:256] == box
    assert struct.unpack("II", found[256:]) == (0x02020202, 0)


def test_quicksort(cuda, launch):
    generator = random.Random(7)
    values = [generator.randrange(2**32) for _ in range(1000)]
    cuda.cuMemcpyHtoD_v2(launch.memory, (c_uint * 1000)(*values), 4000)
    assert launch("quicksort", c_int(0), c_int(999), c_int(0), count=1000) == sorted(values)


def counted(points, most):
    """The counts of cells, as the kernel numbers them."""
    counts = {}

    def divide(x, y, size, path):
        inside = sum(x <= a < x + size and y <= b < y + size for a, b in points)
        counts[path] = inside
        if inside <= most or path >= 256:
            return
        for quarter in range(4):
            left, below = x + (quarter & 1) * size / 2, y + (quarter >> 1) * size / 2
            divide(left, below, size / 2, 4 * path + quarter)

    divide(0.0, 0.0, 1.0, 1)
    return counts


class Cell(ctypes.Structure):
    _fields_ = [("x", c_float), ("y", c_float), ("size", c_float), ("path", c_int)]


def test_quadtree(cuda, launch):
    generator = random.Random(3)
    points = [(generator.randrange(256) / 256) ** 2 for _ in range(600)]
    pairs = list(zip(points[::2], points[1::2], strict=True))
    pairs = [struct.unpack("ff", struct.pack("ff", *pair)) for pair in pairs]
    counts = cuda.alloc(16384)
    cuda.cuMemsetD32_v2(counts, 0, 4096)
    cuda.cuMemcpyHtoD_v2(launch.memory, (c_float * 600)(*points), 2400)
    launch("quadtree", c_int(300), Cell(0, 0, 1, 1), c_int(10), c_uint64(counts), block=64)
    found = cuda.read(counts, 4096)
    expected = counted(pairs, 10)
    assert {path: found[path] for path in expected} == expected
    assert sum(found) == sum(expected.values())
    cuda.cuMemFree_v2(counts)


def test_bezier_curves(cuda, launch):
    curves, size = 20, 40
    data = b""
    for n in range(curves):
        data += struct.pack("ffffffQii", 0, 0, 1, n / 4, 2, 0.5, 0, 0, -1)
    cuda.cuMemcpyHtoD_v2(launch.memory, data, len(data))
    launch("bezier", c_int(curves), grid=2, block=16)
    points = cuda.alloc(curves * 64 * 8)
    cuda.cuMemsetD32_v2(points, 0, curves * 64 * 2)
    about = bytes(cuda.read(launch.memory, curves * size, ctypes.c_ubyte))
    launch("read_curves", c_int(curves), c_uint64(points))
    found = cuda.read(points, curves * 128, c_float)
    for n in range(curves):
        count, error = struct.unpack_from("ii", about, n * size + 32)
        assert (count, error) == (min(max(int(abs(0.5 - n / 2) * 16), 4), 64), 0)
        for k in range(count):
            u = k / (count - 1)
            x, y = found[n * 128 + 2 * k : n * 128 + 2 * k + 2]
            assert x == pytest.approx(2 * u * (1 - u) + 2 * u * u, abs=1e-6)
            assert y == pytest.approx(2 * u * (1 - u) * n / 4 + u * u / 2, abs=1e-5)
    cuda.cuMemFree_v2(points)


def test_cdp1_waits_for_children(cuda):
    """cudaDeviceSynchronize, which exists for architectures before sm_90."""
    if cuda.on_hardware:
        pytest.skip("the GPUs that run these tests have no CDP1")
    module = cuda.module(ptx("-DCUDA_FORCE_CDP1_IF_SUPPORTED").read_bytes() + b"\0")
    values, sums = cuda.alloc(4 * 1024), cuda.alloc(4 * 32)
    cuda.cuMemcpyHtoD_v2(values, (c_uint * 1024)(*range(1024)), 4096)
    cuda.launch(cuda.function(module, "sum_of_squares"), 32, 32, c_uint64(values), c_uint64(sums))
    expected = [sum(n * n for n in range(32 * b, 32 * b + 32)) for b in range(32)]
    assert cuda.read(sums, 32) == [each % 2**32 for each in expected]
    cuda.cuMemsetD32_v2(sums, 0, 2)
    cuda.launch(cuda.function(module, "tree"), 1, 1, c_uint64(sums), c_int(5))
    assert cuda.read(sums, 2) == [126, 126]
    for address in (values, sums):
        cuda.cuMemFree_v2(address)
    cuda.cuModuleUnload(module)


# -- errors and limits --------------------------------------------------------------------


def test_a_wrong_launch_sets_the_error_of_its_thread(launch):
    words = launch("refusals")
    invalid, configuration, kind, memory = 1, 9, 21, 2
    assert words[:5] == [configuration, configuration, 0, configuration, configuration]
    assert words[5:14] == [0, invalid, kind, 0, 0, memory, 1, invalid, invalid]


def test_properties(launch):
    words = launch("properties")
    assert words[:2] == [0, 64]
    assert words[2] == 0 and 1 <= words[3] <= 32
    assert words[4:9] == [0, 32, 0, 2048, 0]
    assert words[9] >= 1 and words[10] == 0 and words[11] == 6000


def test_nested_grids_are_pending_launches(launch):
    assert launch("nest", c_int(0), c_int(2048))[:2] == [2048, 0]


def test_nested_grids_have_a_limit(launch):
    assert launch("nest", c_int(0), c_int(2100))[:2] == [2048, PENDING_EXCEEDED]


@pytest.mark.usefixtures("own")
def test_the_depth_has_a_limit(cuda, launch):
    cuda.cuCtxSetLimit(PENDING_LIMIT, 6000)
    assert launch("nest", c_int(0), c_int(3000))[:2] == [2048, DEPTH_EXCEEDED]
    cuda.cuCtxSetLimit(PENDING_LIMIT, 2048)


def test_only_tail_launches_wait_for_the_end_of_their_grid(launch):
    assert launch("pending", c_int(5000))[0] == 0


def test_tail_launches_have_a_limit(cuda, launch):
    assert launch("pending_tails", c_int(2048))[0] == 0
    assert launch("pending_tails", c_int(5000))[0] == PENDING_EXCEEDED
    cuda.cuCtxSetLimit(PENDING_LIMIT, 6000)
    assert launch("pending_tails", c_int(5000))[0] == 0
    cuda.cuCtxSetLimit(PENDING_LIMIT, 2048)


def test_an_unknown_function_is_refused_at_load(cuda):
    text = ptx().read_text().replace("__cudaCDP2LaunchDeviceV2", "__cudaCDP2LaunchDeviceV9")
    module = c_void_p()
    code = cuda.code("cuModuleLoadData", byref(module), text.encode() + b"\0")
    if code == SUCCESS:  # large images are parsed kernel by kernel
        function = c_void_p()
        code = cuda.code("cuModuleGetFunction", byref(function), module, b"ordered")
    assert code in (INVALID_PTX, NOT_FOUND, INVALID_IMAGE)


def test_a_capture_launches_children(cuda, launch):
    stream, graph, ready = cuda.stream(), c_void_p(), c_void_p()
    function = cuda.function(launch.module, "ordered")
    cuda.cuStreamBeginCapture_v2(stream, 0)
    cuda.launch(function, 1, 1, c_uint64(launch.memory), stream=stream)
    cuda.cuStreamEndCapture(stream, byref(graph))
    cuda.cuGraphInstantiateWithFlags(byref(ready), graph, c_uint64(0))
    # Driver 580 begins a second launch of the graph before the tail launches of the first.
    launches = 1 if cuda.on_hardware else 2
    for _ in range(launches):
        cuda.cuGraphLaunch(ready, stream)
    cuda.cuCtxSynchronize()
    assert appended(cuda.read(launch.memory, 20)) == [0, 1, 2, 3, 100, 101] * launches
    cuda.cuGraphExecDestroy(ready)
    cuda.cuGraphDestroy(graph)
    cuda.cuStreamDestroy_v2(stream)


def test_a_module_may_be_unloaded_while_its_work_waits(cuda):
    module = cuda.module(linked(cuda, ptx().read_text()))
    memory, stream = cuda.alloc(256), cuda.stream()
    cuda.cuMemsetD32_v2(memory, 0, 64)
    cuda.launch(cuda.function(module, "ordered"), 1, 1, c_uint64(memory), stream=stream)
    cuda.cuModuleUnload(module)
    cuda.cuStreamSynchronize(stream)
    assert appended(cuda.read(memory, 20)) == [0, 1, 2, 3, 100, 101]
    cuda.cuMemFree_v2(memory)
    cuda.cuStreamDestroy_v2(stream)


# -- in new processes ---------------------------------------------------------------------

PROGRAM = """
module = cuda.module(open({ptx!r}).read().encode() + b"\\0")
memory = cuda.alloc(4096)
def run(name, *arguments, grid=1, block=1):
    cuda.cuMemsetD32_v2(memory, 0, 1024)
    cuda.launch(cuda.function(module, name), grid, block, c_uint64(memory), *arguments)
    return cuda.code("cuCtxSynchronize")
"""


def program(text):
    return PROGRAM.format(ptx=os.fspath(ptx())) + text


MODES = {
    "interpreted": {"CUPOLA_CPU_MODE": "interpret"},
    "compiled": {"CUPOLA_CPU_MODE": "compile"},
    "many threads": {"CUPOLA_CPU_THREADS": "8"},
    "checked": {"CUPOLA_CPU_CHECK": "memory,race,init,sync"},
}


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("mode", MODES)
def test_results_do_not_depend_on_the_mode(passes, mode):
    text = program(
        """
    import json
    found = []
    for name, arguments, grid in [("ordered", [], 1), ("tails", [c_int(0)], 1), ("blocks", [], 20),
                                  ("events", [], 1), ("moves", [], 1),
                                  ("nest", [c_int(0), c_int(2100)], 1)]:
        found.append([run(name, *arguments, grid=grid), cuda.read(memory, 80)])
    values = [n * 2654435761 % 1000003 for n in range(1000)]
    cuda.cuMemcpyHtoD_v2(memory, (c_uint * 1000)(*values), 4000)
    cuda.launch(cuda.function(module, "quicksort"), 1, 1, c_uint64(memory), c_int(0), c_int(999),
                c_int(0))
    assert cuda.read(memory, 1000) == sorted(values)
    print(json.dumps(found))
    """.replace("\n    ", "\n")
    )
    found = json.loads(passes(text, **MODES[mode]))
    assert [code for code, _ in found] == [0] * 6
    assert appended(found[0][1]) == [0, 1, 2, 3, 100, 101]
    assert appended(found[2][1]) == [10 * n + k for n in range(20) for k in (0, 1)]
    assert found[5][1][:2] == [2048, PENDING_EXCEEDED]


@pytest.mark.usefixtures("own")
def test_a_fault_of_a_child_names_the_child(script):
    done = script(program("print(run('launch_stray'), cuda.code('cuCtxSynchronize'))"))
    assert done.stdout.split() == ["700", "700"], done.stderr
    done = script(
        program("""
text = ctypes.c_char_p
cuda.library.cupola_cpu_last_fault.restype = text
run("launch_stray")
print(cuda.library.cupola_cpu_last_fault().decode())
""")
    )
    assert re.search(r"kernel (_Z5stray|stray)", done.stdout), done.stdout + done.stderr


@pytest.mark.usefixtures("own")
def test_checks_see_children(script):
    done = script(program("run('launch_unwritten')"), CUPOLA_CPU_CHECK="init")
    assert "leave_unwritten" in done.stderr, done.stderr
