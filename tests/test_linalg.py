"""cupola.linalg, cross and trace against NumPy."""

import itertools

import numpy as np
import pytest
from working import refused

import cupola
from cupola.linalg.products import _splits

TYPES = ["?", "i2", "u8", "f2", "f4", "f8", "c8", "c16"]
WITHOUT_BOOL = TYPES[1:]


def numbers(shape, dtype, seed=1):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return rng.integers(0, 2 if dtype.kind == "b" else 9, shape).astype(dtype)
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if dtype.kind == "c" else made).astype(dtype)


def check(function, *arrays, **keywords):
    """Equal to NumPy's, within the rounding of sums of some terms."""
    expected = function(*arrays, **keywords)
    found = function(*[cupola.to_device(x) for x in arrays], **keywords)
    assert type(found) is cupola.Array
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind in "fc":
        eps = np.finfo(expected.dtype).eps
        np.testing.assert_allclose(found.get(), expected, rtol=40 * eps, atol=40 * eps)
    else:
        np.testing.assert_array_equal(found.get(), expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_norms_of_vectors(driver, dtype):
    x = numbers((3, 4, 5), dtype)
    for order in (None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf):
        with np.errstate(all="ignore"):
            check(np.linalg.norm, x, ord=order, axis=1)
            check(np.linalg.norm, x[0, 0], ord=order)
            check(np.linalg.norm, x, ord=order, axis=(-1,), keepdims=True)
            check(np.linalg.vector_norm, x, ord=2 if order is None else order, axis=(0, 2))
            check(np.linalg.vector_norm, x, ord=2 if order is None else order, keepdims=True)
    check(np.linalg.norm, x)
    check(np.linalg.norm, x, keepdims=True)


@pytest.mark.parametrize("dtype", TYPES)
def test_norms_of_matrices(driver, dtype):
    x = numbers((2, 3, 4), dtype)
    for order in (None, "fro", 1, -1, np.inf, -np.inf):
        check(np.linalg.norm, x[0], ord=order)
        check(np.linalg.norm, x, ord=order, axis=(2, 0))
        check(np.linalg.norm, x, ord=order, axis=(0, -1), keepdims=True)
        check(np.linalg.matrix_norm, x, ord=order)
        check(np.linalg.matrix_norm, x, ord=order, keepdims=True)


def test_norms_of_other_layouts(driver):
    x = numbers((6, 8), "c16")
    there = cupola.to_device(x)
    for view in (lambda a: a.T, lambda a: a[::2, ::-1], lambda a: a[1:, 3:]):
        for axis in (None, 0, (1, 0)):
            found = np.linalg.norm(view(there), axis=axis).get()
            np.testing.assert_allclose(found, np.linalg.norm(view(x), axis=axis), rtol=1e-14)


def test_norms_that_are_refused(driver):
    x = cupola.ones((3, 3))
    for order in (2, -2, "nuc"):
        for norm in (np.linalg.norm, np.linalg.matrix_norm):
            with refused(cupola.ArgumentValueError, saying=(repr(order), "singular values")):
                norm(x, ord=order)
    with refused(cupola.ArgumentValueError, saying="one axis or two, got 3"):
        np.linalg.norm(cupola.ones((2, 2, 2)), 1)
    with refused(cupola.ArgumentValueError, saying=("argument ord", "'fro'")):
        np.linalg.norm(x[0], "fro")
    with refused(cupola.ArgumentValueError, saying="argument ord"):
        np.linalg.norm(x, 3)
    with refused(cupola.ArgumentValueError, saying="argument ord"):
        np.linalg.norm(x, [1])
    with refused(cupola.ArgumentTypeError, saying="expected a cupola.Array"):
        cupola.linalg.norm([1.0])


@pytest.mark.parametrize("dtype", TYPES)
def test_traces_and_diagonals(driver, dtype):
    x = numbers((3, 4, 5), dtype)
    for offset in (0, 1, -2, 5):
        check(np.trace, x, offset=offset)
        check(np.trace, x, offset=offset, axis1=2, axis2=0)
        check(np.linalg.trace, x, offset=offset)
        check(np.linalg.diagonal, x, offset=offset)
    check(np.trace, x, dtype=np.complex64)
    out = cupola.empty(3, np.trace(x, axis1=1, axis2=2).dtype)
    assert np.trace(cupola.to_device(x), 0, 1, 2, out=out) is out
    np.testing.assert_allclose(out.get(), np.trace(x, 0, 1, 2), rtol=1e-2)
    with refused(cupola.ArgumentValueError, saying="trace: argument a has 1 axes"):
        cupola.trace(cupola.ones(3))


@pytest.mark.parametrize("dtype", WITHOUT_BOOL)
def test_cross_products(driver, dtype):
    a, b = numbers((4, 3), dtype), numbers((4, 3), dtype, 2)
    check(np.cross, a, b)
    check(np.cross, a.T.copy(), b, axisa=0)
    check(np.cross, a, b, axisc=0)
    check(np.cross, a.T.copy(), b.T.copy(), axis=0)
    check(np.cross, a, b[0])
    check(np.linalg.cross, a[:, None], b)
    check(np.linalg.cross, a, b.astype("c16"))
    there = cupola.to_device(a)
    with refused(cupola.ArgumentValueError, saying="argument b: expected vectors of 3 elements"):
        np.cross(there, there[:, :2])


@pytest.mark.parametrize("dtype", TYPES)
def test_products_of_vectors(driver, dtype):
    a, b = numbers((4, 1, 5), dtype), numbers((3, 5), dtype, 2)
    check(np.linalg.vecdot, a, b)
    check(np.linalg.vecdot, a[0, 0], b[0])
    check(np.linalg.vecdot, b, b, axis=0)
    check(np.linalg.outer, b[0], b[1])
    check(np.linalg.tensordot, a, b, axes=([2], [1]))
    check(np.linalg.matmul, b, b.T)
    check(np.linalg.matrix_transpose, a)
    there = cupola.to_device(b)
    with refused(cupola.ArgumentValueError, saying="5 and 4 elements"):
        np.linalg.vecdot(there, there[:, 1:])
    with refused(cupola.ArgumentValueError, saying="got 2 and 1 axes"):
        np.linalg.outer(there, there[0])
    with refused(cupola.ArgumentValueError, saying="x has 1 axes"):
        np.linalg.matrix_transpose(there[0])


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8", "c16"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8])
def test_powers_of_matrices(driver, dtype, n):
    x = numbers((2, 4, 4), dtype) / 4 if dtype != "i4" else numbers((2, 4, 4), dtype)
    check(lambda a: np.linalg.matrix_power(a, n), x.astype(dtype))


def test_powers_that_are_refused(driver):
    x = cupola.ones((3, 3))
    assert np.linalg.matrix_power(x, 1).ptr != x.ptr
    with refused(cupola.ArgumentValueError, saying=("negative", "inverse")):
        np.linalg.matrix_power(x, -1)
    with refused(cupola.ArgumentValueError, saying="square matrices, got shape (2, 3)"):
        np.linalg.matrix_power(x[:2], 2)


@pytest.mark.parametrize("lengths", [(2, 3, 4), (5, 2, 6, 3), (10, 1, 9, 2, 8, 3), (4, 4, 4, 4)])
def test_products_of_several_matrices(driver, lengths):
    pairs = list(itertools.pairwise(lengths))
    arrays = [numbers(pair, "f8", at) for at, pair in enumerate(pairs)]
    check(lambda *several: np.linalg.multi_dot(several), *arrays)
    check(lambda *several: np.linalg.multi_dot(several), arrays[0][0], *arrays[1:])
    check(lambda *several: np.linalg.multi_dot(several), *arrays[:-1], arrays[-1][:, 0])
    check(
        lambda *several: np.linalg.multi_dot(several), arrays[0][0], *arrays[1:-1], arrays[-1][:, 0]
    )
    out = cupola.empty((lengths[0], lengths[-1]))
    there = [cupola.to_device(one) for one in arrays]
    assert np.linalg.multi_dot(there, out=out) is out
    np.testing.assert_allclose(out.get(), np.linalg.multi_dot(arrays), rtol=1e-12, atol=1e-13)


def test_the_cheapest_order(driver):
    """Of Cormen, Leiserson, Rivest and Stein's example: ((A (B C)) ((D E) F))."""
    splits = _splits([30, 35, 15, 5, 10, 20, 25])
    assert (splits[0, 6], splits[0, 3], splits[3, 6]) == (3, 1, 5)
    with refused(cupola.ArgumentValueError, saying="at least two arrays, got 1"):
        np.linalg.multi_dot([cupola.ones((2, 2))])
    with refused(cupola.ArgumentValueError, saying="arrays[1]: expected a matrix, got 3 axes"):
        np.linalg.multi_dot([cupola.ones((2, 2)), cupola.ones((1, 2, 2)), cupola.ones((2, 2))])


def test_the_extension_of_the_array_api(driver):
    x, xp = numbers((2, 3, 3), "c16"), cupola.ones(1).__array_namespace__().linalg
    there = cupola.to_device(x)
    for name, keywords in {
        "matrix_norm": {"ord": 1}, "vector_norm": {"axis": 0, "ord": 3}, "trace": {"offset": 1},
        "diagonal": {}, "matrix_transpose": {},
    }.items():  # fmt: skip
        found = getattr(xp, name)(there, **keywords).get()
        np.testing.assert_allclose(found, getattr(np.linalg, name)(x, **keywords), rtol=1e-13)
    for name, keywords in {"cross": {"axis": 1}, "vecdot": {}, "matmul": {}}.items():
        found = getattr(xp, name)(there, there, **keywords).get()
        expected = getattr(np.linalg, name)(x, x, **keywords)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(xp.outer(there[0, 0], there[0, 1]).get(), np.outer(x[0, 0], x[0, 1]))
    np.testing.assert_allclose(xp.matrix_power(there, 3).get(), np.linalg.matrix_power(x, 3))
    np.testing.assert_allclose(
        xp.tensordot(there, there[0], axes=1).get(), np.tensordot(x, x[0], 1)
    )
    assert not {"svd", "inv", "solve", "det", "qr"} & set(dir(xp))
