"""CuPy, PyTorch, JAX and cuda.core in one process with cupola: memory goes both ways, in order.

Where one is not installed its tests are skipped, and fail if CUPOLA_REQUIRE_PEERS=1. On the CPU
device NumPy is the peer: tests/test_dlpack.py.
"""

import gc
import importlib
import os

import numpy as np
import pytest

import cupola

# JAX would take three quarters of the device's memory when it is first used.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

pytestmark = pytest.mark.cuda_only("the peers need NVIDIA's driver")

N = 1 << 20


def peer(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if os.environ.get("CUPOLA_REQUIRE_PEERS") == "1":
            pytest.fail(f"CUPOLA_REQUIRE_PEERS=1, and {name} can't be imported: {error}")
        pytest.skip(f"{name} is not installed")


@pytest.fixture
def cupy(driver):
    return peer("cupy")


@pytest.fixture
def torch(driver):
    torch = peer("torch")
    if not torch.cuda.is_available():
        pytest.fail(f"torch {torch.__version__} has no CUDA here")
    return torch


@pytest.fixture
def jax(driver):
    jax = peer("jax")
    try:
        jax.devices("cuda")
    except RuntimeError as error:
        if os.environ.get("CUPOLA_REQUIRE_PEERS") == "1":
            pytest.fail(f"jax {jax.__version__} has no CUDA here: {error}")
        pytest.skip(f"jax has no CUDA here: {error}")
    return jax


@pytest.fixture
def core(driver):
    try:
        return importlib.import_module("cuda.core")
    except ImportError:
        return peer("cuda.core.experimental")


@pytest.fixture
def saxpy(driver):
    return cupola.shipped_kernels()["saxpy"]


@pytest.fixture
def host():
    return np.arange(N, dtype=np.float32).reshape(1024, 1024)


def same_memory(array, address, host):
    assert array.address == address
    np.testing.assert_array_equal(array.get(), host)


# -- CuPy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("take", ["asarray", "from_dlpack"])
def test_from_cupy(cupy, host, take):
    theirs = cupy.asarray(host)
    for key in (..., (slice(None), slice(1, None, 2))):
        view = theirs[key]
        same_memory(getattr(cupola, take)(view), view.data.ptr, host[key])
    columns = theirs.T
    same_memory(getattr(cupola, take)(columns), columns.data.ptr, host.T)
    array = getattr(cupola, take)(theirs)
    del theirs, view, columns
    gc.collect()
    cupy.zeros(N, cupy.float32)  # would reuse the memory, were it free
    np.testing.assert_array_equal(array.get(), host)


@pytest.mark.parametrize("dtype", "bhifdD")
def test_reversed_from_cupy(cupy, dtype):
    host = np.arange(24).astype(dtype).reshape(2, 12)
    view = cupy.asarray(host)[::-1, 3]
    same_memory(cupola.asarray(view), view.data.ptr, host[::-1, 3])
    try:
        array = cupola.from_dlpack(view)
    except cupola.ArgumentValueError as error:
        # https://github.com/cupy/cupy/issues/10172: negative bytes divided as if they had no sign.
        assert f" {(2**64 + view.strides[0]) // view.itemsize} elements" in str(error)
    else:
        same_memory(array, view.data.ptr, host[::-1, 3])


@pytest.mark.parametrize("dtype", "?bBhHiIlLefdFD")
def test_dtypes_to_cupy_and_back(cupy, dtype):
    host = np.arange(7).astype(dtype)
    array = cupola.to_device(host)
    for theirs in (cupy.asarray(array), cupy.from_dlpack(array)):
        assert (theirs.data.ptr, theirs.dtype) == (array.address, host.dtype)
        for ours in (cupola.asarray(theirs), cupola.from_dlpack(theirs)):
            assert (ours.address, ours.dtype) == (array.address, host.dtype)
    np.testing.assert_array_equal(cupy.asnumpy(theirs), host)


def test_strided_views_to_cupy(cupy, host):
    array = cupola.to_device(host)
    for key in ((slice(None, None, 3), slice(5, 100)), (slice(None, None, -2), 7)):
        for theirs in (cupy.asarray(array[key]), cupy.from_dlpack(array[key])):
            np.testing.assert_array_equal(cupy.asnumpy(theirs), host[key])
    theirs = cupy.asarray(array.T)
    theirs[3] = 9
    assert (array.get()[:, 3] == 9).all()


def test_cupys_stream_comes_first(cupy, saxpy):
    """The kernel waits for data that a non-blocking stream of CuPy's is still writing."""
    stream = cupy.cuda.Stream(non_blocking=True)
    out = cupola.zeros(N, np.float32)
    for round_ in range(20):
        with stream:
            theirs = cupy.zeros(N, cupy.float32)
            for _ in range(30):
                theirs += 1
            theirs += round_
            saxpy[1024, 256](1.0, theirs, out, out, N)
            got = cupola.asarray(theirs)
        np.testing.assert_array_equal(got.get(), np.full(N, 30 + round_, np.float32))
    expected = sum(30 + i for i in range(20))
    np.testing.assert_array_equal(out.get(), np.full(N, expected, np.float32))


def test_our_stream_comes_first_in_cupy(cupy):
    with cupola.Stream(non_blocking=True):
        for value in range(20):
            array = cupola.zeros(1 << 24, np.float32)
            array.fill(value)
            with cupy.cuda.Stream(non_blocking=True):
                for theirs in (cupy.asarray(array), cupy.from_dlpack(array)):
                    assert float(theirs[-1]) == value and float(theirs.sum()) == value * (1 << 24)


def test_cupy_launches(cupy, saxpy, host):
    x = cupy.asarray(host)
    out = cupy.empty_like(x)
    saxpy[4096, 256](2.0, x, x, out, N)
    np.testing.assert_array_equal(cupy.asnumpy(out), 3 * host)
    with pytest.raises(cupola.ArgumentError, match="C-contiguous"):
        saxpy[1, 32](2.0, x[:, ::2], x, out, 4)
    with pytest.raises(cupola.ArgumentError, match="float64"):
        saxpy[1, 32](2.0, x.astype(cupy.float64), x, out, 4)


# -- PyTorch ----------------------------------------------------------------------------------


@pytest.mark.parametrize("take", ["asarray", "from_dlpack"])
def test_from_torch(torch, host, take):
    theirs = torch.as_tensor(host, device="cuda")
    for view in (theirs, theirs[:, 1::2], theirs.T, theirs[3]):
        same_memory(getattr(cupola, take)(view), view.data_ptr(), view.cpu().numpy())
    array = getattr(cupola, take)(theirs)
    del theirs, view
    gc.collect()
    torch.zeros(N, device="cuda")
    np.testing.assert_array_equal(array.get(), host)


def test_to_torch(torch, host):
    array = cupola.to_device(host)
    for theirs in (torch.as_tensor(array, device="cuda"), torch.from_dlpack(array)):
        assert theirs.data_ptr() == array.address
        assert torch.equal(theirs.cpu(), torch.as_tensor(host))
    part = torch.from_dlpack(array[::2, 3:9])
    assert part.stride() == (2048, 1)
    part += 1
    expected = host.copy()
    expected[::2, 3:9] += 1
    np.testing.assert_array_equal(array.get(), expected)
    del array, theirs
    gc.collect()
    cupola.zeros(N, np.float32)
    np.testing.assert_array_equal(part.cpu().numpy(), expected[::2, 3:9])


def test_torchs_stream_comes_first(torch, saxpy):
    out = cupola.zeros(N, np.float32)
    for round_ in range(20):
        with torch.cuda.stream(torch.cuda.Stream()):
            theirs = torch.zeros(N, device="cuda")
            for _ in range(30):
                theirs += 1
            theirs += round_
            got = (cupola.asarray if round_ % 2 else cupola.from_dlpack)(theirs)
        np.testing.assert_array_equal(got.get(), np.full(N, 30 + round_, np.float32))
        saxpy[1024, 256](1.0, got, out, out, N)
    assert out.get()[0] == sum(30 + i for i in range(20))


def test_torch_launches(torch, saxpy, host):
    x = torch.as_tensor(host, device="cuda")
    out = torch.empty_like(x)
    saxpy[4096, 256](2.0, x, x, out, N)
    np.testing.assert_array_equal(out.cpu().numpy(), 3 * host)
    with pytest.raises(cupola.ArgumentError, match="C-contiguous"):
        saxpy[1, 32](2.0, x.T, x, out, 4)
    for value in (torch.zeros(4), torch.tensor(4), torch.tensor([4])):
        with pytest.raises(cupola.ArgumentError, match="in host memory"):
            saxpy[1, 32](2.0, value, x, out, 4)
    with pytest.raises(cupola.ArgumentError):
        saxpy[1, 32](2.0, x, x, out, torch.zeros(4))
    saxpy[1, 32](2.0, x, x, out, torch.tensor(4))  # as any integer


def test_torchs_bfloat16(torch):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    theirs = torch.arange(8, device="cuda", dtype=torch.bfloat16)
    array = cupola.from_dlpack(theirs)
    assert array.dtype == ml_dtypes.bfloat16
    assert array.get().astype(np.float32).tolist() == list(range(8))
    again = torch.from_dlpack(array)
    assert again.dtype == torch.bfloat16 and again.data_ptr() == theirs.data_ptr()


# -- JAX --------------------------------------------------------------------------------------


def test_jax_both_ways(jax, host, saxpy):
    theirs = jax.device_put(host, jax.devices("cuda")[0])
    array = cupola.from_dlpack(theirs)
    np.testing.assert_array_equal(array.get(), host)
    out = cupola.empty(host.shape, np.float32)
    saxpy[4096, 256](2.0, array, array, out, N)
    back = jax.dlpack.from_dlpack(out)
    np.testing.assert_array_equal(np.asarray(back), 3 * host)
    np.testing.assert_array_equal(np.asarray(back.max(axis=1)), (3 * host).max(axis=1))
    saxpy[4096, 256](1.0, theirs, theirs, out[:], N)  # as it is, into const pointers
    cupola.Device().synchronize()
    np.testing.assert_array_equal(out.get(), 2 * host)


@pytest.mark.parametrize("how", ["launch", "asarray"])
def test_jaxs_work_comes_first(jax, saxpy, how):
    """Its interface names no stream, but the kernel waits for pending work all the same."""
    heavy = jax.jit(lambda x: jax.lax.fori_loop(0, 300, lambda _, y: y + 1, x))
    x = jax.device_put(np.zeros(1 << 24, np.float32), jax.devices("cuda")[0])
    heavy(x).block_until_ready()  # compiled
    out = cupola.zeros(1 << 24, np.float32)
    for value in range(1, 6):
        y = heavy(x + value)
        given = y if how == "launch" else cupola.asarray(y)
        saxpy[1 << 16, 256](1.0, given, given, out, 1 << 24)
        np.testing.assert_array_equal(out.get(), np.full(1 << 24, 2 * (300 + value), np.float32))


# -- cuda.core --------------------------------------------------------------------------------


def test_cuda_core_both_ways(core, host):
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    buffer = device.allocate(host.nbytes, stream=stream)
    stream.sync()
    array = cupola.from_dlpack(buffer)
    assert (array.address, array.nbytes) == (int(buffer.handle), host.nbytes)
    floats = array.view(np.float32).reshape(host.shape)
    floats.set(host)
    np.testing.assert_array_equal(floats.get(stream=stream), host)
    utils = importlib.import_module(f"{core.__name__}.utils")
    view = getattr(utils.StridedMemoryView, "from_any_interface", utils.StridedMemoryView)(
        floats[::2], stream_ptr=int(stream.handle)
    )
    assert view.ptr == floats.address and tuple(view.shape) == (512, 1024)
    assert tuple(view.strides) == (2048, 1)


def test_all_in_a_row(cupy, torch, jax, core, saxpy, host):
    """One piece of memory through all of them, each changing it."""
    array = cupola.to_device(host)
    cupy.asarray(array)[...] += 1
    torch.from_dlpack(cupy.from_dlpack(array)).mul_(2)
    saxpy[4096, 256](1.0, array, array, array, N)
    expected = (host + 1) * 2 * 2
    np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(array)), expected)
    core.Device().set_current()
    np.testing.assert_array_equal(array.get(), expected)
