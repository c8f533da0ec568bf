# cupola/pycuda/gpuarray.py - pycuda.gpuarray: arrays of the device, with NumPy's arithmetic.
"""GPUArrays, and functions of them."""

from cupola.pycuda._creation import (
    arange,
    empty,
    empty_like,
    ones,
    ones_like,
    to_gpu,
    to_gpu_async,
    zeros,
    zeros_like,
)
from cupola.pycuda._gpu_array import (
    GPUArray,
)
from cupola.pycuda._reductions import (
    all,
    any,
    dot,
    logical_and,
    logical_not,
    logical_or,
    max,
    maximum,
    min,
    minimum,
    subset_dot,
    subset_max,
    subset_min,
    subset_sum,
    sum,
)
from cupola.pycuda._selection import (
    concatenate,
    if_positive,
    multi_put,
    multi_take,
    multi_take_put,
    reshape,
    stack,
    take,
    transpose,
    where,
)
from cupola.pycuda._vector_types import (
    vec,
)
