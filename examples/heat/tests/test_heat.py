# tests/test_heat.py - plates against a solver in NumPy, bit by bit.
import subprocess
import sys

import heat
import numpy as np
import pytest
from heat import kernels

import cupola

ON_CPU = cupola.driver.info().kind == "cpu"


def solved(temperatures, steps, rate):
    """The same scheme, operation by operation, in NumPy."""
    now = temperatures.copy()
    rate, four = now.dtype.type(rate), now.dtype.type(4)
    for _ in range(steps):
        next_ = now.copy()
        here = now[1:-1, 1:-1]
        around = (now[:-2, 1:-1] + now[2:, 1:-1]) + (now[1:-1, :-2] + now[1:-1, 2:])
        next_[1:-1, 1:-1] = here + rate * (around - four * here)
        now = next_
    return now


def plate(shape, dtype):
    return np.random.default_rng(1).uniform(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(48, 64), (33, 41), (3, 3), (1, 5), (2, 2)])
def test_it_is_what_numpy_computes(shape, dtype):
    start = plate(shape, dtype)
    after = heat.spread(start, 25, rate=0.23)
    assert isinstance(after, np.ndarray) and after.dtype == dtype
    np.testing.assert_array_equal(after, solved(start, 25, 0.23))


def test_a_thousand_steps_a_call():
    start = plate((24, 24), np.float32)
    there = heat.Plate(start)
    there.advance(1000)
    there.advance(1)
    assert there.steps == 1001
    np.testing.assert_array_equal(there.temperatures.get(), solved(start, 1001, 0.2))


def test_time_does_not_run_back():
    start = plate((8, 8), np.float32)
    there = heat.Plate(start)
    with pytest.raises(ValueError, match="steps is 0 or more, got -1"):
        there.advance(-1)
    there.advance(0)
    assert there.steps == 0
    np.testing.assert_array_equal(there.temperatures.get(), start)


def test_device_arrays_stay_on_the_device():
    start = cupola.to_device(plate((16, 20), np.float64))
    after = heat.spread(start, 7)
    assert isinstance(after, cupola.Array)
    np.testing.assert_array_equal(after.get(), solved(start.get(), 7, 0.2))
    np.testing.assert_array_equal(start.get(), plate((16, 20), np.float64))  # as it was


def test_a_plate_takes_device_memory_without_a_copy():
    start = plate((16, 20), np.float64)
    given = cupola.to_device(start)
    there = heat.Plate(given, copy=False)
    assert there.temperatures.__cuda_array_interface__ == given.__cuda_array_interface__
    there.advance(7)
    np.testing.assert_array_equal(there.temperatures.get(), solved(start, 7, 0.2))
    with pytest.raises(ValueError, match="C-contiguous"):
        heat.Plate(given[:, ::2], copy=False)


def test_on_streams_of_ones_own():
    starts = [plate((20, 20 + i), np.float32) for i in range(4)]
    made = []
    for start in starts:
        with cupola.Stream():
            made.append(heat.Plate(start))
            made[-1].advance(100)
            made[-1] = made[-1].temperatures.get()
    for start, after in zip(starts, made, strict=True):
        np.testing.assert_array_equal(after, solved(start, 100, 0.2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_of_regions(dtype):
    start = plate((100, 333), dtype)
    there = heat.Plate(start)
    np.testing.assert_allclose(there.mean(), start.mean(dtype=np.float64), rtol=1e-14)
    part = slice(10, 97), slice(5, -7)
    np.testing.assert_allclose(there.mean(*part), start[part].mean(dtype=np.float64), rtol=1e-14)
    for wrong in (slice(5, 5), slice(0, 10, 2)):
        with pytest.raises(ValueError, match="part of the plate"):
            there.mean(wrong)


def test_heat_is_neither_made_nor_lost_inside():
    start = np.zeros((40, 40))
    start[15:25, 15:25] = 1
    there = heat.Plate(start)
    there.advance(14)  # too few steps to reach the border
    assert there.mean() == pytest.approx(start.mean(), rel=1e-12)


@pytest.mark.parametrize("wrong", [np.zeros(5, np.float32), np.zeros((4, 4), np.int32)])
def test_wrong_temperatures_are_refused(wrong):
    with pytest.raises(TypeError, match="two-dimensional float32 or float64"):
        heat.Plate(wrong)
    with pytest.raises(ValueError, match=r"0 to 0\.25"):
        heat.Plate(np.zeros((4, 4)), rate=0.3)


def test_kernels_are_attributes_of_the_library():
    assert {"advance_float", "advance_double", "measure_float", "measure_double"} <= set(
        dir(kernels)
    )
    names = [parameter.name for parameter in kernels.measure_float.params]
    assert names == ["sums", "plate", "columns", "region"]
    with pytest.raises(AttributeError, match="did you mean advance"):
        kernels.advance  # noqa: B018


@pytest.mark.parametrize(
    ("name", "count", "size"), [("heat.png", 1, (160, 32)), ("heat.gif", 5, (32, 32))]
)
def test_pictures(tmp_path, name, count, size):
    image = pytest.importorskip("PIL.Image")
    command = [sys.executable, "-m", "heat", "--size", "32", "--frames", "5", "--steps", "10"]
    done = subprocess.run([*command, "-o", name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("40 steps in")
    with image.open(tmp_path / name) as picture:
        assert picture.size == size and getattr(picture, "n_frames", 1) == count
        picture.seek(count - 1)
        shown = np.asarray(picture.convert("RGB")).astype(int)
    assert len(np.unique(shown.reshape(-1, 3), axis=0)) > 20


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_operation(dtype):
    from heat import ops

    start = cupola.to_device(plate((33, 41), dtype))
    after = ops.step(start, 0.23)
    assert isinstance(after, cupola.Array)
    np.testing.assert_array_equal(after.get(), solved(start.get(), 1, 0.23))
    # <A u, g> = <u, A' g>, for the operation A and its gradient A'.
    gradient = plate((33, 41), dtype)[::-1].copy()
    back = ops.step_backward(cupola.to_device(gradient), 0.23).get()
    left, right = (after.get() * gradient).sum(), (start.get() * back).sum()
    np.testing.assert_allclose(left, right, rtol=1e-5)
    with pytest.raises(
        cupola.ArgumentTypeError, match=r"heat.step: there is no kernel for T = int"
    ):
        ops.step(cupola.zeros((3, 3), np.int32))


def test_the_operation_under_jax():
    jax = pytest.importorskip("jax")
    from heat import ops

    platform = "cpu" if ON_CPU else "gpu"
    if platform not in {one.platform for one in jax.devices()}:
        pytest.skip(f"JAX has no device of the platform {platform}")
    start = jax.numpy.asarray(plate((33, 41), np.float32))
    after = jax.jit(lambda u: ops.step(u, 0.23))(start)
    np.testing.assert_array_equal(after, solved(np.asarray(start), 1, 0.23))
    # The gradient of a loss after many steps, against a finite difference.
    weight = jax.numpy.asarray(plate((33, 41), np.float32)[::-1].copy())

    def loss(u):
        return (jax.lax.fori_loop(0, 10, lambda _, u: ops.step(u, 0.23), u) * weight).sum()

    gradient = jax.grad(lambda u: (ops.step(ops.step(u, 0.23), 0.23) * weight).sum())(start)
    bump = jax.numpy.zeros_like(start).at[5, 7].set(1)  # the loss is linear
    expected = (ops.step(ops.step(bump, 0.23), 0.23) * weight).sum()
    np.testing.assert_allclose(gradient[5, 7], expected, rtol=1e-5)
    assert np.isfinite(loss(start))
    many = jax.numpy.stack([start, 2 * start])
    np.testing.assert_array_equal(jax.vmap(ops.step)(many)[1], ops.step(2 * start))


@pytest.mark.skipif(not ON_CPU, reason="NumPy's arrays are the CPU device's")
def test_the_operation_of_numpy():
    from heat import ops

    start = plate((33, 41), np.float64)
    after = ops.step(start, 0.23)
    assert isinstance(after, np.ndarray)
    np.testing.assert_array_equal(after, solved(start, 1, 0.23))


@pytest.mark.skipif(ON_CPU, reason="CuPy has no CPU device")
def test_the_operation_of_cupy():
    cupy = pytest.importorskip("cupy")
    from heat import ops

    start = cupy.asarray(plate((33, 41), np.float64))
    after = ops.step(start, 0.23)
    assert isinstance(after, cupy.ndarray)
    np.testing.assert_array_equal(after.get(), solved(start.get(), 1, 0.23))


def test_the_operation_under_torch():
    torch = pytest.importorskip("torch")
    from heat import ops

    if not ON_CPU and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    plain = torch.tensor(plate((33, 41), np.float32), device="cpu" if ON_CPU else "cuda")
    start = plain.clone().requires_grad_()
    compiled = torch.compile(lambda u: ops.step(u, 0.23), fullgraph=True, backend="aot_eager")
    for after in (ops.step(start, 0.23), compiled(start), torch.ops.heat.step(plain, 0.23)):
        found = after.detach().cpu().numpy()
        np.testing.assert_array_equal(found, solved(plain.cpu().numpy(), 1, 0.23))
    weight = plain.flip(0)
    (gradient,) = torch.autograd.grad((ops.step(start, 0.23) * weight).sum(), start)
    torch.testing.assert_close(gradient, ops.step_backward(weight.contiguous(), 0.23))
    torch.library.opcheck(torch.ops.heat.step.default, (start, 0.23))
