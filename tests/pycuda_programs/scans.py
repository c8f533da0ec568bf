"""Scans and reductions from expressions; some threads of a block have no elements."""

import numpy as np
import pycuda.autoinit  # noqa: F401
from pycuda import gpuarray
from pycuda.reduction import ReductionKernel
from pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel

for size in (1, 7, 300, 2048, 4500):
    for dtype in (np.int32, np.int8, np.float64):
        x = np.arange(size).astype(dtype)
        sums = np.cumsum(x, dtype=dtype)
        inclusive, exclusive = gpuarray.to_gpu(x), gpuarray.to_gpu(x)
        InclusiveScanKernel(dtype, "a+b")(inclusive)
        ExclusiveScanKernel(dtype, "a+b", "0")(exclusive)
        assert (inclusive.get() == sums).all()
        assert (exclusive.get()[1:] == sums[:-1]).all() and exclusive.get()[0] == 0
        total = ReductionKernel(dtype, "0", "a+b")(gpuarray.to_gpu(x))
        assert total.get() == sums[-1]
