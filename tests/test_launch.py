"""Grid, block, shared memory and streams of a launch; forall; prepared launches."""

import itertools

import images
import numpy as np
import pytest
from gate import Gate, congruential
from working import refused

import cupola


@pytest.fixture(params=images.CHECKED)
def module(driver, request):
    return images.module(request.param)


def three(value):
    value = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return value + (1,) * (3 - len(value))


def positions(grid, block):
    """Six numbers a thread in order of blocks and threads, x the fastest."""
    axes = [range(n) for n in (*three(grid)[::-1], *three(block)[::-1])]
    return np.array([(*p[2::-1], *p[:2:-1]) for p in itertools.product(*axes)], np.int32)


DIMENSIONS = [
    (1, 1),
    (3, 5),
    ((2, 3), (4, 2)),
    ([2, 3, 2], (2, 2, 3)),
    ((7,), (33,)),
    (np.int64(3), np.uint8(64)),
    ((1, 1, 4), (1, 1, 64)),
    (2, 1024),
]


@pytest.mark.parametrize(("grid", "block"), DIMENSIONS)
def test_each_thread_knows_its_place(module, grid, block):
    expected = positions(grid, block)
    kernel, stream = module["positions"], cupola.Stream()
    ways = [
        lambda out: kernel[grid, block](out),
        lambda out: kernel[grid, block, None](out),
        lambda out: kernel[grid, block, stream](out),
        lambda out: kernel[grid, block, stream, 64](out),
        lambda out: kernel.launch(grid, block, out),
        lambda out: kernel.launch(grid, block, out, stream=stream, shared=64),
        lambda out: kernel.prepare(grid, block, out)(),
        lambda out: kernel.prepare(grid, block, out, shared=64)(stream=stream),
    ]
    for way in ways:
        out = cupola.zeros(expected.shape, np.int32)
        stream.wait(cupola.Stream.current())
        way(out)
        stream.synchronize()
        np.testing.assert_array_equal(out.get(), expected)


def test_a_configured_kernel_can_be_kept(module):
    one, two = module["positions"][2, 3], module["positions"][3, 2]
    assert (one.grid, one.block, one.shared) == ((2, 1, 1), (3, 1, 1), 0)
    for configured, grid, block in [(one, 2, 3), (two, 3, 2), (one, 2, 3)]:
        out = cupola.zeros((6, 6), np.int32)
        configured(out)
        np.testing.assert_array_equal(out.get(), positions(grid, block))


VALUES = [0, -1, 2**32, (1, 0), (1, 1, -5), (1, 1, 1, 1), ()]
TYPES = [1.0, "1", True, None, (1, None), {1}]


@pytest.mark.parametrize("wrong", [*VALUES, *TYPES], ids=repr)
@pytest.mark.parametrize("place", ["grid", "block"])
def test_no_dimensions(driver, wrong, place):
    kernel, out = images.module()["positions"], cupola.zeros(6, np.int32)
    error = TypeError if any(wrong is each for each in TYPES) else ValueError
    dimensions = (wrong, 1) if place == "grid" else (1, wrong)
    for way in (
        kernel.__getitem__,
        lambda d: kernel.launch(*d, out),
        lambda d: kernel.prepare(*d, out),
    ):
        with refused(cupola.ArgumentError, error, saying=("positions", place)):
            way(dimensions)


@pytest.mark.parametrize(
    ("grid", "block", "most"),
    [(2**31, 1, 2**31 - 1), ((1, 65536), 1, 65535), ((1, 1, 65536), 1, 65535), (1, 1025, 1024),
     (1, (32, 33), 1024), (1, (1, 1, 65), 64), (1, 2**31, 1024), (1, (2**16, 2**16), 1024)],
)  # fmt: skip
def test_too_large(driver, grid, block, most):
    kernel = images.module()["positions"]
    with refused(cupola.ArgumentError, ValueError, saying=("positions", most)):
        kernel[grid, block](None)


@pytest.mark.parametrize("key", [1, (1,), (1, 1, None, 0, 0), "ab", slice(1, 2)], ids=repr)
def test_wrong_subscripts(driver, key):
    with refused(cupola.ArgumentError, TypeError, saying=("positions", "[grid, block")):
        images.module()["positions"][key]


def test_launch_bounds(module):
    kernel, out = module["bounded"], cupola.zeros(256, np.int32)
    assert kernel.max_threads == 128
    kernel[1, 128](out)
    kernel[1, (8, 16)](out[128:])
    np.testing.assert_array_equal(out.get(), [1] * 136 + [0] * 120)
    with refused(cupola.ArgumentError, ValueError, saying=("bounded", "129", "128")):
        kernel[1, 129](out)


def test_static_shared_memory(module):
    values = cupola.to_device(np.arange(256, dtype=np.int32))
    assert module["reverse"].shared_bytes == 1024
    module["reverse"][1, 256](values)
    np.testing.assert_array_equal(values.get(), np.arange(256)[::-1])


@pytest.mark.parametrize("n", [0, 1, 1000, 12288, 15000])
def test_dynamic_shared_memory(module, n):
    host = np.arange(n, dtype=np.int32)
    kernel, first, second = (
        module["reverse_dynamic"],
        cupola.to_device(host),
        cupola.to_device(host),
    )
    kernel[1, 256, None, 4 * n](first, n)  # 15000 ints are above 48 KiB
    kernel.launch(1, 64, second, n, shared=np.int64(4 * n))
    np.testing.assert_array_equal(first.get(), host[::-1])
    np.testing.assert_array_equal(second.get(), host[::-1])


def test_too_much_shared_memory(module):
    most = cupola.Device().attribute(97)  # MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    values = cupola.to_device(np.arange(256, dtype=np.int32))
    module["reverse"][1, 256, None, most - 1024](values)  # beside 1024 of its own
    np.testing.assert_array_equal(values.get(), np.arange(256)[::-1])
    saying = (most - 1023, 1024, most)
    with refused(cupola.ArgumentError, ValueError, saying=("reverse", *saying)):
        module["reverse"][1, 256, None, most - 1023](values)
    for shared, error in [
        (-1, ValueError),
        (2**40, ValueError),
        (1.5, TypeError),
        ("1", TypeError),
    ]:
        with refused(cupola.ArgumentError, error, saying=("reverse", "shared")):
            module["reverse"].launch(1, 256, values, shared=shared)


@pytest.mark.parametrize("n", [0, 1, 31, 1000, 100_003])
def test_forall(module, n):
    x, y = np.random.default_rng(5).standard_normal((2, n)).astype(np.float32)
    guard = np.full(8, 7, np.float32)  # elements after the output stay as they are
    out = cupola.to_device(np.concatenate([np.zeros(n, np.float32), guard]))
    stream = cupola.Stream()
    stream.wait(cupola.Stream.current())
    for where in (None, stream):
        module["axpy"].forall(n, where)(1.5, cupola.In(x), cupola.In(y), out, n)
    stream.synchronize()
    np.testing.assert_array_equal(out.get(), np.concatenate([np.float32(1.5) * x + y, guard]))


AXES = """
extern "C" __global__ void visit(int* seen, int nx, int ny, int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz) atomicAdd(&seen[(z * ny + y) * nx + x], 1 + x);
}
"""


@pytest.mark.parametrize(
    "shape", [(5,), (16, 16), (1, 700), (300, 1), (33, 65), (7, 5, 70), (100, 3, 2), (0, 4), (4, 0)]
)
def test_forall_of_several_axes(driver, shape):
    images.nvrtc()
    nx, ny, nz = (*shape, 1, 1)[:3]
    seen = cupola.zeros((nz, ny, nx), np.int32)
    configured = cupola.compile(AXES)["visit"].forall(shape)
    configured(seen, nx, ny, nz)
    np.testing.assert_array_equal(seen.get(), np.broadcast_to(1 + np.arange(nx), seen.shape))
    for size, edge, blocks in zip((nx, ny, nz), configured.block, configured.grid, strict=True):
        assert edge * blocks >= size and edge < 2 * max(size, 1)


def test_forall_respects_the_kernel(module):
    configured = module["bounded"].forall(1000)
    threads = configured.grid[0] * configured.block[0]
    assert configured.block[0] <= 128 and 1000 <= threads < 1000 + configured.block[0]


def test_forall_of_nothing_still_checks(driver):
    kernel, x = images.module()["axpy"], cupola.zeros(1, np.float32)
    with refused(TypeError, saying=("axpy", "argument 4")):
        kernel.forall(0)(1.0, x, x, x, 0.5)
    with refused(TypeError, saying=("axpy", "5 arguments")):
        kernel.forall(0)(1.0)
    for wrong, error in [
        (-1, ValueError),
        (2.0, TypeError),
        (None, TypeError),
        (2**45, ValueError),
        ((), ValueError),
        ((1, 1, 1, 1), ValueError),
        ((4, -1), ValueError),
        ((4, 2.0), TypeError),
        ((4, True), TypeError),
        ((4, 2**45), ValueError),
    ]:
        with refused(cupola.ArgumentError, error, saying="axpy"):
            kernel.forall(wrong)(1.0, x, x, x, 0)


def test_prepared(module):
    kernel = module["congruential"]
    a, b = (cupola.to_device(np.array(v, np.uint32)) for v in (1, 2))
    launch = kernel.prepare(1, 1, a, 10)
    assert (launch.grid, launch.block, launch.shared, len(launch)) == ((1, 1, 1), (1, 1, 1), 0, 2)
    launch()
    launch()
    assert a.get() == congruential(1, 20)
    launch[0], launch[-1] = b, 5
    assert launch[0] is b and launch[-1] == launch[1] == 5
    launch()
    assert (a.get(), b.get()) == (congruential(1, 20), congruential(2, 5))


def test_a_prepared_launch_sends_what_it_was_when_sent(module):
    """Arguments change while earlier launches still wait in the stream."""
    stream = cupola.Stream(non_blocking=True)
    outs = [cupola.to_device(np.array(v, np.uint32)) for v in range(4)]
    launch = module["congruential"].prepare(1, 1, outs[0], 0, stream=stream)
    with Gate(stream):
        for i, out in enumerate(outs):
            launch[0], launch[1] = out, 100 * i
            launch()
        launch[1] = 77
    assert [out.get() for out in outs] == [congruential(i, 100 * i) for i in range(4)]


def test_wrong_assignments_leave_a_prepared_launch_as_it_was(module):
    values = cupola.to_device(np.array(9, np.uint32))
    launch = module["congruential"].prepare(1, 1, values, 3)
    freed = cupola.zeros((), np.uint32)
    freed.free()
    host = np.zeros((), np.uint32)
    cases = [(1, -(2**40), ValueError), (1, None, TypeError)]
    cases += [(0, host, TypeError), (0, cupola.In(host), TypeError)]
    if "float" not in module["congruential"].params[1].kind:  # a bare cubin leaves it open
        cases += [(1, 2.5, TypeError), (0, 0.5, TypeError)]
    cases += [(0, freed, ValueError), (-1, "3", TypeError)]
    for index, value, error in cases:
        with refused(cupola.ArgumentError, error, saying="congruential"):
            launch[index] = value
    for index in (2, -3):
        with pytest.raises(IndexError):
            launch[index] = 1
    with refused(KeyError):
        launch["1"] = 1
    with refused(TypeError):
        launch[1.0] = 1
    launch()
    assert values.get() == congruential(9, 3)


def test_what_can_not_be_prepared(module):
    kernel, values = module["congruential"], cupola.zeros((), np.uint32)
    host = np.zeros((), np.uint32)
    for transfer in (cupola.In(host), cupola.Out(host), cupola.InOut(host)):
        with refused(cupola.ArgumentError, TypeError, saying=("congruential", "to_device")):
            kernel.prepare(1, 1, transfer, 1)
    with refused(TypeError, saying="takes 2 arguments"):
        kernel.prepare(1, 1, values)
    launch = kernel.prepare(1, 1, values, 1)
    values.free()
    with refused(cupola.ArgumentError, ValueError, saying=("congruential", "freed")):
        launch()


def test_a_prepared_launch_keeps_its_arguments_alive(module):
    launch = module["increment"].prepare(1, 4, cupola.zeros(4, np.int32), 4)
    others = [cupola.zeros(4, np.int32) for _ in range(100)]  # would be given that memory
    launch()
    launch()
    np.testing.assert_array_equal(launch[0].get(), [2, 2, 2, 2])
    assert not any(other.get().any() for other in others)


@pytest.mark.parametrize("stream", [1, "stream", object(), 0.5])
def test_no_streams(driver, stream):
    kernel, values = images.module()["increment"], cupola.zeros(4, np.int32)
    ways = [
        lambda: kernel[1, 4, stream](values, 4),
        lambda: kernel.launch(1, 4, values, 4, stream=stream),
        lambda: kernel.prepare(1, 4, values, 4)(stream=stream),
        lambda: kernel.forall(4, stream)(values, 4),
    ]
    for way in ways:
        with refused(cupola.ArgumentError, TypeError, saying="stream"):
            way()
    assert not values.get().any()


class Offered:
    """A stream of another library."""

    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return 0, self.stream.handle


def test_the_stream_in_the_brackets(driver):
    """Also where grid and block are those of the call before, which are not read again."""
    kernel = images.module()["increment"]
    x = cupola.zeros(1, np.int32)
    one, other = cupola.Stream(), cupola.Stream()
    grid, block = 1, 1
    for stream in (None, one, other, one, Offered(other), None, cupola.Stream.legacy()):
        bound = kernel[grid, block, stream]
        assert (bound.grid, bound.block, bound.shared) == ((1, 1, 1), (1, 1, 1), 0)
        assert (bound.stream is None) == (stream is None)
        if isinstance(stream, cupola.Stream):
            assert bound.stream is stream
        elif stream is not None:
            assert bound.stream == other
        bound(x, 1)
        cupola.Device().synchronize()
    assert x.get()[0] == 7
    assert kernel[grid, block].stream is None
    assert kernel[grid, block, one, 64].shared == 64 and kernel[grid, block, one].shared == 0
    for wrong in (3, "stream", cupola.Stream.__new__(cupola.Stream)):
        with refused(cupola.ArgumentTypeError, saying="tream"):
            kernel[grid, block, wrong]
    with refused(cupola.ArgumentTypeError, saying="kernel[grid, block, None, 64]"):
        kernel[grid, block, 64]


def test_memory_waits_for_each_stream_that_used_it(driver):
    """Also where a stream's object has the place of one that is gone."""
    increment = images.module()["increment"]
    first, last = cupola.Stream(), cupola.Stream(non_blocking=True)
    x = cupola.zeros(64, np.int32)
    cupola.Device().synchronize()  # the non-blocking streams do not wait for the zeros
    increment[1, 1, first](x, 1)
    for n in range(20):  # nothing is kept of another object for the same stream
        increment[1, 1, cupola.Stream.from_handle(first.handle)](x, 1)
        stream = cupola.Stream(non_blocking=True)
        increment[1, 1, stream](x[1 + n :], 1)  # in no order with the launches of other streams
    cupola.Device().synchronize()  # a copy does not wait for streams that are in no order with it
    assert x.get().tolist() == [21] + [1] * 20 + [0] * 43
    with Gate(last) as gate:
        increment[1, 1, last](x, 64)
        increment[1, 1, cupola.Stream.from_handle(last.handle)](x, 64)
        address = x.address
        del x
        others = [cupola.zeros(64, np.int32) for _ in range(8)]
        assert address  # later arrays may lie here, once the stream is done
        gate.open()
        cupola.Device().synchronize()
    for other in others:
        assert not other.get().any()
