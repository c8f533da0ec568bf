"""Run in a build of examples/warp_rows: its kernels, and those that Warp itself launches."""

import numpy as np
import warp as wp
from rows import kernels, warp_kernels

import cupola

x, y = np.random.default_rng(1).standard_normal((2, 1000)).astype(np.float32)
given = [wp.array(one, dtype=float, device="cuda:0") for one in (x, y, np.zeros_like(x))]
wp.launch(warp_kernels.axpy, dim=1000, inputs=[2.5, *given], device="cuda:0")
theirs = given[2].numpy()
x, y, out = map(cupola.to_device, (x, y, np.zeros_like(x)))
kernels.axpy[4](1000, 2.5, x, y, out)
assert np.array_equal(out.get(), theirs)

x = np.random.default_rng(2).standard_normal((100, 30)).astype(np.float32)
given = [wp.array(one, dtype=float, device="cuda:0") for one in (x, np.zeros_like(x))]
wp.launch(warp_kernels.softmax, dim=100, inputs=given, device="cuda:0", block_dim=64)
theirs = given[1].numpy()
x, out = map(cupola.to_device, (x, np.zeros_like(x)))
kernels.softmax[2](100, x, out)
assert np.array_equal(out.get(), theirs)
print("equal")
