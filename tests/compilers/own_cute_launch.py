"""Run in a build of examples/cute_rows: compares its kernels with the kernels that the DSL itself
launches.
"""

import cutlass
import numpy as np
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
from rows import cute_kernels, kernels

import cupola


def given(array):
    """A device array as a tensor of the DSL, whose lengths only a launch knows."""
    found = from_dlpack(array, assumed_align=4)
    return found.mark_layout_dynamic(leading_dim=array.ndim - 1)


x, y = map(cupola.to_device, np.random.default_rng(1).standard_normal((2, 1000), np.float32))
ours, theirs = cupola.zeros((2, 1000), np.float32)
kernels.axpy[8](2.5, x, y, ours)
cute.compile(cute_kernels.axpy, cutlass.Float32(2.5), given(x), given(y), given(theirs))(
    cutlass.Float32(2.5), given(x), given(y), given(theirs)
)
cupola.Device().synchronize()
assert np.array_equal(ours.get(), theirs.get())

x = cupola.to_device(np.random.default_rng(2).standard_normal((33, 700), np.float32))
ours, theirs = cupola.zeros((2, 33, 700), np.float32)
kernels.softmax[33](ours, x)
cute.compile(cute_kernels.softmax, given(theirs), given(x), 4)(given(theirs), given(x))
cupola.Device().synchronize()
assert np.array_equal(ours.get(), theirs.get())
print("equal")
