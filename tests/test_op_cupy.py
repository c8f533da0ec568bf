"""Operations on CuPy's arrays: from its pool, on its current stream."""

import operations
import pytest
from test_interchange import peer
from test_op import made
from working import refused

import cupola
from cupola.eager_call import UNKNOWN

pytestmark = pytest.mark.cuda_only("CuPy needs NVIDIA's driver")


@pytest.fixture
def cupy(driver):
    return peer("cupy")


def test_cupy_in_cupy_out(cupy):
    step = made(operations.PLANE)
    u = cupy.arange(35, dtype=cupy.float32).reshape(5, 7)
    v = step(u, 3)
    assert isinstance(v, cupy.ndarray) and (v == 3 * u).all()
    assert (step(u.T, 3) == 3 * u.T).all()
    assert step(u, 2, out=v) is v and (v == 2 * u).all()


def test_a_call_like_one_before(cupy):
    step = made(operations.PLANE)
    u = cupy.arange(35, dtype=cupy.float32).reshape(5, 7)
    step(u)
    v = step.eager.call((u, 3), {})
    if int(cupy.__version__.split(".")[0]) < 14:
        assert v is UNKNOWN
        return
    assert isinstance(v, cupy.ndarray) and (v == 3 * u).all()
    assert step.eager.call((u, 4), {"out": v}) is v and (v == 4 * u).all()
    step(u.T)
    assert step.eager.call((u.T,), {}) is UNKNOWN  # the transposed array is copied each time


def test_on_cupys_stream(cupy):
    step = made(operations.PLANE)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        u = cupy.ones((2000, 2000), cupy.float32)
        for _ in range(20):
            u = step(u, 1.5)
    stream.synchronize()
    assert (u == 1.5**20).all()


def test_refused(cupy):
    step = made(operations.PLANE)
    u = cupy.ones((2, 2), cupy.float32)
    with refused(cupola.ArgumentTypeError, saying="CuPy's current stream"):
        step(u, stream=cupola.Stream())
    with refused(cupola.ArgumentTypeError, saying="argument b: expected a cupy.ndarray"):
        made(operations.BOTH)(u[0], cupola.zeros(2, "f4"))
    with refused(cupola.ArgumentValueError, saying="overlaps"):
        step(u, out=u)
