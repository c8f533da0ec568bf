"""cupola.pycuda.gpuarray and cumath, beside NumPy."""

import operator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pycuda_context import context  # noqa: F401

import cupola.pycuda.cumath as cumath
import cupola.pycuda.driver as drv
import cupola.pycuda.gpuarray as gpuarray
from cupola.pycuda.tools import DeviceMemoryPool

RNG = np.random.default_rng(4)
quick = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "truediv", "pow"])
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64, np.complex64])
def test_operators(op, dtype):
    op = getattr(operator, op)
    x, y = ((RNG.random(50) * 5 + 1).astype(dtype) for _ in range(2))
    a, b = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    for got, expected in (
        (op(a, b), op(x, y)),
        (op(a, 2), op(x, 2)),
        (op(3, a), op(3, x)),
        (op(a, dtype(2)), op(x, dtype(2))),
        (op(dtype(2), a), op(dtype(2), x)),
    ):
        assert got.dtype == expected.dtype and isinstance(got, gpuarray.GPUArray)
        np.testing.assert_allclose(got.get(), expected, rtol=1e-5)


@pytest.mark.parametrize("op", [operator.floordiv, operator.mod, divmod])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float16, np.float64])
def test_quotients_and_remainders(op, dtype):
    x, y = ((RNG.random(50) * 20 + 1).astype(dtype) for _ in range(2))
    if x.dtype.kind in "if":
        x[::2] *= -1
    a, b = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    three = dtype(True) if dtype is np.bool_ else 3
    for got, expected in (
        (op(a, b), op(x, y)),
        (op(a, three), op(x, three)),
        (op(three, b), op(three, y)),
        (op(a, dtype(3)), op(x, dtype(3))),
        (op(dtype(3), b), op(dtype(3), y)),
        (op(a[::3], b[::3]), op(x[::3], y[::3])),
    ):
        for one, other in zip(got, expected, strict=True) if op is divmod else [(got, expected)]:
            assert one.dtype == other.dtype and isinstance(one, gpuarray.GPUArray)
            np.testing.assert_array_equal(one.get(), other)
    for operand in ({}, [1, 2], None):
        with pytest.raises(TypeError):
            op(a, operand)
        with pytest.raises(TypeError):
            op(operand, a)


@pytest.mark.parametrize("name", ["ifloordiv", "imod"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float32])
def test_quotients_and_remainders_in_place(name, dtype):
    op = getattr(operator, name)
    x, y = (RNG.integers(1, 90, 50).astype(dtype) for _ in range(2))
    for other, same in ((y, gpuarray.to_gpu(y)), (3, 3), (dtype(4), dtype(4))):
        a, expected = gpuarray.to_gpu(x), x.copy()
        address = a.ptr
        a, expected = op(a, same), op(expected, other)
        assert a.ptr == address and a.dtype == dtype
        np.testing.assert_array_equal(a.get(), expected)


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons_have_the_dtype_of_the_array(op):
    op = getattr(operator, op)
    x, y = (RNG.integers(0, 3, 60).astype(np.float32) for _ in range(2))
    a, b = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    for got, expected in ((op(a, b), op(x, y)), (op(a, 1), op(x, 1))):
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got.get(), expected.astype(np.float32))


@quick
@given(st.data())
def test_indices(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=6))
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    np.testing.assert_array_equal(gpuarray.to_gpu(x)[index].get(), x[index])
    changed, a = x.copy(), gpuarray.to_gpu(x)
    changed[index] = -1
    a[index] = -1
    np.testing.assert_array_equal(a.get(), changed)


@quick
@given(hnp.arrays(np.float32, hnp.array_shapes(max_dims=3, max_side=5), elements=st.floats(
    -100, 100, width=32)), st.sampled_from("CF"))  # fmt: skip
def test_shapes_and_views(x, order):
    x = np.asarray(x, order=order)
    a = gpuarray.to_gpu(x)
    assert a.shape == x.shape and a.flags.f_contiguous == x.flags.f_contiguous
    np.testing.assert_array_equal(a.get(), x)
    np.testing.assert_array_equal(a.T.get(), x.T)
    np.testing.assert_array_equal(a.reshape(-1, order=order).get(), x.reshape(-1, order=order))
    np.testing.assert_array_equal(a.copy().get(), x)
    np.testing.assert_array_equal(a.squeeze().get(), x.squeeze())
    np.testing.assert_array_equal(a.astype(np.int16).get(), x.astype(np.int16))
    np.testing.assert_array_equal(a.view(np.int32).get(), x.view(np.int32))


def test_complex_parts():
    x = (RNG.random((4, 5)) + 1j * RNG.random((4, 5))).astype(np.complex128, order="F")
    a = gpuarray.to_gpu(x)
    np.testing.assert_array_equal(a.real.get(), x.real)
    np.testing.assert_array_equal(a.imag.get(), x.imag)
    np.testing.assert_array_equal(a.conj().get(), x.conj())
    np.testing.assert_allclose(abs(a).get(), abs(x), rtol=1e-14)
    assert a.real.flags.f_contiguous and a.real.dtype == np.float64
    real = gpuarray.to_gpu(x.real.copy())
    assert real.real is real and real.conj() is real and not real.imag.get().any()


def test_making_arrays():
    for got, expected in (
        (gpuarray.zeros((2, 3)), np.zeros((2, 3))),
        (gpuarray.ones(4, np.int16), np.ones(4, np.int16)),
        (gpuarray.arange(7), np.arange(7)),
        (gpuarray.arange(2, 9, 3, dtype=np.float32), np.arange(2, 9, 3, dtype=np.float32)),
        (gpuarray.arange(5, 1, -1), np.arange(5, 1, -1)),
        (gpuarray.zeros_like(gpuarray.ones((2, 2), np.int8)), np.zeros((2, 2), np.int8)),
        (gpuarray.empty((0, 3), np.float32), np.empty((0, 3), np.float32)),
    ):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_array_equal(got.get(), expected)
    vector = gpuarray.GPUArray(3, gpuarray.vec.float4)
    vector.fill(gpuarray.vec.make_float4(1, 2, 3, 4))
    assert vector.get()["w"].tolist() == [4, 4, 4]


def test_reductions_and_their_allocators():
    x, y = (RNG.random((30, 7)).astype(np.float32) for _ in range(2))
    a, b = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    pool = DeviceMemoryPool()
    total = gpuarray.sum(a, allocator=pool.allocate)
    assert total.allocator == pool.allocate and total.shape == ()
    np.testing.assert_allclose(total.get(), x.sum(), rtol=1e-5)
    np.testing.assert_allclose(gpuarray.dot(a, b).get(), (x * y).sum(), rtol=1e-5)
    assert gpuarray.max(a).get() == x.max() and gpuarray.min(a).get() == x.min()
    assert gpuarray.sum(gpuarray.ones(5, np.int32)).dtype == np.int32
    at = gpuarray.to_gpu(np.array([5, 0, 3], np.int32))
    flat, other = a.ravel(), b.ravel()
    np.testing.assert_allclose(gpuarray.subset_sum(at, flat).get(), x.ravel()[[5, 0, 3]].sum())
    np.testing.assert_allclose(
        gpuarray.subset_dot(at, flat, other).get(),
        (x.ravel() * y.ravel())[[5, 0, 3]].sum(),
        rtol=1e-6,
    )
    assert gpuarray.subset_max(at, flat).get() == x.ravel()[[5, 0, 3]].max()
    assert bool(a.any()) and bool(a.all())


def test_elements_by_indices():
    x = RNG.random(40)
    a, at = gpuarray.to_gpu(x), gpuarray.to_gpu(np.array([3, 39, 3, 0], np.uint32))
    np.testing.assert_array_equal(gpuarray.take(a, at).get(), x[[3, 39, 3, 0]])
    to = gpuarray.to_gpu(np.array([1, 0], np.int32))
    (put,) = gpuarray.multi_put([a[:2]], to, dest_shape=(3,))
    assert put.get().tolist() == [x[1], x[0], 0]
    source = gpuarray.to_gpu(np.array([2, 4], np.int32))
    (moved,) = gpuarray.multi_take_put([a], to, source, dest_shape=(2,), src_offsets=[10])
    assert moved.get().tolist() == [x[14], x[12]]
    joined = gpuarray.concatenate([a.reshape(8, 5), a.reshape(8, 5)], axis=1)
    np.testing.assert_array_equal(joined.get(), np.concatenate([x.reshape(8, 5)] * 2, axis=1))
    np.testing.assert_array_equal(gpuarray.stack([a, a], axis=-1).get(), np.stack([x, x], -1))
    np.testing.assert_array_equal(a.reverse().get(), x[::-1])


def test_conditionals():
    x, y = RNG.standard_normal((2, 30)).astype(np.float32)
    a, b = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    np.testing.assert_array_equal(gpuarray.if_positive(a, a, b).get(), np.where(x > 0, x, y))
    np.testing.assert_array_equal(gpuarray.where(a > 0, b, np.float32(5)).get(),
                                  np.where(x > 0, y, 5))  # fmt: skip
    np.testing.assert_array_equal(gpuarray.maximum(a, b).get(), np.maximum(x, y))
    np.testing.assert_array_equal(gpuarray.minimum(a, 0).get(), np.minimum(x, 0))
    np.testing.assert_array_equal(gpuarray.logical_and(a > 0, b).get(), (x > 0) & (y != 0))
    np.testing.assert_array_equal(gpuarray.logical_not(a > 0).get(), x <= 0)


def test_streams():
    stream = drv.Stream()
    x = drv.pagelocked_zeros(50, np.float32)
    x[:] = RNG.random(50)
    a = gpuarray.to_gpu_async(x, stream=stream)
    b = cumath.exp(a, stream=stream)
    c = a.mul_add(2, b, 3, stream=stream)
    back = c.get_async(stream)
    stream.synchronize()
    np.testing.assert_allclose(back, 2 * x + 3 * np.exp(x), rtol=1e-6)


def test_functions():
    x = (RNG.random(50) * 0.8 + 0.1).astype(np.float32)
    a = gpuarray.to_gpu(x)
    for name in ("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
                 "fabs", "ceil", "floor"):  # fmt: skip
        np.testing.assert_allclose(getattr(cumath, name)(a).get(), getattr(np, name)(x), rtol=1e-5)
    fractions, integers = cumath.modf(a * 10)
    np.testing.assert_allclose(fractions.get() + integers.get(), x * 10, rtol=1e-6)
    significands, exponents = cumath.frexp(a)
    np.testing.assert_array_equal(cumath.ldexp(significands, exponents).get(), x)
    np.testing.assert_array_equal(cumath.fmod(a * 10, a).get(), np.fmod(x * np.float32(10), x))
    with pytest.raises(TypeError, match="floats"):
        cumath.exp(gpuarray.arange(3))


def test_wrong_uses():
    a = gpuarray.zeros((2, 3), np.float32)
    for kind, message, wrong in (
        (ValueError, "same size", lambda: a.set(np.zeros(5, np.float32))),
        (ValueError, "float64", lambda: a.set(np.zeros((2, 3)))),
        (TypeError, "float64", lambda: a.get(np.zeros((2, 3)))),
        (NotImplementedError, "Broadcasting", lambda: a + gpuarray.zeros(3)),
        (ValueError, "ambiguous", lambda: bool(a)),
        (TypeError, "hashable", lambda: hash(a)),
        (ValueError, "unchanged", lambda: a.reshape(4, 2)),
        (RuntimeError, "contiguous", lambda: a[:, ::2].reshape(4)),
        (IndexError, "out of", lambda: a[2]),
        (IndexError, "too many", lambda: a[0, 0, 0]),
        (TypeError, "take", lambda: a[[0, 1]]),
        (ValueError, "same shape", lambda: gpuarray.stack([a, a[0]])),
    ):
        with pytest.raises(kind, match=message):
            wrong()
