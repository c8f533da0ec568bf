"""Elements wherever they lie: shapes, strides, broadcasting and overlap, by hypothesis."""

import numpy as np
import pytest
from test_elementwise import TYPES, assert_same

import cupola

pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

quickly = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def keys(draw, shape):
    """Slices of each axis, of any step, and a permutation of the axes."""
    slices = []
    for length in shape:
        start, stop = draw(st.integers(-length, length)), draw(st.integers(-length, length))
        slices.append(slice(start, stop, draw(st.sampled_from([1, 1, 2, 3, -1, -2]))))
    return tuple(slices), draw(st.permutations(range(len(shape))))


@st.composite
def views(draw, dtype, most=4):
    """The same view of an array on the device and of one on the host."""
    shape = tuple(draw(st.lists(st.integers(0, 6), max_size=most)))
    base = np.arange(int(np.prod(shape)) + 3).astype(dtype)[3:].reshape(shape)
    slices, order = draw(keys(shape))
    there = cupola.to_device(base)
    return there[slices].transpose(order), base[slices].transpose(order)


def stretched(draw, there, here):
    """With axes of one element, and new ones, so that it is repeated along others'."""
    for axis in range(here.ndim):
        if here.shape[axis] > 0 and draw(st.booleans()):
            key = (slice(None),) * axis + (slice(0, 1),)
            there, here = there[key], here[key]
    if draw(st.booleans()) and here.ndim and here.shape[0] == 1:
        there, here = there[0], here[0]
    return there, here


TYPE = st.sampled_from(TYPES)


@quickly
@given(data=st.data(), first=TYPE, second=TYPE)
def test_views_broadcast_against_each_other(driver, data, first, second):
    there, here = data.draw(views(first))
    other, beside = stretched(data.draw, there, here)
    other, beside = other.astype(second), beside.astype(second)
    for ufunc in (np.add, np.greater, np.maximum):
        assert_same(ufunc(there, other), ufunc(here, beside))
        assert_same(ufunc(other, there), ufunc(beside, here))


@quickly
@given(data=st.data())
def test_layouts_of_results_are_numpys(driver, data):
    there, here = data.draw(views(np.float32))
    got, want = there + there, here + here
    assert_same(got, want)
    assert (got.flags.c_contiguous, got.flags.f_contiguous) == (
        want.flags.c_contiguous, want.flags.f_contiguous)  # fmt: skip
    assert_same(np.square(there), np.square(here))


@quickly
@given(data=st.data(), dtype=TYPE)
def test_views_are_written_in_place(driver, data, dtype):
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    slices, order = data.draw(keys(shape))
    here = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    there = cupola.to_device(here)
    view, beside = there[slices].transpose(order), here[slices].transpose(order)
    np.add(view, view, out=view)
    np.add(beside, beside, out=beside)
    assert_same(there, here)


@quickly
@given(
    length=st.integers(1, 200),
    shift=st.integers(0, 9),
    step=st.sampled_from([1, -1, 2, -3]),
    dtype=st.sampled_from([np.dtype(t) for t in ("int8", "float16", "float32", "complex128")]),
)
def test_what_overlaps_its_result_is_read_before(driver, length, shift, step, dtype):
    here = np.arange(length * 3 + 10).astype(dtype)
    there = cupola.to_device(here)
    for array in (there, here):
        part = array[::step][:length]
        target = array[shift : shift + len(part)] if len(part) <= len(array) - shift else part
        np.add(target, part[: len(target)], out=target)
    assert_same(there, here)


@quickly
@given(
    size=st.integers(0, 300),
    lead=st.integers(0, 17),
    other=st.integers(0, 17),
    dtype=TYPE,
)
def test_arrays_in_order_at_any_place(driver, size, lead, other, dtype):
    here = (np.arange(size + 20) % 100).astype(dtype)
    there = cupola.to_device(here)
    x, a = there[lead : lead + size], here[lead : lead + size]
    y, b = there[other : other + size], here[other : other + size]
    assert_same(np.add(x, y), np.add(a, b))
    assert_same(np.equal(x, y), np.equal(a, b))
    assert_same(np.logical_not(x), np.logical_not(a))
    if dtype.kind == "f":
        assert_same(np.fmod(x, y + 1), np.fmod(a, b + 1))


def test_many_axes(driver):
    shape = (2,) * 14
    here = np.arange(2**14, dtype=np.int32).reshape(shape)
    there = cupola.to_device(here)
    order = list(range(0, 14, 2)) + list(range(1, 14, 2))
    assert_same(there + there.transpose(order), here + here.transpose(order))
    assert_same(there[..., None] * there.T[..., ::-1], here[..., None] * here.T[..., ::-1])


def test_self_reversed(driver):
    here = np.arange(1000, dtype=np.float32)
    there = cupola.to_device(here)
    there += there[::-1]
    here += here[::-1].copy()
    assert_same(there, here)


def test_views_of_one_array_in_other_types(driver):
    there = cupola.to_device(np.arange(64, dtype=np.int32))
    here = np.arange(64, dtype=np.int32)
    np.add(there.view(np.int16)[:64], 1, out=there.view(np.int8)[:64], casting="same_kind")
    np.add(here.view(np.int16)[:64], 1, out=here.view(np.int8)[:64], casting="same_kind")
    assert_same(there, here)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (1, 1, 1)])
def test_few_elements(driver, shape):
    here = np.ones(shape, np.float32)
    there = cupola.to_device(here)
    assert_same(there + there, np.asarray(here + here))
    assert_same(there * 2, np.asarray(here * 2))
    assert_same(np.sin(there) * 0, np.asarray(np.sin(here) * 0))
    assert_same(there + cupola.ones((2, 1, 1, 1), np.float32), here + np.ones((2, 1, 1, 1), "f4"))


@pytest.mark.parametrize("dtype", [t for t in TYPES if t.itemsize > 1], ids=str)
def test_elements_at_odd_addresses(driver, dtype):
    raw = np.zeros(64 * dtype.itemsize + 1, np.uint8)
    raw[1:].view(dtype)[:] = np.arange(64)
    there, here = cupola.to_device(raw)[1:].view(dtype), raw[1:].view(dtype)
    assert there.address % dtype.itemsize == 1
    assert_same(there + there, here + here)
    assert_same(there[::2] + 1, here[::2] + 1)
    assert_same(there == 3, here == 3)
    assert_same(np.square(there), np.square(here))
    there += there[::-1]
    here += here[::-1].copy()
    assert_same(there, here)


def test_fields_of_records(driver):
    records = np.zeros(10, np.dtype([("flag", np.uint8), ("x", np.float32), ("z", np.complex128)]))
    records["x"], records["z"] = np.arange(10), 1j * np.arange(10)
    there = cupola.to_device(records)
    assert_same(there["x"] + there["z"], records["x"] + records["z"])
    assert_same(np.sin(there["x"]) * 0, np.sin(records["x"]) * 0)
    x = there["x"]
    x += 1
    records["x"] += 1
    np.testing.assert_array_equal(there.get(), records)


CROSSED = {  # results in C order, an operand in another: gone through in squares, and what is left
    "whole squares": ((512, 576), (1, 0)),
    "rows and columns left": ((515, 601), (1, 0)),
    "columns left": ((512, 1001), (1, 0)),
    "fewer than a square": ((31, 9001), (1, 0)),
    "each of several": ((5, 257, 259), (0, 2, 1)),
    "the outermost innermost": ((257, 33, 70), (2, 1, 0)),
    "more axes than squares take": ((3, 4, 150, 170), (0, 1, 3, 2)),
}


@pytest.mark.parametrize("dtype", ["i1", "f4", "f8", "c16"])
@pytest.mark.parametrize("case", CROSSED)
def test_operands_that_cross_each_other(driver, case, dtype):
    shape, order = CROSSED[case]
    random = np.random.default_rng(3)
    plain = random.integers(-50, 50, shape).astype(dtype)
    crossed = random.integers(-50, 50, [shape[k] for k in np.argsort(order)]).astype(dtype)
    there, here = cupola.to_device(crossed).transpose(order), crossed.transpose(order)
    assert_same(there + cupola.to_device(plain), here + plain)
    assert_same(cupola.to_device(plain) < there[..., ::-1], plain < here[..., ::-1])
    assert_same(there * 2, here * 2)  # in C order, as all results here
    out = cupola.empty(shape, "c16")  # of mixed types
    np.add(there, cupola.to_device(plain), out=out)
    assert_same(out, np.add(here, plain, out=np.empty(shape, "c16")))
