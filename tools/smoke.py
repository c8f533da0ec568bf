# tools/smoke.py - a launch, an array and a shipped kernel of an installed cupola, on any device.
"""The test of a wheel in an environment that has only the wheel."""

import numpy as np

import cupola

x = cupola.to_device(np.arange(1000, dtype=np.float32))
out = cupola.empty_like(x)
cupola.shipped_kernels()["saxpy"].forall(1000)(2.0, x, cupola.ones_like(x), out, 1000)
assert np.array_equal(out.get(), 2 * np.arange(1000, dtype=np.float32) + 1)
assert float((x * 2).sum()) == 999000.0
assert "/site-packages/" in cupola.__file__, f"{cupola.__file__} is not the wheel's"
print(cupola.__version__, "on", cupola.Device().name)
