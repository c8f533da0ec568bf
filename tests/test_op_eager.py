"""Calls like a call before, which do not go through Python."""

import contextlib

import numpy as np
import operations
import pytest
from test_op import made
from working import refused

import cupola
from cupola.eager_call import UNKNOWN

N = np.arange(35, dtype=np.float32).reshape(5, 7)


@pytest.fixture
def u(driver):
    return cupola.to_device(N)


def known(operation, *args, **kwargs):
    """The results of a call that goes past Python; the first one teaches it."""
    operation(*args, **kwargs)
    found = operation.eager.call(args, kwargs)
    assert found is not UNKNOWN
    return found


def unknown(operation, *args, **kwargs):
    """Whether Python makes the call, also the second time."""
    with contextlib.suppress(cupola.Error):
        operation(*args, **kwargs)
    return operation.eager.call(args, kwargs) is UNKNOWN


def test_results(u):
    step = made(operations.PLANE)
    assert step.eager.call((u,), {}) is UNKNOWN
    v = known(step, u)
    assert type(v) is cupola.Array and v.dtype == u.dtype and (v.get() == 2 * N).all()
    assert (step.eager.call((), {"alpha": 3, "u": u}).get() == 3 * N).all()
    assert (step.eager.call((u, 2.5), {"out": None, "stream": None}).get() == 2.5 * N).all()
    out = cupola.zeros((5, 7), "f4")
    assert step.eager.call((u, 4), {"out": out}) is out and (out.get() == 4 * N).all()
    assert step.eager.call((u, 5), {"out": (out,)}) is out and (out.get() == 5 * N).all()


def test_each_shape_and_type_is_learned(u):
    step = made(operations.PLANE)
    step(u)
    assert step.eager.call((u[:3],), {}) is UNKNOWN
    assert step.eager.call((u.astype("f8"),), {}) is UNKNOWN
    assert (known(step, u[:3]).get() == 2 * N[:3]).all()
    assert known(step, u.astype("f8")).dtype == np.float64


def test_several_outputs_workspaces_and_integers(driver):
    a = cupola.to_device(np.arange(4, dtype=np.float32))
    both = made(operations.BOTH)
    results = known(both, a, cupola.ones(4, "f4"))
    assert [one.get().tolist() for one in results] == [[1, 2, 3, 4], [-1, 0, 1, 2]]
    out = tuple(cupola.zeros(4, "f4") for _ in range(2))
    assert known(both, a, cupola.ones(4, "f4"), out=out) == out
    assert out[0].get().tolist() == [1, 2, 3, 4]
    accumulate = made(operations.ACCUMULATE)
    cache, x = cupola.zeros(100, "f4"), cupola.to_device(np.arange(100, dtype=np.float32))
    assert known(accumulate, cache, x).get().tolist() == [4950]
    assert (cache.get() == 2 * x.get()).all()
    assert accumulate.eager.call((cache, x, 32), {}) is UNKNOWN  # the call needs another workspace
    assert known(accumulate, cache, x, most=32).get().tolist() == [4950]


def test_optional_inputs_and_broadcasts(driver):
    weigh = made(operations.WEIGH)
    x, w = np.arange(12, dtype=np.float32).reshape(2, 6), np.arange(6, dtype=np.float32)
    there = [cupola.to_device(one) for one in (x, w, w)]
    assert (known(weigh, *there).get() == x * w + w).all()
    assert weigh.eager.call((*there[:2], None), {}) is UNKNOWN
    assert (known(weigh, *there[:2]).get() == x * w).all()
    assert (known(weigh, there[0], there[1][1:2]).get() == x).all()


def test_an_operation_without_outputs(driver):
    table = dict(operations.NUMBER, inputs={"x": "float32[n]", "y": "float32[n]"}, outputs={})
    number = made({**table, "mutates": ["y"]})
    y = cupola.zeros(5, "f4")
    assert known(number, cupola.ones(5, "f4"), y) is None
    assert y.get().tolist() == [1] * 5


def test_a_size_of_zero(driver):
    assert known(made(operations.PLANE), cupola.empty((0, 7), "f4")).shape == (0, 7)


def test_strides(u):
    step = made(operations.PLANE)
    assert unknown(step, u.T)  # the transposed array is copied each time
    weigh = made(
        operations.WEIGH,
        inputs={"x": "float32[rows, n]", "w": "float32[n]", "bias": "float32[n]?"},
        outputs={"y": "float32[rows, n]"},
        strided=["x"],
        arguments=["x", "w", "bias", "y", "rows", "n", "stride(x, 0)", "stride(x, 1)", "1"],
    )
    assert (known(weigh, u.T, cupola.ones(5, "f4")).get() == N.T).all()


def test_alignment(driver):
    step = made(operations.PLANE, align=64)
    u = cupola.ones((3, 32), "f4")
    known(step, u[1:2])
    assert unknown(step, u[1:2, 1:]) and unknown(step, cupola.ones(33, "f4")[1:].reshape(1, 32))
    assert unknown(made(operations.PLANE, align=4096), u)


def test_streams(u):
    step = made(operations.PLANE)
    step(u)
    stream, big = cupola.Stream(), cupola.ones((700, 700), "f4")
    step(big)
    for _ in range(10):
        big = known(step, big, 1.0, stream=stream)
    stream.synchronize()
    assert (big.get() == 1).all()
    with cupola.Stream() as current:
        v = known(step, u)
    current.synchronize()
    assert (v.get() == 2 * N).all()


def test_what_python_has_to_handle(u):
    step = made(operations.PLANE)
    step(u)
    assert unknown(step, u, np.float32(3))
    assert unknown(step, u, "3") and unknown(step, u, 3, alpha=3) and unknown(step, u, 3, 4)
    assert unknown(step) and unknown(step, None) and unknown(step, 7) and unknown(step, N)
    assert unknown(step, u, nothing=None) and unknown(step, u, nothing=1)
    assert unknown(step, u, device=0) and unknown(step, u, stream=7)
    assert unknown(step, u, out=()) and unknown(step, u, out=(u, u)) and unknown(step, u, out=N)
    both = made(operations.BOTH)
    assert unknown(both, u[0], N[0]) and unknown(both, u[0])
    accumulate = made(operations.ACCUMULATE)
    accumulate(u[0], u[1])
    assert unknown(accumulate, u[0], u[1], True) and unknown(accumulate, u[0], u[1], 1 << 70)
    assert unknown(accumulate, u[0], u[1], 3.0)


def test_calls_by_position_and_by_name(u):
    step = made(operations.PLANE, "heat.step")
    for _ in range(3):  # the first is general, the second prepares the third
        assert (step(u, 3).get() == 3 * N).all()
        assert (step(alpha=3, u=u).get() == 3 * N).all()
        assert (step(*(u,), **{"".join(["al", "pha"]): 3}).get() == 3 * N).all()
        assert (step.__call__(u, 3).get() == 3 * N).all()
        out = cupola.zeros((5, 7), "f4")
        assert step(u, 3, out=out) is out and (out.get() == 3 * N).all()
        with refused(cupola.ArgumentTypeError, saying="u is missing"):
            step()
        with refused(cupola.ArgumentTypeError, saying="takes 2 arguments, got 3"):
            step(u, 3, 4)
    never_initialized = type(step).__new__(type(step))
    with pytest.raises(AttributeError):
        never_initialized(u)


def test_inputs_with_the_names_of_options(u):
    table = dict(operations.BOTH, inputs={"out": "float32[n]", "stream": "float32[n]"})
    both = made({**table, "arguments": ["out", "stream", "sum", "difference", "n"]})
    for _ in range(3):
        total, rest = both(stream=u[0], out=u[1])
        assert (total.get() == N[0] + N[1]).all() and (rest.get() == N[1] - N[0]).all()
        with refused(cupola.ArgumentTypeError, saying="stream is missing"):
            both(u[0])


def test_memory_of_another_stream(u):
    step = made(operations.PLANE)
    stream = cupola.Stream()
    with stream:
        other = cupola.to_device(N)
    for _ in range(50):
        stream.synchronize()
        assert (step(other).get() == 2 * N).all()
        results = [step(other, 1.5, stream=stream) for _ in range(3)]
        stream.synchronize()
        assert all((one.get() == 1.5 * N).all() for one in results)


def test_errors(u):
    step = made(operations.PLANE, "heat.step")
    for _ in range(3):
        step(u, out=cupola.zeros((5, 7), "f4"))
    with refused(cupola.ArgumentValueError, saying=["heat.step", "overlaps"]):
        step.eager.call((u,), {"out": u})
    with refused(cupola.ArgumentValueError, saying="output v"):
        step.eager.call((u,), {"out": cupola.zeros((5, 8), "f4")})
    with refused(cupola.ArgumentTypeError, saying="output v"):
        step.eager.call((u,), {"out": cupola.zeros((5, 7), "f8")})
    with refused(cupola.ArgumentValueError, saying=["heat.step: ", "out of its range"]):
        step.eager.call((u, 1e300), {})
    u.free()
    assert step.eager.call((u,), {}) is UNKNOWN
    with refused(cupola.ArgumentValueError, saying="freed"):
        step(u)


def test_the_plans_are_few(driver):
    copy = made(operations.COPY)
    row = cupola.zeros(700, "u1")
    for length in range(1, 700):
        copy(row[:length])
        assert len(copy.eager) <= 256
    assert copy.eager.call((row[:699],), {}) is not UNKNOWN
