# tests/test_norm.py - the operation against NumPy, for arrays of each library that is installed.
import ml_dtypes
import norm
import numpy as np
import pytest
from norm import ops

import cupola

KINDS = ["float32", "float16", "bfloat16"]
ON_CPU = cupola.driver.info().kind == "cpu"


def reference(x, w, eps=1e-6):
    x, w = x.astype(np.float64), w.astype(np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w


def data(shape, kind="float32"):
    random = np.random.default_rng(1)
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    return random.standard_normal(shape).astype(dtype), random.random(shape[-1:]).astype(dtype)


def close(kind):
    return dict(rtol={"float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2}[kind], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 4096), (2, 3, 257), (5, 1), (2, 9000), (0, 8), (7,)])
def test_cupola(shape, kind):
    x, w = data(shape, kind)
    y = norm.rms_norm(cupola.to_device(x), cupola.to_device(w))
    assert isinstance(y, cupola.Array) and y.dtype == x.dtype
    np.testing.assert_allclose(y.get().astype(float), reference(x, w), **close(kind))


@pytest.mark.skipif(not ON_CPU, reason="NumPy's arrays are the CPU device's")
def test_numpy():
    x, w = data((4, 100))
    y = norm.rms_norm(x, w, eps=0.5)
    assert isinstance(y, np.ndarray)
    np.testing.assert_allclose(y, reference(x, w, 0.5), rtol=1e-5)


@pytest.mark.skipif(ON_CPU, reason="CuPy has no CPU device")
def test_cupy():
    cupy = pytest.importorskip("cupy")
    x, w = data((4, 100))
    y = norm.rms_norm(cupy.asarray(x), cupy.asarray(w), eps=0.5)
    assert isinstance(y, cupy.ndarray)
    np.testing.assert_allclose(y.get(), reference(x, w, 0.5), rtol=1e-5)


def test_the_gradient_is_that_of_differences():
    (x, w), (g, _) = data((3, 40)), data((3, 40))
    g = g[::-1].copy()
    there = [cupola.to_device(one) for one in (g, x, w)]
    scale = ops.rms_norm(there[1], there[2])[1]
    found = [one.get() for one in ops.rms_norm_backward(*there, scale)]
    for which, gradient in zip((x, w), found, strict=True):
        for at in [(0,) * which.ndim, tuple(n - 1 for n in which.shape)]:
            step = np.zeros(which.shape)
            step[at] = 1e-4
            change = [
                (g * reference(*(one + sign * step * (one is which) for one in (x, w)))).sum()
                for sign in (1, -1)
            ]
            expected = (change[0] - change[1]) / 2e-4
            np.testing.assert_allclose(gradient[at], expected, rtol=1e-3, atol=1e-4)


def test_mistakes():
    x, w = (cupola.to_device(one) for one in data((4, 8)))
    with pytest.raises(cupola.ArgumentValueError, match="n is 8, by argument x"):
        norm.rms_norm(x, w[:5])
    with pytest.raises(cupola.ArgumentTypeError, match="no kernel for T = float64"):
        norm.rms_norm(x.astype(np.float64), w.astype(np.float64))
    with pytest.raises(cupola.ArgumentTypeError, match="argument w: expected elements of float32"):
        norm.rms_norm(x, w.astype(np.float16))


def test_jax():
    jax = pytest.importorskip("jax")
    if {one.platform for one in jax.devices()} != {"cpu" if ON_CPU else "gpu"}:
        pytest.skip("JAX has no device of the driver's")
    x, w = map(jax.numpy.asarray, data((4, 64)))

    def plain(x, w):
        return x / jax.numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w

    for f in (lambda f: f, jax.jit, lambda f: jax.vmap(f, in_axes=(0, None))):
        np.testing.assert_allclose(f(norm.rms_norm)(x, w), plain(x, w), rtol=1e-5, atol=1e-6)
    for which in (0, 1):
        found, expected = (
            jax.grad(lambda *both, f=f: (f(*both) ** 2).sum(), which)(x, w)
            for f in (norm.rms_norm, plain)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_torch():
    torch = pytest.importorskip("torch")
    if not ON_CPU and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    device = "cpu" if ON_CPU else "cuda"
    x, w = (torch.tensor(one, device=device, requires_grad=True) for one in data((4, 64)))
    plain = torch.nn.functional.rms_norm
    torch.testing.assert_close(norm.rms_norm(x, w), plain(x, (64,), w, 1e-6))
    compiled = torch.compile(norm.rms_norm, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, w), plain(x, (64,), w, 1e-6))
    found = torch.autograd.grad((norm.rms_norm(x, w) ** 2).sum(), (x, w))
    expected = torch.autograd.grad((plain(x, (64,), w, 1e-6) ** 2).sum(), (x, w))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    torch.library.opcheck(torch.ops.norm.rms_norm.default, (x, w, 1e-6))
