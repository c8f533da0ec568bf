# cupola/tools/command/template.py - the files that `python -m cupola new` writes.
"""FILES: the text of each by its path; $$name and $$package are filled in."""

from __future__ import annotations

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77", "Cython>=3.1", "cupola>=$series"]
build-backend = "cupola.build.backend"  # brings nvcc in where the machine has none

[project]
name = "$name"
version = "0.1.0"
description = "CUDA kernels for Python, with and without a GPU"
readme = "README.md"
requires-python = ">=3.10"
dependencies = ["numpy", "cupola>=$series"]

[project.optional-dependencies]
test = ["pytest"]

[tool.setuptools]
ext-modules = [{ name = "$package._smooth", sources = ["src/$package/_smooth.pyx"] }]

[tool.setuptools.packages.find]
where = ["src"]

# csrc/smooth.cu becomes the module $package.kernels when the package is built.
[[tool.cupola.kernels]]
library = "$package.kernels"
sources = ["csrc/smooth.cu"]

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
Kernels in `csrc/smooth.cu`, a loop over them in `src/$package/_smooth.pyx`, a function of both in
`src/$package/__init__.py`. They are compiled when the package is built; who installs its wheel
needs neither a compiler nor a GPU.

    python -m pip install $requirements
    python -m cupola.build.backend | xargs -r python -m pip install
    python -m pip install --no-build-isolation '.[test]'
    python -m pytest

A build without isolation uses the installed cupola. The first line installs what it needs, the
second one nvcc where the machine has none. Where pip finds cupola on an index, `pip install .`
brings them.

```python
import numpy as np
import $package

$package.smooth(np.random.default_rng(0).random(1000, np.float32), steps=10)
```

For work on it, install it in place, again after each change of the `.cu` or the `.pyx`:

    python -m pip install --no-build-isolation -e .

`python -m cupola inspect` shows what is known of the kernels in `$package/kernels.fatbin`,
`python -m cupola info` which device they run on.
"""

SMOOTH_CU = """\
// csrc/smooth.cu - the kernels of $package.

// Each value becomes the mean of itself and its neighbours; the first and the last stay.
extern "C" __global__ void smooth(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = i == 0 || i == n - 1 ? x[i] : (x[i - 1] + x[i] + x[i + 1]) / 3;
}
"""

SMOOTH_PYX = """\
# cython: language_level=3
# src/$package/_smooth.pyx - many launches in a row, without Python between two of them.
import cupola

from cupola.array cimport Array
from cupola.kernel cimport Kernel
from cupola.launch cimport Launch

from $package import kernels


def smooth(Array x not None, int steps):
    \"\"\"A new array: x after so many steps, queued on the current stream.\"\"\"
    cdef Kernel kernel = kernels.smooth
    cdef Array here = x.copy(), there = cupola.empty_like(x)
    grid, block = max(1, -(-x.size // 256)), 256
    cdef Launch forth = kernel.prepare(grid, block, here, there, x.size)
    cdef Launch back = kernel.prepare(grid, block, there, here, x.size)
    cdef int step
    with nogil:
        for step in range(steps):
            if step % 2 == 0:
                forth.queue(None)
            else:
                back.queue(None)
    return here if steps % 2 == 0 else there
"""

INIT_PY = """\
\"\"\"Smoothing of values in a row, on a GPU or without one.\"\"\"

import cupola
import numpy as np

from $package._smooth import smooth as smooth_row

__all__ = ["smooth"]


def smooth(x, steps=1):
    \"\"\"Replace each value by the mean of itself and its neighbours.

    Parameters
    ----------
    x : cupola.Array or array_like
        Values in a row, float32; others are converted. The first and the last keep theirs.
    steps : int
        How often.

    Returns
    -------
    cupola.Array or numpy.ndarray
        A new array; of the device where x is one, queued on the current stream.
    \"\"\"
    if steps < 0:
        raise ValueError(f"steps must be 0 or more, got {steps}")
    if isinstance(x, cupola.Array):
        if x.dtype != np.float32 or x.ndim != 1:
            raise TypeError(f"a row of float32 is wanted, got {x.dtype} of shape {x.shape}")
        return smooth_row(x, steps)
    host = np.ascontiguousarray(x, np.float32)
    if host.ndim != 1:
        raise TypeError(f"a row of values is wanted, got shape {host.shape}")
    return smooth_row(cupola.to_device(host), steps).get()
"""

TEST_PY = """\
\"\"\"$package against NumPy, which rounds as the kernel does: the results are bit-equal.\"\"\"

import cupola
import numpy as np
import pytest

import $package


def by_numpy(x, steps):
    for _ in range(steps):
        out = x.copy()
        out[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / np.float32(3)
        x = out
    return x


@pytest.mark.parametrize("steps", [0, 1, 2, 101])
@pytest.mark.parametrize("n", [1, 2, 3, 1000, 100_001])
def test_smooth(n, steps):
    x = np.random.default_rng(0).random(n, np.float32)
    wanted = by_numpy(x, steps)
    np.testing.assert_array_equal($package.smooth(x, steps), wanted)
    there = cupola.to_device(x)
    result = $package.smooth(there, steps)
    assert isinstance(result, cupola.Array)
    np.testing.assert_array_equal(result.get(), wanted)
    np.testing.assert_array_equal(there.get(), x)


def test_mistakes():
    with pytest.raises(TypeError, match="row of float32"):
        $package.smooth(cupola.zeros(3, "i4"))
    with pytest.raises(ValueError, match="0 or more"):
        $package.smooth([1, 2, 3], steps=-1)
"""

GITIGNORE = """\
build/
dist/
*.egg-info/
__pycache__/
*.so
src/$package/_smooth.c*
src/$package/kernels.*
"""

FILES = {
    "pyproject.toml": PYPROJECT,
    "README.md": README,
    ".gitignore": GITIGNORE,
    "csrc/smooth.cu": SMOOTH_CU,
    "src/$package/__init__.py": INIT_PY,
    "src/$package/_smooth.pyx": SMOOTH_PYX,
    "tests/test_$package.py": TEST_PY,
}
