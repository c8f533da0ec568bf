# cupola/tools/command/operation_template.py - the files of a new package with an operation, as
# `python -m cupola new NAME --op` writes them.
"""FILES: the text of each by its path; $$name and $$package are filled in."""

from __future__ import annotations

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77", "cupola>=$series"]
build-backend = "cupola.build.backend"  # brings nvcc in where the machine has none

[project]
name = "$name"
version = "0.1.0"
description = "An operation for NumPy, CuPy, PyTorch and JAX"
readme = "README.md"
requires-python = ">=3.10"
dependencies = ["numpy", "cupola>=$series"]

[project.optional-dependencies]
test = ["pytest"]

[tool.setuptools.packages.find]
where = ["src"]

# csrc/softsign.cu becomes the module $package.kernels when the package is built.
[[tool.cupola.kernels]]
library = "$package.kernels"
sources = ["csrc/softsign.cu"]

# Operations become the module $package.ops. The build compares them with the kernels.
[[tool.cupola.ops]]
name = "$package.softsign"
doc = "x / (1 + |x|) of each element."
kernels = { float32 = "softsign_float", float64 = "softsign_double" }
inputs = { x = "T[*shape]" }
outputs = { y = "T[*shape]" }
arguments = ["x", "y", "shape"]
grid = ["ceildiv(shape, 256)"]
block = [256]
backward = "$package.softsign_backward"

[[tool.cupola.ops]]
name = "$package.softsign_backward"
doc = "The gradient of softsign."
kernels = { float32 = "softsign_backward_float", float64 = "softsign_backward_double" }
inputs = { grad_y = "T[*shape]", x = "T[*shape]" }
outputs = { grad_x = "T[*shape]" }
arguments = ["grad_y", "x", "grad_x", "shape"]
grid = ["ceildiv(shape, 256)"]
block = [256]

[tool.pytest.ini_options]
testpaths = ["tests"]

# `pip install 'cupola[coverage]' pytest-cov`, a build with CUPOLA_COVERAGE=exact, and then
# `python -m pytest --cov` measure the lines of the kernels, too.
[tool.coverage.run]
plugins = ["cupola.coverage"]
branch = true
source = ["$package"]
"""

README = """\
# $name
Kernels in `csrc/softsign.cu`, and their operations in `pyproject.toml`. They are compiled when the
package is built; its wheel needs neither a compiler nor a GPU, and serves every version of PyTorch
and JAX.

    python -m pip install $requirements
    python -m cupola.build.backend | xargs -r python -m pip install
    python -m pip install --no-build-isolation '.[test]'
    python -m pytest

A build without isolation uses the installed cupola. The first line installs what it needs, the
second one nvcc where the machine has none. Where pip finds cupola on an index, `pip install .`
brings them. For work on it, install it in place, again after each change of the `.cu`:

    python -m pip install --no-build-isolation -e .

```python
import numpy as np
import $package

$package.softsign(np.linspace(-3, 3, 7))
```

The argument is an array of NumPy (on the CPU device), CuPy, PyTorch, JAX or cupola, and so is the
result. PyTorch and JAX compute gradients, and trace it.
"""

SOFTSIGN_CU = """\
// csrc/softsign.cu - the kernels of $package.

template <class T>
__global__ void softsign(const T* x, T* y, long long n) {
    const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = x[i] / (1 + fabs(x[i]));
}
template __global__ void softsign(const float*, float*, long long);
template __global__ void softsign(const double*, double*, long long);

template <class T>
__global__ void softsign_backward(const T* grad_y, const T* x, T* grad_x, long long n) {
    const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (i >= n) return;
    const T under = 1 + fabs(x[i]);
    grad_x[i] = grad_y[i] / (under * under);
}
template __global__ void softsign_backward(const float*, const float*, float*, long long);
template __global__ void softsign_backward(const double*, const double*, double*, long long);
"""

INIT_PY = """\
\"\"\"An operation for arrays of any library, on a GPU or without one.\"\"\"

from $package import ops

__all__ = ["softsign"]


def softsign(x):
    \"\"\"Compute x / (1 + abs(x)) of each element.

    Parameters
    ----------
    x : array of float32 or float64
        Of NumPy, CuPy, PyTorch, JAX or cupola.

    Returns
    -------
    array
        Of the same library, shape and type.
    \"\"\"
    return ops.softsign(x)
"""

TEST_PY = """\
\"\"\"$package against NumPy, for arrays of each library that is installed.\"\"\"

import cupola
import numpy as np
import pytest

import $package

ON_CPU = cupola.driver.info().kind == "cpu"
X = np.linspace(-3, 3, 24).reshape(4, 6)
EXPECTED = X / (1 + abs(X))
GRADIENT = 1 / (1 + abs(X)) ** 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cupola(dtype):
    y = $package.softsign(cupola.to_device(X.astype(dtype)))
    assert isinstance(y, cupola.Array) and y.dtype == dtype
    np.testing.assert_allclose(y.get(), EXPECTED, rtol=1e-6)


@pytest.mark.skipif(not ON_CPU, reason="NumPy's arrays are the CPU device's")
def test_numpy():
    np.testing.assert_allclose($package.softsign(X), EXPECTED)
    np.testing.assert_allclose($package.softsign(X.T), EXPECTED.T)


def test_cupy():
    if ON_CPU:
        pytest.skip("CuPy needs a GPU")
    cupy = pytest.importorskip("cupy")
    np.testing.assert_allclose(cupy.asnumpy($package.softsign(cupy.asarray(X))), EXPECTED)


def test_torch():
    torch = pytest.importorskip("torch")
    if not ON_CPU and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    x = torch.tensor(X, device="cpu" if ON_CPU else "cuda", requires_grad=True)
    y = $package.softsign(x)
    np.testing.assert_allclose(y.detach().cpu(), EXPECTED)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.cpu(), GRADIENT)
    torch.library.opcheck(torch.ops.$package.softsign.default, (x,))


def test_jax():
    jax = pytest.importorskip("jax")
    if {one.platform for one in jax.devices()} != {"cpu" if ON_CPU else "gpu"}:
        pytest.skip("JAX has no device of the driver's")
    x = jax.numpy.asarray(X, "float32")
    np.testing.assert_allclose(jax.jit($package.softsign)(x), EXPECTED, rtol=1e-6)
    gradient = jax.vmap(jax.grad(lambda x: $package.softsign(x).sum()))(x)
    np.testing.assert_allclose(gradient, GRADIENT, rtol=1e-5)


def test_mistakes():
    with pytest.raises(TypeError, match="there is no kernel for T = int32"):
        $package.softsign(cupola.zeros(3, "i4"))
"""

GITIGNORE = """\
build/
dist/
*.egg-info/
__pycache__/
src/$package/kernels.*
src/$package/ops.*
"""

FILES = {
    "pyproject.toml": PYPROJECT,
    "README.md": README,
    ".gitignore": GITIGNORE,
    "csrc/softsign.cu": SOFTSIGN_CU,
    "src/$package/__init__.py": INIT_PY,
    "tests/test_$package.py": TEST_PY,
}
