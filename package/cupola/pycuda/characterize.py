# cupola/pycuda/characterize.py - pycuda.characterize: properties of devices and types.
"""Properties of the current device."""

from __future__ import annotations

import numpy as np

from cupola.pycuda._contexts import Context
from cupola.pycuda.compiler import SourceModule
from cupola.pycuda.tools import context_dependent_memoize


def platform_bits():
    """Bits of a pointer on the host."""
    return np.dtype(np.intp).itemsize * 8


def has_stack():
    """Whether kernels have a stack."""
    return Context.get_device().compute_capability() >= (2, 0)


def has_double_support():
    """Whether kernels compute with doubles."""
    return Context.get_device().compute_capability() >= (1, 3)


@context_dependent_memoize
def sizeof(type_name, preamble=""):
    """Bytes of a type on the device."""
    from cupola.pycuda import driver

    module = SourceModule(
        f'{preamble}\nextern "C" __global__ void size_of(unsigned long* out) '
        f"{{ *out = sizeof({type_name}); }}",
        no_extern_c=True,
    )
    found = np.empty(1, np.uint64)
    module.get_function("size_of")(driver.Out(found), block=(1, 1, 1))
    return int(found[0])
