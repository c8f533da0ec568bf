"""Arrays reduced along axes, against NumPy: every reduction in every type, shape and order."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reductions import (
    ALL,
    EXACT,
    ROUNDING,
    SHAPES,
    TYPES,
    axes_of,
    check,
    filled,
    layouts,
    near,
    same,
)

import cupola


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", ALL)
def test_every_type_along_every_axis(driver, name, dtype):
    for shape in SHAPES:
        there = cupola.to_device(filled(dtype, shape))
        for view, base in zip(layouts(there), layouts(there.get()), strict=True):
            for axis in axes_of(len(shape)):
                if name.startswith("arg") and isinstance(axis, tuple):
                    continue
                check(name, view, base, axis)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_many_elements(driver, dtype):
    # In several pieces, which another launch finishes.
    here = filled(dtype, 1 << 20 if dtype.itemsize < 8 else 1 << 18)
    there = cupola.to_device(here)
    for view, base in ((there, here), (there[3:-5], here[3:-5]), (there[::-3], here[::-3])):
        for name in EXACT:
            check(name, view, base, None)
        check("sum", view, base, None)


@pytest.mark.parametrize("shape", [(2000, 300), (3, 70000), (70000, 3), (20000, 33), (6, 5000, 8)])
@pytest.mark.parametrize("dtype", [np.dtype(np.int16), np.dtype(np.float32)], ids=str)
def test_long_and_short_rows_and_columns(driver, dtype, shape):
    here = filled(dtype, shape)
    there = cupola.to_device(here)
    for axis in axes_of(len(shape)):
        check("sum", there, here, axis)
        check("max", there, here, axis)
        if not isinstance(axis, tuple):
            check("argmin", there, here, axis)


@pytest.mark.parametrize("shape", [(2000, 70), (3, 7000), (9000, 5), (999, 33), (3, 500, 18)])
@pytest.mark.parametrize("dtype", [np.dtype(code) for code in ("?", "i2", "f2", "f4", "c16")])
def test_columns_that_are_apart(driver, dtype, shape):
    here = filled(dtype, shape)
    there = cupola.to_device(here)
    for step in (2, -3):
        view, base = there[..., ::step], here[..., ::step]
        for name in ("sum", "max", "any"):
            check(name, view, base, -2)
        check("sum", view, base, 0)
        if view.shape[-1] * shape[-2] >= 1024:  # else other threads add them
            assert view.sum(-2).get().tobytes() == view.copy().sum(-2).get().tobytes()
    if dtype.kind != "c":
        check("mean", view, base, -2)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_any_and_all_find_one_element(driver, dtype):
    many = 200_000 if dtype in (np.int8, np.float32) else 20_000  # in pieces, and in one
    for n in (1, 3, 70, 5000, many):
        here = np.zeros((n, 2), dtype)
        here[n // 2, 1] = 1
        for base in (here, 1 - here.view(np.int8).astype(dtype) if dtype.kind == "b" else 1 - here):
            there = cupola.to_device(base)
            for axis in (None, 0, 1, ()):
                same(there.any(axis), np.asarray(base.any(axis)))
                same(there.all(axis), np.asarray(base.all(axis)))
                same(there.T.any(axis), np.asarray(base.T.any(axis)))


def test_more_axes_than_a_kernel_takes(driver):
    here = filled(np.dtype(np.int32), (2,) * 14)
    # Neighbours in memory are far apart in the order of the axes, so that none merge.
    order = [*range(0, 14, 2), *range(1, 14, 2)]
    there, here = cupola.to_device(here).transpose(order), here.transpose(order)
    for axis in ((0, 2, 4), tuple(range(0, 14, 2)), tuple(range(12)), (13,), None):
        same(there.sum(axis), here.sum(axis))
        same(there[..., ::-1, :].max(axis), here[..., ::-1, :].max(axis))
    same(there.argmax(), np.asarray(here.argmax()))
    same(there.argmin(3), here.argmin(3))


@pytest.mark.cuda_only(reason="so many results take minutes on a CPU")
def test_more_results_than_a_launch_has_blocks(driver):
    row = cupola.zeros((512,), bool)
    row[511] = True
    x = cupola.Array.from_address(row.address, (1 << 27, 512), bool, strides=(0, 1), owner=row)
    truth = x.any(axis=1)
    assert truth.shape == (1 << 27,)
    assert truth.all().item()
    assert not x.all(axis=1).any().item()


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
def test_nan_is_propagated(driver, dtype):
    here = filled(dtype, (40, 700))
    here[3, 650] = here[3, 651] = here[17, 0] = np.nan
    there = cupola.to_device(here)
    for axis in (None, 0, 1):
        for name in ("min", "max"):
            result, expected = getattr(there, name)(axis).get(), getattr(here, name)(axis)
            np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
            np.testing.assert_array_equal(result[~np.isnan(result)], expected[~np.isnan(expected)])
        for name in ("argmin", "argmax"):
            same(getattr(there, name)(axis), np.asarray(getattr(here, name)(axis)))
        assert np.isnan(there.sum(axis).get()).any()
        same(there.any(axis), np.asarray(here.any(axis)))
        same(there.all(axis), np.asarray(here.all(axis)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_infinities_and_signed_zeros(driver, dtype):
    here = np.array([[np.inf, -np.inf, 1], [-0.0, 0.0, -0.0], [np.inf, np.inf, 3]], dtype)
    there = cupola.to_device(here)
    for name in ("min", "max"):
        same(getattr(there, name)(1), getattr(here, name)(1))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(there.sum(1).get(), here.sum(1))
    assert there[1, ::2].any().item() is False


def test_argmax_returns_the_first_of_equal_elements(driver):
    here = np.tile(np.array([3, 1, 3, 1], np.int8), 30000)
    there = cupola.to_device(here)
    assert (there.argmax().item(), there.argmin().item()) == (0, 1)
    same(there.reshape(-1, 8).argmax(0), here.reshape(-1, 8).argmax(0))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "float16"])
def test_a_sum_has_the_same_bits_at_each_alignment(driver, dtype):
    here = filled(np.dtype(dtype), 100003)
    aligned = cupola.to_device(here[1:])
    shifted = cupola.to_device(here)[1:]  # an array of another alignment
    first = aligned.sum().get().tobytes()
    assert all(aligned.sum().get().tobytes() == first for _ in range(5))
    assert shifted.sum().get().tobytes() == first
    rows = cupola.to_device(np.tile(here[:1001], (5, 1))).sum(1).get()
    assert len({row.tobytes() for row in rows}) == 1
    table = here[:99000].reshape(990, 100)
    columns = cupola.to_device(table).sum(0).get()
    assert cupola.to_device(here[:99001])[1:].reshape(990, 100).sum(0).get().shape == (100,)
    wide = cupola.to_device(np.hstack([table, table]))[:, 100:]
    assert wide.sum(0).get().tobytes() == columns.tobytes()
    dots = [aligned.dot(aligned).get().tobytes(), shifted.dot(aligned).get().tobytes()]
    assert dots[0] == dots[1]


def test_the_bits_of_a_sum_are_those_of_its_tree(driver):
    # A warp sums like this: each thread takes four packs of four, then halves of threads are added.
    here = (np.arange(2000, dtype=np.float32) * np.float32(0.1)) ** 2
    packs = np.concatenate([here, np.zeros(2048 - len(here), np.float32)]).reshape(4, 4, 32, 4)
    pairs = packs[..., :2] + packs[..., 2:]
    sums = pairs[..., 0] + pairs[..., 1]  # by step, pack in flight, thread
    running = ((sums[0] + sums[1]) + sums[2]) + sums[3]
    values = (running[0] + running[2]) + (running[1] + running[3])
    for apart in (16, 8, 4, 2, 1):
        values = values + values[np.arange(32) ^ apart]
    assert cupola.to_device(here).sum().item() == values[0]


@pytest.mark.parametrize("n", [1000, 100_000, 2_000_000])
def test_sums_are_as_accurate_as_numpys(driver, n):
    here = np.random.default_rng(3).random(n).astype(np.float32)
    exact = math.fsum(here.tolist())
    assert abs(cupola.to_device(here).sum().item() - exact) <= 20 * 6e-8 * exact
    columns = cupola.to_device(here).reshape(-1, 10).sum(0).get()
    for column, result in zip(here.reshape(-1, 10).T, columns, strict=True):
        exact = math.fsum(column.tolist())
        assert abs(result - exact) <= 30 * 6e-8 * exact


def test_elements_at_odd_addresses(driver):
    record = np.dtype([("tag", "i1"), ("value", "f4")])  # packed: 5 bytes
    here = np.zeros((30, 40), record)
    here["value"] = filled(np.dtype(np.float32), (30, 40))
    there, base = cupola.to_device(here)["value"], np.ascontiguousarray(here["value"])
    for axis in (None, 0, 1):
        check("sum", there, base, axis)
        check("argmax", there, base, axis)
    near(there[0].dot(there[1]), base[0] * base[1])
    results = cupola.to_device(np.zeros(40, record))
    there.max(0, out=results["value"])
    np.testing.assert_array_equal(results.get()["value"], base.max(0))


def test_a_graph_reduces_again(driver):
    here = np.arange(300_000, dtype=np.float32)
    x, total = cupola.to_device(here), cupola.empty((), np.float32)
    x.sum(out=total)  # loads the kernels
    with cupola.Stream() as stream:
        stream.synchronize()
        with stream.capture() as graph:
            x.sum(out=total)
        run = graph.instantiate()
        # Partial results have memory of their own, which none of these may be given.
        others = [cupola.full(64, 7, np.float32) for _ in range(100)]
        x.set(here * 2)
        run()
        run()
        stream.synchronize()
    assert total.item() == cupola.to_device(here * 2).sum().item()
    assert all((other.get() == 7).all() for other in others)


def test_a_result_waits_only_for_its_stream(driver):
    x = cupola.to_device(np.full(200_000, 2, np.int32))
    totals = []
    for _ in range(4):
        with cupola.Stream():
            totals.append(x.sum())
    cupola.Device().synchronize()
    assert [total.item() for total in totals] == [400_000] * 4
    assert bool(x.any())
    assert float(x.max()) == 2.0


@st.composite
def arrays_and_axes(draw):
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=5)))
    dtype = np.dtype(draw(st.sampled_from(["int8", "uint16", "int64", "float32", "complex128"])))
    base = filled(dtype, tuple(2 * n + 1 for n in shape), draw(st.integers(0, 99)))
    keys = []
    for n in shape:
        step = draw(st.sampled_from([1, 2, -1, -2]))
        keys.append(slice(None, n, 1) if step == 1 else slice(None, None, step))
    order = draw(st.permutations(range(len(shape))))
    axis = tuple(draw(st.lists(st.sampled_from(range(len(shape))), unique=True)) if shape else ())
    return base, tuple(keys), order, axis


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=arrays_and_axes(), name=st.sampled_from(["sum", "max", "min", "all", "prod"]))
def test_any_shape_strides_and_axes(driver, case, name):
    base, keys, order, axis = case
    here = base[keys].transpose(order)
    there = cupola.to_device(base)[keys].transpose(order)
    check(name, there, here, axis)


def test_copies_of_views_have_the_bits_of_c_order():
    host = np.random.default_rng(0).random((200, 300)).astype(np.float32)
    array = cupola.to_device(host)
    views = [
        cupola.to_device(np.repeat(host, 2, 1))[:, ::2],
        cupola.to_device(np.ascontiguousarray(host.T)).T,
        cupola.to_device(host[::-1, ::-1].copy())[::-1, ::-1],
        cupola.hstack([array, array])[:, :300],
    ]
    for axis in (None, 0, 1):
        expected = array.sum(axis).get().tobytes()
        for view in views:
            assert view.copy().sum(axis).get().tobytes() == expected
            assert view.sum(axis).get().tobytes() == view.sum(axis).get().tobytes()
