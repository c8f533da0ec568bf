"""Views, orders and strided copies: NumPy is the reference, on the same random shapes and keys."""

import numpy as np
import pytest
from working import refused

import cupola

DTYPES = ["?", "i1", "f2", "i4", "f8", "F", "D", "M8[ns]", "S5", "V12", "i4,f8", "i2,i2,u1"]


def random_array(rng, shape, dtype):
    dtype = np.dtype(dtype)
    raw = rng.integers(0, 2 if dtype.kind == "b" else 256, int(np.prod(shape)) * dtype.itemsize)
    return raw.astype(np.uint8).view(dtype).reshape(shape)


def random_key(rng, shape):
    """Ints, slices of any step, None, and an ellipsis at times."""
    key = []
    for length in shape[: rng.integers(0, len(shape) + 1)]:
        kind = rng.integers(0, 4)
        if kind == 0 and length:
            key.append(int(rng.integers(-length, length)))
        elif kind == 1:
            key.append(slice(None, None, int(rng.choice([-3, -2, -1, 1, 2]))))
        else:
            ends = [None if rng.random() < 0.3 else int(rng.integers(-9, 9)) for _ in range(2)]
            key.append(slice(*ends, int(rng.choice([-2, -1, 1, 1, 3]))))
    for each in (None, Ellipsis):
        if rng.random() < 0.3:
            key.insert(rng.integers(0, len(key) + 1) if each is None else len(key), each)
    return tuple(key)


def same_places(view, expected, origin, there):
    """The view's elements lie where NumPy's do."""
    assert (view.shape, view.dtype) == (expected.shape, expected.dtype)
    if expected.size == 0:
        return
    assert view.address - there.address == expected.ctypes.data - origin.ctypes.data
    for length, mine, theirs in zip(view.shape, view.strides, expected.strides, strict=True):
        assert length == 1 or mine == theirs


def compact(array):
    return np.array(array, order="C")  # ascontiguousarray adds an axis where there is none


def same_bytes(result, expected):
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("seed", range(12))
def test_indexing_and_copies_both_ways(driver, seed):
    rng = np.random.default_rng(seed)
    for _ in range(12):
        shape = tuple(int(n) for n in rng.integers(1, 8, rng.integers(0, 5)))
        host = random_array(rng, shape, rng.choice(DTYPES))
        there = cupola.to_device(host)
        axes = rng.permutation(len(shape)).tolist()
        host_view, view = host.transpose(axes), there.transpose(axes)
        key = random_key(rng, host_view.shape)
        expected, part = host_view[key], view[key]
        # NumPy makes a scalar from a key of ints.
        expected = np.asarray(expected).reshape(part.shape)
        if host_view[(*key, ...) if Ellipsis not in key else key].ndim:
            same_places(part, host_view[key], host, there)
        same_bytes(part.get(), expected)
        for order in "CF":
            copy = part.copy(order)
            same_bytes(copy.get(), expected)
            assert getattr(copy.flags, f"{order.lower()}_contiguous")
        out = np.empty(tuple(2 * n for n in part.shape), host.dtype)[
            (*(slice(None, None, int(rng.choice([2, -2]))) for _ in part.shape), ...)
        ]
        out = out[(*(slice(n) for n in part.shape), ...)]
        part.get(out=out)
        same_bytes(out, expected)

        fresh = random_array(rng, (*part.shape, 2), host.dtype)[..., 1]
        host = host.copy()
        host.transpose(axes)[key] = fresh
        part.set(fresh)
        same_bytes(there.get(), host)
        other = cupola.to_device(random_array(rng, part.shape, host.dtype))
        host.transpose(axes)[key] = other.get()
        view[key] = other
        same_bytes(there.get(), host)


@pytest.mark.parametrize("seed", range(6))
def test_reshape(driver, seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        shape = tuple(int(n) for n in rng.choice([1, 2, 3, 4, 6], rng.integers(1, 5)))
        host = random_array(rng, shape, "i4")
        there = cupola.to_device(host)
        axes = rng.permutation(len(shape)).tolist()
        host_view = host.transpose(axes)[:: int(rng.choice([1, 2, -1]))]
        view = cupola.Array.from_address(
            there.address + host_view.ctypes.data - host.ctypes.data,
            host_view.shape,
            "i4",
            strides=host_view.strides,
            owner=there,
        )
        factors = rng.permutation(_factors(host_view.size)).tolist()
        wanted = []
        while factors:
            take = int(rng.integers(0, len(factors) + 1))
            wanted.append(int(np.prod(factors[:take], initial=1, dtype=int)))
            factors = factors[take:]
        for order in ("C", "F", "A"):
            result = view.reshape(wanted, order=order)
            expected = host_view.reshape(wanted, order=order)
            same_bytes(compact(result.get()), compact(expected))
            inside = there.address <= result.address < there.address + there.nbytes
            assert inside == np.shares_memory(expected, host)
        for order in ("C", "F", "A", "K"):
            same_bytes(view.ravel(order).get(), host_view.ravel(order))


def test_orders_of_shapes_by_numpys_functions(driver):
    host = np.arange(24, dtype="i4").reshape(2, 3, 4)[:, ::-1].T
    there = cupola.to_device(np.arange(24, dtype="i4").reshape(2, 3, 4))[:, ::-1].T
    for function in (
        lambda x: np.reshape(x, (6, 4)),
        lambda x: np.reshape(x, (4, -1), order="F"),
        lambda x: np.reshape(x, -1, order="A"),
        np.ravel,
        lambda x: np.ravel(x, order="F"),
        lambda x: np.ravel(x, "K"),
        np.copy,
        lambda x: np.copy(x, order="F"),
    ):
        found, expected = function(there), function(host)
        assert isinstance(found, cupola.Array)
        same_bytes(compact(found.get()), compact(expected))
    for wrong in (lambda: there.reshape(4, 6, order="K"), lambda: there.ravel("Z")):
        with refused(cupola.ArgumentError, ValueError, saying="an order is one of"):
            wrong()


def _factors(n):
    found, factor = [], 2
    while n > 1:
        while n % factor == 0:
            found.append(factor)
            n //= factor
        factor += 1
    return found


def test_views_share_memory(driver):
    there = cupola.zeros((4, 6), np.int32)
    expected = np.zeros((4, 6), np.int32)
    for key, value in [
        ((slice(None), 1), 5),
        ((slice(None, None, -2), slice(1, None, 3)), 7),
        ((Ellipsis, -1), np.arange(4)),
        ((2,), np.arange(6)[::-1]),
        ((None, slice(0, 2)), np.ones((1, 2, 6))[..., ::-1].astype(np.int32)),
        ((0, 0), -1),
    ]:
        there[key] = value
        expected[key] = value
        np.testing.assert_array_equal(there.get(), expected)
    there.T[2:4, 1] = cupola.to_device(np.array([[8], [9]], np.int32))[:, 0]
    expected.T[2:4, 1] = [8, 9]
    np.testing.assert_array_equal(there.get(), expected)


def test_overlapping_assignment(driver):
    host = np.arange(20, dtype=np.int16)
    there = cupola.to_device(host)
    for target, source in [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
        (slice(0, 10), slice(0, 20, 2)),
        (slice(None), slice(None)),
    ]:
        there[target] = there[source]
        host[target] = host[source].copy()
        np.testing.assert_array_equal(there.get(), host)


def test_broadcast_assignment(driver):
    there = cupola.zeros((3, 4, 5), np.float32)
    expected = np.zeros((3, 4, 5), np.float32)
    for source in (
        np.arange(5, dtype=np.float32),
        np.arange(4, dtype=np.float32)[:, None],
        np.arange(3, dtype=np.float32)[:, None, None],
        np.arange(20, dtype=np.float32).reshape(1, 4, 5),
        np.arange(20, dtype=np.float32).reshape(1, 1, 4, 5),
    ):
        there[...] = source
        expected[...] = source
        np.testing.assert_array_equal(there.get(), expected)
        there[...] = 0
        there[...] = cupola.to_device(source)
        np.testing.assert_array_equal(there.get(), expected)
    for wrong in (np.zeros(4, np.float32), np.zeros((2, 3, 4, 5), np.float32)):
        for source in (wrong, cupola.to_device(wrong)):
            with refused(cupola.ArgumentError, ValueError, saying="can't be put into shape"):
                there[...] = source
    there[0] = there[1:2]
    expected[0] = expected[1:2]
    np.testing.assert_array_equal(there.get(), expected)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "f4", "f8", "D", "S3", "i4,f8,i1", "V100"])
@pytest.mark.parametrize("key", [..., (slice(None, None, 2),), (slice(None), 1), (0, 0)])
def test_fill_of_any_element(driver, dtype, key):
    rng = np.random.default_rng(3)
    element = random_array(rng, (), dtype)
    host = random_array(rng, (5, 7), dtype).copy()
    there = cupola.to_device(host)
    host[key] = element
    there[key].fill(element)
    same_bytes(there.get(), host)
    host[key] = np.zeros((), dtype)
    there[key].fill(np.zeros((), dtype))
    same_bytes(there.get(), host)
    same_bytes(cupola.full((3, 5), element, dtype).get(), np.full((3, 5), element, dtype))


@pytest.mark.parametrize("shape", [(1_000_003,), (1000, 1003)])
def test_large_fill_and_transpose(driver, shape):
    there = cupola.full(shape, 1.5, np.float64)
    assert (there.get() == 1.5).all()
    host = np.arange(there.size, dtype=np.float64).reshape(shape)
    there.set(host)
    same_bytes(there.T.copy().get(), compact(host.T))
    same_bytes(there[::-1].copy().get(), compact(host[::-1]))


def test_pitched_copies(driver):
    """Rows and slices that are long enough for the driver's own copies, on both sides."""
    rng = np.random.default_rng(9)
    host = random_array(rng, (4, 6, 2048), "u1")
    there = cupola.to_device(host)
    for key in [
        (slice(None), slice(None), slice(0, 1000)),
        (1, slice(None), slice(100, 1500)),
        (slice(0, 4, 2), slice(1, 5), slice(7, 900)),
        (slice(1, 3), slice(0, 6, 2), slice(None)),
        (slice(None, None, -1), slice(None), slice(3, 700)),
    ]:
        same_bytes(there[key].get(), host[key])
        same_bytes(there[key].copy().get(), host[key])
        pinned = cupola.empty_pinned(host.shape, "u1")
        pinned[...] = 0
        there[key].get(out=pinned[key])
        same_bytes(compact(pinned[key]), compact(host[key]))
        back = cupola.zeros(host.shape, "u1")
        back[key].set(pinned[key])
        expected = np.zeros_like(host)
        expected[key] = host[key]
        same_bytes(back.get(), expected)


def test_more_axes_than_a_kernel_takes(driver):
    rng = np.random.default_rng(4)
    host = random_array(rng, (2,) * 12, "i2")
    there = cupola.to_device(host)
    axes = rng.permutation(12).tolist()
    same_bytes(there.transpose(axes).copy().get(), compact(host.transpose(axes)))


def test_view_of_other_elements(driver):
    rng = np.random.default_rng(5)
    host = random_array(rng, (4, 6), "i4")
    there = cupola.to_device(host)
    for dtype in ("f4", "i2", "u1", "i8", "V12", "f4,i2,i2"):
        same_bytes(there.view(dtype).get(), host.view(dtype))
    same_bytes(there[::2].view("i8").get(), host[::2].view("i8"))
    assert there.view("f4").address == there.address
    cases = [(there, "V7"), (there[:, ::2], "i8"), (there.T, "i2"), (there[0, 0], "i2")]
    for array, dtype in cases:
        with refused(cupola.ArgumentError, ValueError, saying="viewed"):
            array.view(dtype)
    with refused(cupola.ArgumentError, TypeError):
        there.view(object)


def test_fields(driver):
    dtype = np.dtype([("a", "i4"), ("b", "f8", (2,)), ("c", [("d", "i2"), ("e", "S3")])])
    host = random_array(np.random.default_rng(6), (3, 4), dtype)
    there = cupola.to_device(host)
    same_bytes(there["a"].get(), compact(host["a"]))
    same_bytes(there["b"].get(), compact(host["b"]))
    same_bytes(there[1:]["c"]["d"].get(), compact(host[1:]["c"]["d"]))
    there["a"] = 5
    host = host.copy()
    host["a"] = 5
    same_bytes(there.get(), host)
    with refused(cupola.ArgumentError, saying="no field"):
        there["z"]


def test_orders_and_flags(driver):
    host = np.arange(6, dtype=np.int32).reshape(2, 3)
    columns = cupola.empty((2, 3), np.int32, order="F")
    columns.set(host)
    assert columns.flags == (False, True, True) and columns.strides == (4, 8)
    result = columns.get()
    assert result.flags.f_contiguous and result.tolist() == host.tolist()
    assert cupola.empty_like(columns).flags.f_contiguous
    assert cupola.zeros_like(np.asfortranarray(host)).strides == (4, 8)
    assert cupola.empty_like(columns, order="C").flags.c_contiguous
    assert columns.T.flags.c_contiguous and columns.copy("K").flags.f_contiguous
    assert cupola.ones_like(columns).get().tolist() == [[1, 1, 1], [1, 1, 1]]
    assert cupola.full_like(columns, 3, shape=2).get().tolist() == [3, 3]
    assert cupola.empty(0).flags == (True, True, True)
    for wrong in ("X", None, "c"):
        with refused(cupola.ArgumentError):
            cupola.empty(3, order=wrong)
        with refused(cupola.ArgumentError):
            columns.copy(wrong)
    for axes in ((0, 0), (0,), (0, 2), (0, 1, 2)):
        with refused(cupola.ArgumentError, ValueError):
            columns.transpose(*axes)


def test_values_keep_their_kind(driver):
    there = cupola.zeros(4, np.int16)
    for value in (2**20, -(2**15) - 1):
        with refused(cupola.ArgumentError, ValueError, saying="out of the range of int16"):
            there[...] = value
    for value in (1.5, 1j, np.float32(1), np.arange(4.0), "x", None):
        with refused(cupola.ArgumentError, TypeError):
            there[...] = value
    for value in (True, 7, np.int64(8), np.array([1, 2, 3, 4]), [4, 3, 2, 1]):
        there[:] = value
        np.testing.assert_array_equal(there.get(), np.full(4, 0) + value)
    with refused(cupola.ArgumentError, TypeError, saying="same_kind"):
        there[...] = cupola.zeros(4, np.float32)
    flags = cupola.zeros(4, bool)
    flags[1:3] = 2  # the truth of a number of Python
    assert flags.get().tolist() == [False, True, True, False]
    with refused(cupola.ArgumentError, ValueError):
        there.fill([1, 2])
    times = cupola.zeros(2, "M8[s]")
    times[...] = np.datetime64("2026-01-01")
    assert times.get().tolist() == [np.datetime64("2026-01-01T00:00:00", "s").item()] * 2


@pytest.mark.parametrize("source", ["?", "u1", "i4", "f2", "f4"])
@pytest.mark.parametrize("dtype", ["i2", "f8", "c8"])
def test_values_on_the_device_are_converted(driver, source, dtype):
    values = np.arange(12).reshape(3, 4).astype(source)
    host = np.zeros((3, 4), dtype)
    there = cupola.to_device(host)
    if not np.can_cast(source, dtype, "same_kind"):
        with refused(cupola.ArgumentError, TypeError, saying="same_kind"):
            there[...] = cupola.to_device(values)
        return
    for key, part in (
        (slice(1, None), values[::-1][1:]),
        (0, values[:1]),
        ((..., 2), values[1, 1]),
    ):
        host[key] = part
        there[key] = (
            cupola.to_device(values)[::-1][1:]
            if key == slice(1, None)
            else (cupola.to_device(part))
        )
        np.testing.assert_array_equal(there.get(), host)


def test_a_view_of_other_elements_is_converted_in_place(driver):
    host = np.arange(8, dtype=np.int32)
    there = cupola.to_device(host)
    there.view(np.float32)[:] = there
    assert there.view(np.float32).get().tolist() == host.tolist()


def test_strided_arrays_and_kernels(driver):
    kernel = cupola.shipped_kernels()["saxpy"]
    x, out = cupola.to_device(np.arange(8, dtype=np.float32)), cupola.zeros(4, np.float32)
    with refused(cupola.ArgumentError, ValueError, saying=("C-contiguous", "copy()")):
        kernel[1, 32](1.0, x[::2], out, out, 4)
    kernel[1, 32](1.0, x[::2].copy(), out, out, 4)
    assert out.get().tolist() == [0, 2, 4, 6]
    kernel[1, 32](1.0, x[4:].address, out, out, 4)
    assert out.get().tolist() == [4, 7, 10, 13]


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16", "V3"])
@pytest.mark.parametrize("length", [63, 64, 67, 130])
def test_copies_into_runs(driver, dtype, length):
    """Destinations whose elements follow each other, at each alignment, from any source."""
    host = random_array(np.random.default_rng(length), (7, length), dtype)
    there = cupola.to_device(host)
    views = [
        lambda x: x[:, ::-1],
        lambda x: x[::-1, ::-1],
        lambda x: x[::2, 1::3],
        lambda x: x[:, 1:-1],
        lambda x: x.T,
        lambda x: x[:, :20].T[::-1],
        lambda x: x.reshape(-1)[::-1],
        lambda x: x.reshape(-1)[:-4:5],
    ]
    for view in views:
        source, expected = view(there), view(host)
        same_bytes(source.copy().get(), compact(expected))
        for skip in (0, 1, 5):  # into the middle of other elements, which stay
            around = random_array(np.random.default_rng(skip), (expected.size + 9,), dtype)
            target = cupola.to_device(around)
            part = slice(skip, skip + expected.size)
            target[part].reshape(expected.shape)[...] = source
            around[part] = compact(expected).reshape(-1)
            same_bytes(target.get(), around)
    for skip in (0, 1, 3):  # rows of a matrix, each at its own alignment
        around = random_array(np.random.default_rng(skip), (7, length + 5), dtype)
        target = cupola.to_device(around)
        target[:, skip : skip + length] = there[:, ::-1]
        around[:, skip : skip + length] = host[:, ::-1]
        same_bytes(target.get(), around)


@pytest.mark.parametrize("times", [1, 2, 3, 16, 100])
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "c16"])
def test_copies_of_repeated_elements(driver, dtype, times):
    host = random_array(np.random.default_rng(times), (41,), dtype)
    repeated = cupola.empty((41, times), dtype)
    repeated[...] = cupola.to_device(host)[:, None]
    same_bytes(repeated.get(), compact(np.broadcast_to(host[:, None], (41, times))))
    rows = cupola.empty((5, 41, times), dtype)
    rows[...] = cupola.to_device(host)[:, None]
    same_bytes(rows.get(), compact(np.broadcast_to(host[:, None], (5, 41, times))))


def test_bfloat16(driver):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = np.arange(8).astype(ml_dtypes.bfloat16)
    there = cupola.to_device(host)
    same_bytes(there[::-2].get(), compact(host[::-2]))
    same_bytes(cupola.full(3, host[5], host.dtype).get(), np.full(3, host[5]))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.transpose(0, 1.5),
        lambda x: x.transpose(1.5),
        lambda x: x.transpose("ab"),
        lambda x: x.swapaxes(0, 1.5),
    ],
)
def test_axes_are_ints(driver, wrong):
    with pytest.raises(cupola.ArgumentTypeError, match=r"axes|axis2"):
        wrong(cupola.zeros((3, 4), np.float32))
