"""Keys with arrays of indices and masks, take and put, with NumPy as the reference."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keys import INDEX_TYPES, PAIR, arrays, elements, keys
from working import refused

import cupola
from cupola.arrays import gather

quickly = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def same(found, expected):
    assert type(found) is cupola.Array
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found.get(), expected)


@quickly
@given(data=st.data())
def test_reads_by_keys_of_all_kinds(driver, data):
    host, there = data.draw(arrays())
    numpy_key, key = data.draw(keys(host.shape))
    same(there[key], host[numpy_key])


@quickly
@given(data=st.data())
def test_writes_by_keys_of_all_kinds(driver, data):
    host, there = data.draw(arrays())
    host = host.copy()
    numpy_key, key = data.draw(keys(host.shape))
    of = host[numpy_key].shape
    shape = tuple(1 if data.draw(st.integers(0, 4)) == 0 else n for n in of)
    values = elements(shape[data.draw(st.integers(0, len(shape))) :], host.dtype, 3)
    host[numpy_key] = values
    there[key] = cupola.to_device(values) if data.draw(st.booleans()) else values
    same(there, host)


def test_where_arrays_of_indices_and_ints_place_their_axes(driver):
    host = elements((3, 4, 5, 6), "f4")
    there = cupola.to_device(host)
    two, three = np.array([[2, 0]]), np.array([[1], [2], [0]])
    for key in [
        (two, three), (0, slice(None), two), (slice(None), 0, two), (two, slice(None), 0),
        (slice(None), two, None, three), (slice(None), two, three, None), (..., two, 0), (two,),
        (slice(None), two, slice(1, 3), three), np.ix_([0, 2], [1, 3], [4], [0, 5]),
        (True, two), (np.array([2]), False), (np.array(True), 0), (slice(None), [], 0),
        ([True, False, True],),
    ]:  # fmt: skip
        same(there[key], host[key])
        moved = [cupola.to_device(k) if isinstance(k, np.ndarray) and k.ndim else k for k in key]
        same(there[tuple(moved)], host[key])


@pytest.mark.parametrize("where", ["host", "device", "both"])
def test_the_last_value_stays_where_several_arrays_name_an_element_twice(driver, where):
    rng = np.random.default_rng(7)
    host, count = elements((5, 6, 7), "f4"), 500
    numbers = [rng.integers(-n, n, count) for n in host.shape]
    sent = [cupola.to_device(one) for one in numbers]
    key = {"host": numbers, "device": sent, "both": [numbers[0], *sent[1:]]}[where]
    for axes in (1, 2, 3):
        changed, there = host.copy(), cupola.to_device(host)
        values = elements((count, *host.shape[axes:]), "f4", axes)
        changed[tuple(numbers[:axes])] = values
        there[tuple(key[:axes])] = values
        same(there, changed)


@pytest.mark.parametrize("dtype", ["?", "f2", "f4", "f8", "c16", "S5", PAIR, "S64"])
@pytest.mark.parametrize("n", [0, 1, 255, 257, 4097])
def test_elements_of_each_size(driver, dtype, n):
    host = elements((300,), dtype)
    index = np.random.default_rng(n).integers(-300, 300, n)
    for there in (cupola.to_device(host), cupola.to_device(np.repeat(host, 2))[::2]):
        same(there[cupola.to_device(index)], host[index])
        values = elements((n,), dtype, 1)
        changed = host.copy()
        changed[index] = values
        there[cupola.to_device(index)] = cupola.to_device(values)
        same(there, changed)


def test_rows_move_in_words_whatever_their_alignment(driver):
    for width, offset in [(16, 0), (15, 1), (24, 4), (32, 2), (7, 0)]:
        host = elements((20, 40), "i1")
        there = cupola.to_device(host)[:, offset : offset + width]
        index = [3, -1, 3, 0]
        same(there[index], host[:, offset : offset + width][index])
        there[index] = there[[0, 1, 2, 3]]
        host[:, offset : offset + width][index] = host[:, offset : offset + width][[0, 1, 2, 3]]
        same(there, host[:, offset : offset + width])


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch):
    """Writes by indices queue the work of a GPU, on the CPU device, too."""
    monkeypatch.setattr(gather, "is_cpu", lambda device: False)


def test_the_cpu_device_searches_the_last_of_equal_indices(driver, monkeypatch):
    monkeypatch.undo()
    rng = np.random.default_rng(5)
    for n in (3, 200, 9000):
        index, values = rng.integers(-71, 71, n), rng.random((n, 2))
        host, flat = np.zeros((71, 2)), np.zeros(71)
        host[index], flat[index] = values, values[:, 0]
        there, line = cupola.zeros((71, 2)), cupola.zeros(71)
        there[cupola.to_device(index)] = cupola.to_device(values)
        line[cupola.to_device(index)] = cupola.to_device(values[:, 0])
        same(there, host)
        same(line, flat)
        along = rng.integers(-71, 71, (n, 2))
        np.put_along_axis(host, along, values, 0)
        cupola.put_along_axis(there, cupola.to_device(along), cupola.to_device(values), 0)
        same(there, host)


# Up to 4,096 indices a hash table finds the last of equal indices; above, marks of positions.
@pytest.mark.parametrize("n", [0, 1, 2, 33, 1500, 4096, 4097, 6000])
@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("of", ["different", "equal", "mostly different", "many"])
def test_the_last_of_equal_indices_stays(driver, n, kind, of):
    size = 7000
    rng = np.random.default_rng(n)
    index = {
        "different": rng.permutation(size)[:n],
        "equal": np.full(n, 41),
        "mostly different": np.where(np.arange(n) % 1000 == 999, 5, rng.permutation(size)[:n]),
        "many": rng.integers(0, 50, n),
    }[of].astype(kind)
    index[::3] -= size
    values = np.arange(1, n + 1, dtype="i4")
    for shape, key in [
        ((size,), (index,)),
        ((size, 3), (index,)),
        ((2, size), (slice(None), index)),
        ((size, 2), (index, index % 2)),
    ]:
        host = np.zeros(shape, "i4")
        there = cupola.to_device(host)
        given = values[:, None] if shape == (size, 3) else values
        host[key] = given
        on_device = [cupola.to_device(k) if isinstance(k, np.ndarray) else k for k in key]
        there[tuple(on_device)] = cupola.to_device(given)
        same(there, host)


@pytest.mark.parametrize("n", [10, 5000])
@pytest.mark.parametrize("width", [1, 3, 70])
def test_writes_of_rows_skip_and_report_indices_out_of_range(driver, n, width):
    index = np.random.default_rng(n).integers(0, 30, n)
    index[3] = 30
    values = elements((n, width), "f4")
    host = np.zeros((30, width), "f4")
    there = cupola.to_device(host)
    right = np.arange(n) != 3
    host[index[right]] = values[right]
    there[cupola.to_device(index)] = cupola.to_device(values)
    reported("index 30 .* axis 0 with size 30")
    same(there, host)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["i1", "f4", "c16", PAIR])
@pytest.mark.parametrize("count", [3, 60])
def test_indices_along_each_axis(driver, axis, dtype, count):
    shape = [12, 9, 16]
    host = elements(tuple(shape), dtype)
    length, shape[axis] = shape[axis], count
    index = np.random.default_rng(axis).integers(-length, length, shape)
    for kind in ("i4", "i8"):
        for at in (index, index[:, :, ::-1]):
            placed = cupola.to_device(at.astype(kind))
            for there in (
                cupola.to_device(host),
                cupola.to_device(host.transpose(2, 0, 1)).transpose(1, 2, 0),
                cupola.to_device(np.repeat(host, 2, 1))[:, ::2],
            ):
                same(
                    cupola.take_along_axis(there, placed, axis), np.take_along_axis(host, at, axis)
                )
                values, changed = elements(tuple(shape), dtype, 5), host.copy()
                np.put_along_axis(changed, at, values, axis)
                cupola.put_along_axis(there, placed, cupola.to_device(values), axis)
                same(there, changed)


def test_indices_along_an_axis_that_are_out_of_range(driver):
    x = cupola.zeros((50, 100), "i4")
    index = np.tile(np.arange(100), (50, 1))
    index[7, 9] = 100
    values = np.arange(5000, dtype="i4").reshape(50, 100) + 1
    cupola.put_along_axis(x, cupola.to_device(index), cupola.to_device(values), 1)
    reported("put_along_axis: index 100 .* axis 1 with size 100")
    values[7, 9] = 0
    same(x, values)
    got = cupola.take_along_axis(x, cupola.to_device(index), 1)
    reported("take_along_axis: index 100 .* axis 1 with size 100")
    values[7, 9] = values[7, 0]
    same(got, values)


@pytest.mark.parametrize("width", [2, 3, 5, 63, 64, 65, 1025, 4100])
def test_rows_of_any_width_and_alignment(driver, width):
    host = elements((9, width + 3), "i1")
    index = np.array([8, -9, 3, 3, 0], "i4")
    there = cupola.to_device(host)
    for first in (0, 1):
        rows, of = there[:, first : first + width], host[:, first : first + width]
        same(cupola.take(rows, cupola.to_device(index), axis=0), of[index])
        same(rows[:, ::2][cupola.to_device(index)], of[:, ::2][index])
        same(rows.T[:, cupola.to_device(index)], of.T[:, index])
        changed, values = host.copy(), elements((5, width), "i1", 4)
        written = there.copy()
        changed[index, first : first + width] = values
        written[:, first : first + width][cupola.to_device(index)] = cupola.to_device(values)
        same(written, changed)


@pytest.mark.parametrize("place", [cupola.to_device, np.asarray])
def test_masks_with_arrays_of_indices_name_elements_twice(driver, place):
    mask = np.arange(6) % 2 == 0
    values = np.arange(1, 6001, dtype="f4")
    for key in (
        (mask, np.array([1, 1, 1])), (np.array([1, 1, 1]), mask), (mask, np.array([[0], [0]])),
        (mask,), (mask[:, None] & mask,), (slice(None), mask),
    ):  # fmt: skip
        host = np.zeros((6, 6), "f4")
        there = cupola.to_device(host)
        given = values[: host[key].size].reshape(host[key].shape)
        host[key] = given
        there[tuple([place(k) if isinstance(k, np.ndarray) else k for k in key])] = (
            cupola.to_device(given)
        )
        same(there, host)


def test_an_array_is_read_before_it_is_written(driver):
    host = np.arange(1000)
    there = cupola.to_device(host)
    index = np.random.default_rng(2).permutation(1000)
    there[cupola.to_device(index)] = there
    host[index] = host.copy()
    same(there, host)


def test_indices_are_read_before_they_are_written(driver):
    n = 1000
    host = np.random.default_rng(3).permutation(n)
    for values in (host[::-1], 5):
        for write in (lambda x, index, v: x.__setitem__(index, v), np.put):
            x, expected = cupola.to_device(host), host.copy()
            write(x, x, cupola.to_device(values) if isinstance(values, np.ndarray) else values)
            expected[host] = values
            same(x, expected)
    pairs = np.stack([host, host[::-1]])
    x, expected = cupola.to_device(pairs), pairs.copy()
    x[1, x[1]] = x[0]
    expected[1, pairs[1]] = pairs[0]
    same(x, expected)


def test_a_mask_is_read_before_it_is_written(driver):
    host = np.random.default_rng(3).random((50, 50)) > 0.5
    for value in (False, True):
        x, expected = cupola.to_device(host), host.copy()
        x[x[0]] = value
        expected[host[0]] = value
        same(x, expected)
    x, expected = cupola.to_device(host.ravel()), host.flatten()
    x[1:][x[:-1]] = True
    expected[1:] |= host.ravel()[:-1]
    same(x, expected)
    x = cupola.to_device(host)
    x[x] = x[0, 0]
    same(x, host & host[0, 0])


@pytest.mark.parametrize("place", [cupola.to_device, np.asarray])
def test_an_int_between_an_ellipsis_and_a_mask_of_two_axes(driver, place):
    host = elements((5, 3, 2, 2), "f4")
    there = cupola.to_device(host)
    mask = np.array([[True, False], [True, True]])
    for at in (2, -3):
        same(there[..., at, place(mask)], host[..., at, mask])
        there[..., at, place(mask)] = 7
        host[..., at, mask] = 7
        same(there, host)
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        there[..., 3, place(mask)]


def test_values_are_cast_by_the_rule_same_kind(driver):
    there, index = cupola.zeros(5, "f4"), cupola.array([1, 3])
    there[index] = cupola.array([1, 2], "i8")
    same(there, np.array([0, 1, 0, 2, 0], "f4"))
    for values in (cupola.array([1.5, 2]), np.array([1.5, 2])):
        with refused(cupola.ArgumentError, TypeError, saying="float64"):
            cupola.zeros(5, "i4")[index] = values


@pytest.mark.parametrize("place", [cupola.to_device, np.asarray])
def test_indices_of_64_bits_without_a_sign(driver, place):
    host = elements((5, 4), "f4")
    there = cupola.to_device(host)
    index = np.array([3, 0, 3], "u8")
    same(cupola.take(there, place(index), axis=0), host.take(index, axis=0))
    along = np.argsort(host, axis=1).astype("u8")
    same(cupola.take_along_axis(there, place(along), 1), np.take_along_axis(host, along, 1))
    with refused(cupola.ArgumentError, TypeError, saying="expected integers, got float32"):
        cupola.take(there, place(index.astype("f4")))


@pytest.mark.parametrize("place", [cupola.to_device, np.asarray, list])
def test_an_index_out_of_range_is_named(driver, place):
    there = cupola.zeros((3, 4))
    for wrong, found in ([[0, 3, 9], "[39]"], [[-4], -4], [[[7, 1]], 7]):
        with pytest.raises(IndexError, match=rf"index {found} .* axis 0 with size 3"):
            there[place(wrong)].get()
    with pytest.raises(IndexError, match=r"index 4 .* axis 1 with size 4"):
        there[:, place([4])] = 1
        cupola.Device().synchronize()
    same(there, np.zeros((3, 4)))
    with pytest.raises(IndexError, match="size 0"):
        cupola.zeros((0, 2))[place([0])]


def test_wrong_keys_and_values(driver):
    there = cupola.zeros((3, 4))
    for wrong in (
        (cupola.array([0, 1]), cupola.array([0, 1, 2])), cupola.array([True, False]),
        np.ones((3, 5), bool), (0, 0, [0]), (..., [0], ...),
    ):  # fmt: skip
        with pytest.raises(IndexError):
            there[wrong]
        with pytest.raises(IndexError):
            there[wrong] = 0
    for wrong in (1.0, [0.5], cupola.array([1.0]), "S", np.array(["a"]), [[0], [0, 1]]):
        with refused(cupola.ArgumentError):
            there[wrong]
    with refused(cupola.ArgumentError, ValueError, saying=("(3,)", "(2, 4)")):
        there[cupola.array([0, 1])] = cupola.zeros(3)
    alone = cupola.Array.from_address(there.ptr, (3,), owner=there, readonly=True)
    with refused(cupola.ArgumentError, ValueError, saying="read-only"):
        alone[[0]] = 1
    same(alone[[0, 2]], np.zeros(2))


@quickly
@given(data=st.data())
def test_take(driver, data):
    host, there = data.draw(arrays())
    axis = data.draw(st.one_of(st.none(), st.integers(-host.ndim, host.ndim - 1)))
    length = host.size if axis is None else host.shape[axis]
    mode = data.draw(st.sampled_from(["raise", "wrap", "clip"] if length else ["raise"]))
    most = min(127, 3 * length if mode != "raise" else length - 1)  # an int8's
    shape = tuple(data.draw(st.lists(st.integers(0, 3), max_size=2))) if length else (0,)
    numbers = st.integers(-most - 1 if mode == "raise" else -most, max(most, 0))
    index = np.array(
        [data.draw(numbers) for _ in range(int(np.prod(shape)))],
        data.draw(st.sampled_from(INDEX_TYPES[:3])),
    ).reshape(shape)
    placed = cupola.to_device(index) if data.draw(st.booleans()) else index
    expected = np.take(host, index, axis, mode=mode)
    same(np.take(there, placed, axis, mode=mode), expected)
    out = cupola.to_device(np.zeros_like(expected))
    assert cupola.take(there, placed, axis, out, mode) is out
    same(out, expected)
    flat = host.copy()
    values = elements((data.draw(st.integers(0, 5)),), host.dtype, 5)
    if axis is None and values.size:
        np.put(flat, index, values, mode)
        np.put(there, placed, cupola.to_device(values), mode)
        same(there, flat)


@quickly
@given(data=st.data())
def test_take_and_put_along_an_axis(driver, data):
    host, there = data.draw(arrays(["f4", "i8", PAIR], 3))
    axis = data.draw(st.one_of(st.none(), st.integers(-host.ndim, host.ndim - 1)))
    flat = host.reshape(-1) if axis is None else host
    along = 0 if axis is None else axis
    length = flat.shape[along]
    shape = list(flat.shape)
    shape[along] = data.draw(st.integers(0, 4)) if length else 0
    shape = [1 if n and k != along % flat.ndim and data.draw(st.integers(0, 5)) == 0 else n
             for k, n in enumerate(shape)]  # fmt: skip
    index = np.random.default_rng(3).integers(-length, max(length, 1), shape)
    placed = cupola.to_device(index) if data.draw(st.booleans()) else index
    expected = np.take_along_axis(host, index, axis)
    same(np.take_along_axis(there, placed, axis), expected)
    values, changed = elements(expected.shape, host.dtype, 6), host.copy()
    np.put_along_axis(changed, index, values, axis)
    np.put_along_axis(there, placed, cupola.to_device(values), axis)
    same(there, changed)


def test_wrong_arguments_of_take_and_put(driver):
    x = cupola.zeros((3, 4))
    for call, words in [
        (lambda: cupola.take(x, [0], 2), "take: argument axis: 2"),
        (lambda: cupola.take(x, [0], mode="wrong"), "take: argument mode is"),
        (lambda: cupola.take(x, [0.5]), "take: argument indices"),
        (lambda: cupola.take(x, np.zeros(2, "f2")), "float16"),
        (lambda: cupola.take(np.zeros(3), cupola.array([1])), "cupola.to_device(a)"),
        (lambda: cupola.take(x, [0], 0, out=cupola.zeros(4)), "take: argument out has the shape"),
        (lambda: cupola.take(x, [0], 0, out=np.zeros((1, 4))), "take: argument out"),
        (lambda: cupola.put(np.zeros(3), [0], 1), "put: argument a"),
        (lambda: cupola.take_along_axis(x, [0], 0), "argument indices has 1 axes"),
        (lambda: cupola.put_along_axis(x, [[0] * 5], 1, 0), "argument indices has the shape"),
    ]:
        with refused(cupola.ArgumentError, saying=words):
            call()
    with pytest.raises(IndexError, match="take: index 12 "):
        cupola.take(x, cupola.array([0, 12])).get()
    with pytest.raises(IndexError, match="put: index -13 "):
        cupola.put(x, [-13], 1)
    for place in (np.array, cupola.array):
        with pytest.raises(IndexError):
            cupola.take(cupola.zeros(0), place([1]), mode="clip")


def test_graphs_index_by_arrays(driver):
    stream = cupola.Stream()
    x, index = cupola.array(np.arange(10.0)), cupola.array([1, 2])
    with stream.capture() as graph:
        wrapped = cupola.take(x, cupola.array([1, 12]), mode="wrap")
        x[[0, 0]] = cupola.take(x, [3, 4])
        x[index] = -1.0
    made = graph.instantiate()
    x.set(np.arange(10.0) * 2)
    made.launch()
    same(wrapped, np.array([2.0, 4.0]))
    same(x[:4], np.array([8.0, -1, -1, 6]))


def test_a_captured_read_reports_an_index_after_each_launch(driver):
    stream = cupola.Stream()
    x, index = cupola.array(np.arange(10.0)), cupola.array([1, 12])
    with stream.capture() as graph:
        made = x[index]
    launch = graph.instantiate()
    for _ in range(2):
        launch.launch(stream)
        with pytest.raises(IndexError, match="index 12 is out of bounds for axis 0 with size 10"):
            stream.synchronize()
    index.set([1, 2])
    launch.launch(stream)
    same(made, np.array([1.0, 2.0]))


@pytest.mark.parametrize("wait", ["stream", "device", "event", "item"])
def test_each_wait_raises_the_error_of_a_device_index_once(driver, wait):
    x, y = cupola.array(np.arange(6.0).reshape(2, 3)), cupola.zeros(())
    reads = [
        (lambda: x[cupola.array([0, 2])], "axis 0 with size 2"),
        (lambda: x[cupola.array([1]), cupola.array([-4])], "axis 1 with size 3"),
        (lambda: cupola.take(x, cupola.array([6])), "take: index 6 .* axis 0 with size 6"),
        (lambda: cupola.take(x, cupola.array([3]), 1), "take: index 3 .* axis 1 with size 3"),
        (
            lambda: cupola.take_along_axis(x, cupola.array([[3], [0]]), 1),
            "take_along_axis: index 3",
        ),
    ]
    event = cupola.Event()
    waits = {
        "stream": cupola.Stream.current().synchronize,
        "device": cupola.Device().synchronize,
        "event": event.synchronize,
        "item": y.item,
    }
    for read, words in reads:
        for _ in range(4):  # later calls have a plan
            read()
            event.record()
            with pytest.raises(IndexError, match=words):
                waits[wait]()
            waits[wait]()


def reported(words):
    """Expect the error of an index at the next wait."""
    with pytest.raises(IndexError, match=words):
        cupola.Device().synchronize()


@pytest.mark.parametrize("several", [False, True])
def test_writes_skip_an_index_out_of_range_and_report_it(driver, several):
    values = cupola.array([5.0, 6, 7]) if several else 5.0
    last = 7.0 if several else 5.0
    wrong = cupola.array([1, 7, 0], "i4")
    for _ in range(4):  # later calls have a plan
        x = cupola.zeros(6)
        x[wrong] = values
        reported(r"index 7 .* axis 0 with size 6")
        same(x, np.array([last, 5, 0, 0, 0, 0]))
        x = cupola.zeros((3, 2))
        cupola.put(x, wrong, values)
        reported(r"put: index 7 .* axis 0 with size 6")
        same(x, np.array([[last, 5], [0, 0], [0, 0]]))
        x.fill(0)
        x[cupola.array([0, 3, 2]), cupola.array([0, 0, -2])] = values
        reported(r"index 3 .* axis 0 with size 3")
        same(x, np.array([[5.0, 0], [0, 0], [last, 0]]))
        x.fill(0)
        cupola.put_along_axis(x, cupola.array([[1], [2], [0]]), 4.0, 1)
        reported(r"put_along_axis: index 2 .* axis 1 with size 2")
        same(x, np.array([[0.0, 4], [0, 0], [4, 0]]))


def test_indices_of_an_axis_without_elements_are_refused_at_once(driver):
    with pytest.raises(IndexError, match="axis 0 with size 0"):
        cupola.zeros((0, 2))[cupola.array([0])]
    cupola.zeros((3, 0))[cupola.array([3])]
    reported(r"index 3 .* axis 0 with size 3")


@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_gathers_of_each_word_of_any_length_and_alignment(driver, kind, size):
    rng = np.random.default_rng(size)
    host = rng.integers(0, 255, (1000, size), np.uint8).view(f"V{size}").reshape(-1)
    there = cupola.to_device(host)
    for n in (1, 3, 4, 5, 8, 2049, 70001):
        places = rng.integers(-1000, 1000, n + 1).astype(kind)
        on_device = cupola.to_device(places)
        for first in (0, 1):  # the second begins apart from 16 bytes
            got = cupola.take(there, on_device[first : first + n])
            assert got.get().tobytes() == host[places[first : first + n]].tobytes()


def test_an_index_without_axes_stays_on_the_device(driver):
    here = np.arange(12).reshape(3, 4)
    there, one = cupola.to_device(here), cupola.to_device(np.array(1))
    for got, expected in (
        (there[one], here[1]),
        (there[one, 2], here[1, 2]),
        (there[:, one], here[:, 1]),
        (there[one, cupola.to_device(np.array([0, 3]))], here[1, [0, 3]]),
    ):
        np.testing.assert_array_equal(got.get(), expected)
    there[one] = 7
    assert (there.get()[1] == 7).all()
