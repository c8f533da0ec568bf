"""Repeated calls of algorithms: a plan queues the same work for other arrays."""

import gc
import sys
import threading

import numpy as np
import pytest
from test_driver import good
from wrapped import wrap

import cupola
from cupola.arrays.planned_call import PlannedCalls
from cupola.arrays.plans import planned

N = 60
CALLS = {
    "where": lambda np, a: np.where(a["x"] > 0.5, a["x"], 0),
    "where of arrays": lambda np, a: np.where(a["mask"], a["x"], a["y"]),
    "take": lambda np, a: np.take(a["x"], a["index"]),
    "x[index]": lambda np, a: a["x"][a["index"]],
    "m[:, index]": lambda np, a: a["m"][:, a["columns"]],
    "take_along_axis": lambda np, a: np.take_along_axis(a["m"], a["places"], 1),
    "x[index] = y": lambda np, a: assigned(a["x"], a["permutation"], a["y"]),
    "x[index] = number": lambda np, a: assigned(a["x"], a["index"], 0),
    "x[mask] = number": lambda np, a: assigned(a["x"], a["mask"], 2.5),
    "x[mask]": lambda np, a: a["x"][a["mask"]],
    "nonzero": lambda np, a: np.nonzero(a["mask"])[0],
    "unique": lambda np, a: np.unique(a["index"]),
    "std": lambda np, a: a["m"].std(axis=1),
    "var": lambda np, a: np.var(a["m"], axis=0, ddof=1, keepdims=True),
    "cumsum": lambda np, a: np.cumsum(a["m"], axis=0),
    "sort": lambda np, a: np.sort(a["m"], axis=0),
    "argsort": lambda np, a: np.argsort(a["x"], kind="stable"),
    "percentile": lambda np, a: np.percentile(a["x"], [5, 50]),
    "median": lambda np, a: np.median(a["m"], axis=1),
    "concatenate": lambda np, a: np.concatenate([a["x"], a["y"], a["x"]]),
    "stack": lambda np, a: np.stack([a["x"], a["y"]], axis=1),
    "repeat": lambda np, a: np.repeat(a["x"], 3),
    "roll": lambda np, a: np.roll(a["m"], 2, axis=1),
    "flip": lambda np, a: np.flip(a["m"], 1),
    "tile": lambda np, a: np.tile(a["x"], (2, 3)),
    "matmul": lambda np, a: a["m"] @ a["m"].T,
    "outer": lambda np, a: np.outer(a["x"], a["y"]),
    "searchsorted": lambda np, a: np.searchsorted(a["order"], a["x"]),
    "clip": lambda np, a: np.clip(a["x"], 0.25, np.float32(0.75)),
    "diff": lambda np, a: np.diff(a["x"], 2),
    "tril": lambda np, a: np.tril(a["m"], -1),
    "isclose": lambda np, a: np.isclose(a["x"], a["y"], atol=0.1),
    "of a view": lambda np, a: np.cumsum(a["x"][7:50:3]),
}


def assigned(x, key, value):
    made = x.copy()
    made[key] = value
    return made


def operands(seed):
    rng = np.random.default_rng(seed)
    return {
        "x": rng.random(N, np.float32),
        "y": rng.random(N, np.float32),
        "m": rng.random((6, 10), np.float32),
        "mask": rng.random(N) > 0.5,
        "index": rng.integers(-N, N, N).astype(np.int32),
        "permutation": rng.permutation(N).astype(np.int32),
        "columns": rng.integers(0, 10, 4),
        "places": rng.integers(0, 10, (6, 3)),
        "order": np.sort(rng.random(N, np.float32)),
    }


@pytest.mark.parametrize("name", CALLS)
def test_repeated_calls_use_their_own_arrays(driver, name):
    for seed in range(5):
        host = operands(seed)
        there = {key: cupola.to_device(value) for key, value in host.items()}
        kept = {key: value.copy() for key, value in there.items()}
        expected = CALLS[name](np, host)
        for _ in range(2):
            got = CALLS[name](np, there)
            assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(got.get(), expected, rtol=1e-4, atol=1e-6)
        for key, value in there.items():
            np.testing.assert_array_equal(value.get(), kept[key].get())


def counted(function):
    """The function's calls, and how often its code ran."""
    ran = []

    def call(*args, **kwargs):
        ran.append(1)
        return function(*args, **kwargs)

    calls = PlannedCalls(call)
    return (lambda *args, **kwargs: calls.call(args, kwargs)), ran, calls


def test_the_code_runs_three_times_for_a_form(driver):
    call, ran, calls = counted(lambda x, factor=1.0: x * factor + x)
    for number in range(6):
        x = cupola.array(np.arange(8.0) + number)
        np.testing.assert_array_equal(call(x, factor=2.0).get(), 3 * (np.arange(8.0) + number))
    assert len(ran) == 3  # a call, a recorded call, and the work once more for the addresses
    assert len(calls) == 1
    for x in (cupola.zeros(9), cupola.zeros(8, np.float32), cupola.zeros(16)[::2]):
        call(x, factor=2.0)
    call(cupola.zeros(8), factor=3.0)
    assert len(ran) == 7  # other forms


def test_work_that_depends_on_elements_has_no_plan(driver):
    def by_sum(x):
        return x + 1 if x.sum().item() > 0 else x - 1

    def uploaded(x):
        return x + cupola.to_device(np.arange(4.0))

    def waiting(x):
        cupola.Stream.current().synchronize()
        return x + 1

    for function in (by_sum, uploaded, waiting):
        call, ran, calls = counted(function)
        for value in (1.0, -1.0, 1.0, -1.0, 2.0):
            x = cupola.full(4, value)
            np.testing.assert_array_equal(call(x).get(), function(x).get())
        assert (len(ran), len(calls)) == (5, 0)


def test_an_address_in_a_number_has_no_plan(driver):
    """A number that moves with an array is no address of it."""
    call, ran, calls = counted(
        lambda x: cupola.full(1, x.ptr >> 3, np.int64, device=x.device_index)
    )
    for _ in range(4):
        x = cupola.zeros(16)
        assert call(x).item() == x.ptr >> 3
    assert (len(ran), len(calls)) == (5, 0)


def test_overlapping_and_foreign_operands_run_the_code(driver):
    call, ran, _ = counted(lambda x, y: np.add(x, y, out=y))
    for _ in range(4):
        x = cupola.array(np.arange(9.0))
        call(x[:-1], x[1:])
        np.testing.assert_array_equal(x.get()[1:], np.arange(8.0) + np.arange(1.0, 9))
    assert len(ran) == 4
    one = cupola.array(np.arange(3.0))
    for _ in range(4):  # the same array twice is a form of its own
        call(one, one)
    np.testing.assert_array_equal(one.get(), np.arange(3.0) * 16)


def test_results_are_operands_views_and_tuples(driver):
    call, ran, _ = counted(lambda x, out: (np.add(x, 1, out=out), x[::2], (x + 2)[1:], x))
    for number in range(5):
        x, out = cupola.array(np.arange(6.0) + number), cupola.empty(6)
        first, part, made, same = call(x, out)
        assert first is out
        assert same is x
        x.fill(7)
        np.testing.assert_array_equal(out.get(), np.arange(6.0) + number + 1)
        np.testing.assert_array_equal(part.get(), [7, 7, 7])
        np.testing.assert_array_equal(made.get(), np.arange(1, 6.0) + number + 2)
    assert len(ran) == 3


def test_a_freed_or_read_only_operand_is_refused_as_before(driver):
    add = planned(lambda x, out: np.add(x, 1, out=out))
    x, out = cupola.zeros(3), cupola.zeros(3)
    for _ in range(4):
        add(x, out)
    fixed = cupola.Array.from_address(out.ptr, 3, owner=out, readonly=True)
    with pytest.raises(cupola.ArgumentError, match="read-only"):
        add(x, fixed)
    x.free()
    with pytest.raises(cupola.ArgumentError, match="freed"):
        add(x, out)


def test_captures_take_the_code(driver):
    stream, x = cupola.Stream(), cupola.array(np.arange(8.0))
    double = planned(lambda x: x + x)
    for _ in range(3):
        double(x)
    with stream.capture() as graph:
        made = double(x)
    x.set(np.arange(8.0) + 1)
    graph.instantiate().launch(stream)
    np.testing.assert_array_equal(made.get(), 2 * (np.arange(8.0) + 1))


def test_streams_and_nested_plans(driver):
    inner = planned(lambda x: x * 2)
    outer, ran, calls = counted(lambda x: inner(x) + inner(x))
    for number in range(6):
        with cupola.Stream():
            x = cupola.full(5, float(number))
            assert (outer(x).get() == 4 * number).all()
    assert (len(ran), len(calls)) == (3, 1)


def test_an_error_of_the_code_is_raised_and_not_planned(driver):
    def refusing(x):
        raise ValueError("no")

    call, ran, calls = counted(refusing)
    for _ in range(4):
        with pytest.raises(ValueError, match="no"):
            call(cupola.zeros(2))
    assert (len(ran), len(calls)) == (4, 0)


def test_plans_are_bounded_and_hold_no_memory(driver):
    call, _, calls = counted(lambda x, n: x + n)
    x = cupola.zeros(4)
    for n in range(300):
        for _ in range(2):
            call(x, n)
    assert len(calls) <= 256
    before = sys.getrefcount(x)
    for _ in range(4):
        call(x, 1)
    assert sys.getrefcount(x) == before
    assert gc.is_tracked(calls)  # plans hold texts and types, which may be part of a cycle


# A pool whose memory begins where the memory before ends.
DENSE = """
static int my_cuMemAllocFromPoolAsync(unsigned long long* out, size_t bytes, void* pool,
                                      void* stream) {
    static unsigned long long next, end;
    if (!next) {
        if (real("cuMemAlloc_v2")(&next, (size_t)1 << 22)) return 2;
        end = next + (1 << 22);
    }
    *out = next;
    next += (bytes + 511) / 512 * 512;
    return next > end ? 2 : 0;
}
static int my_cuMemFreeAsync(unsigned long long memory, void* stream) { return 0; }
"""


@pytest.mark.cpu_only("the CPU device stands for a driver with dense memory")
def test_memory_that_begins_where_other_memory_ends(tmp_path):
    dense = wrap(tmp_path, DENSE, replace=["cuMemAllocFromPoolAsync", "cuMemFreeAsync"])
    code = """
    import numpy as np, cupola
    from cupola.arrays.planned_call import PlannedCalls
    calls = PlannedCalls(lambda x: (x + 1) * 2)
    kept, fixed = [], []
    for number in range(6):
        here = np.arange(128, dtype=np.float32) + number
        x = cupola.to_device(here)
        if number < 2:  # no memory is left to be used again
            fixed += [cupola.full(128, 7, np.float32) for _ in range(8)]
        kept.append(calls.call((x,), {}))
        np.testing.assert_array_equal(kept[-1].get(), (here + 1) * 2)
    assert all((one.get() == 7).all() for one in fixed)
    assert len(calls) == 1
    """
    good(code, CUPOLA_DRIVER=dense)


def test_threads_share_plans(driver):
    call, _, calls = counted(lambda x, y: np.where(x > y, x, y))
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        with cupola.Stream():
            for _ in range(20):
                x, y = rng.random(33), rng.random(33)
                got = call(cupola.to_device(x), cupola.to_device(y)).get()
                if (got != np.maximum(x, y)).any():
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(calls) == 1
