# cupola/pycuda/reduction.py - pycuda.reduction: kernels that reduce arrays by an expression.
"""Reductions from expressions in C++."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.pycuda._c_types import (
    ScalarArg,
    VectorArg,
    dtype_to_ctype,
    parse_arguments,
)
from cupola.pycuda._contexts import current, per_device
from cupola.pycuda.compiler import SourceModule
from cupola.pycuda.elementwise import declared, include_of, values_of

THREADS = 256


def _source(kind, neutral, reduce_expr, map_expr, arguments, name, preamble):
    header = include_of(arguments, kind, neutral, reduce_expr, map_expr)
    parameters = declared([*arguments, ScalarArg(np.uint64, "n")])
    return (
        f"{header}{preamble}\n"
        f"typedef {kind} out_type;\n"
        f"__device__ out_type {name}_reduce(out_type a, out_type b) {{ return {reduce_expr}; }}\n"
        f'extern "C" __global__ void {name}(void* results, {parameters})\n'
        "{\n"
        "  // Bytes, since a struct's constructor can't run for shared memory.\n"
        f"  __shared__ __align__(16) unsigned char raw[{THREADS} * sizeof(out_type)];\n"
        "  out_type* shared = (out_type*)raw;\n"
        f"  out_type so_far = {neutral};\n"
        f"  unsigned long step = (unsigned long)gridDim.x * {THREADS};\n"
        f"  for (unsigned long i = (unsigned long)blockIdx.x * {THREADS} + threadIdx.x; i < n;\n"
        "       i += step)\n"
        f"    so_far = {name}_reduce(so_far, {map_expr});\n"
        "  shared[threadIdx.x] = so_far;\n"
        "  __syncthreads();\n"
        f"  for (unsigned half = {THREADS // 2}; half; half /= 2) {{\n"
        "    if (threadIdx.x < half)\n"
        f"      shared[threadIdx.x] = {name}_reduce(shared[threadIdx.x],\n"
        "                                          shared[threadIdx.x + half]);\n"
        "    __syncthreads();\n"
        "  }\n"
        "  if (threadIdx.x == 0) ((out_type*)results)[blockIdx.x] = shared[0];\n"
        "}\n"
    )


class ReductionKernel:
    """A kernel that maps each element and reduces the results.

    Parameters
    ----------
    dtype_out : data-type
        Of the result; structs need `pycuda.tools.register_dtype`.
    neutral : str
        The neutral element of the reduction.
    reduce_expr : str
        An associative and commutative expression of ``a`` and ``b``.
    map_expr : str, optional
        An expression of ``i``; by default the element of the only argument.
    arguments : str or list, optional
        As for `ElementwiseKernel`.
    name, keep, options, preamble
        As for `ElementwiseKernel`.
    """

    def __init__(
        self, dtype_out, neutral, reduce_expr, map_expr=None, arguments=None,
        name="reduce_kernel", keep=False, options=None, preamble="", allocator=None,
    ):  # fmt: skip
        self.dtype_out = np.dtype(dtype_out)
        kind = dtype_to_ctype(self.dtype_out)
        self.arguments = parse_arguments(arguments or [VectorArg(self.dtype_out, "in")])
        vectors = [one for one in self.arguments if isinstance(one, VectorArg)]
        if not vectors:
            raise RuntimeError("a ReductionKernel needs at least one argument that is a vector")
        map_expr = map_expr or f"{vectors[0].name}[i]"
        again = [VectorArg(self.dtype_out, "partial")]
        code = (kind, str(neutral), reduce_expr)
        self._first = (_source(*code, map_expr, self.arguments, name, preamble), self.arguments)
        self._second = (_source(*code, "partial[i]", again, name, preamble), again)
        self._compile = (name, keep, options)
        self._functions = per_device(self._make)
        self._allocator = allocator

    def _make(self, again: bool) -> Any:
        name, keep, options = self._compile
        source, arguments = self._second if again else self._first
        module = SourceModule(source, options=options, keep=keep, no_extern_c=True)
        letters = [one.struct_char for one in arguments]
        return module.get_function(name).prepare(["P", *letters, "Q"])

    def __call__(self, *args, **kwargs):
        """The result, a GPUArray without axes.

        Keywords: stream=, out= for the result, allocator=, and range= or slice= of the elements.
        """
        from cupola.pycuda.gpuarray import GPUArray

        stream, out = kwargs.pop("stream", None), kwargs.pop("out", None)
        allocator = kwargs.pop("allocator", None) or self._allocator
        bounds, slice_ = kwargs.pop("range", None), kwargs.pop("slice", None)
        if bounds is not None or slice_ is not None:
            raise NotImplementedError("range= and slice= of reductions: pass slices of the arrays")
        if kwargs:
            raise TypeError(f"unknown keyword arguments: {', '.join(kwargs)}")
        values, first = values_of(self.arguments, args)
        if out is None:
            out = GPUArray((), self.dtype_out, allocator or first.allocator)
        blocks = min(-(-first.size // THREADS), 4 * current()._owner._device.multiprocessor_count)
        block = (THREADS, 1, 1)
        if blocks <= 1:
            self._functions(False).prepared_async_call(
                (1, 1), block, stream, out.ptr, *values, first.size
            )
            return out
        partial = GPUArray((blocks,), self.dtype_out)
        self._functions(False).prepared_async_call(
            (blocks, 1), block, stream, partial.ptr, *values, first.size
        )
        self._functions(True).prepared_async_call(
            (1, 1), block, stream, out.ptr, partial.ptr, blocks
        )
        return out
