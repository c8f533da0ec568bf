# cupola/pycuda/scan.py - pycuda.scan: prefix sums by an expression.
"""Scans from expressions in C++."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.pycuda._c_types import dtype_to_ctype
from cupola.pycuda._contexts import per_device
from cupola.pycuda.compiler import SourceModule

THREADS = 256
ITEMS = 8  # consecutive elements of a thread
TILE = THREADS * ITEMS


def _source(kind, expression, neutral, name, preamble, exclusive):
    header = "#include <pycuda-complex.hpp>\n" if "pycuda::complex" in kind + preamble else ""
    first = f"scan_type({neutral})" if exclusive else "before"
    return f"""{header}{preamble}
typedef {kind} scan_type;
__device__ scan_type {name}_join(scan_type a, scan_type b) {{ return {expression}; }}

// Scans the totals of threads in shared memory; those of threads from `count` on are left out.
__device__ void {name}_block(scan_type* shared, unsigned count) {{
  for (unsigned step = 1; step < {THREADS}; step *= 2) {{
    const bool joins = threadIdx.x >= step && threadIdx.x < count;
    scan_type mine = shared[joins ? threadIdx.x : 0];  // those from `count` on hold no total
    if (joins) mine = {name}_join(shared[threadIdx.x - step], mine);
    __syncthreads();
    if (joins) shared[threadIdx.x] = mine;
    __syncthreads();
  }}
}}

// Scans the totals of the threads of a tile in shared memory. Returns how many have elements.
__device__ unsigned {name}_tile(scan_type* shared, const scan_type* in, unsigned long n) {{
  const unsigned long begin = (unsigned long)blockIdx.x * {TILE};
  const unsigned long here = begin + threadIdx.x * {ITEMS};
  const unsigned long left = n - begin;
  const unsigned used = left < {TILE} ? (unsigned)((left + {ITEMS} - 1) / {ITEMS}) : {THREADS};
  if (here < n) {{
    scan_type so_far = in[here];
    for (unsigned long i = here + 1; i < here + {ITEMS} && i < n; ++i)
      so_far = {name}_join(so_far, in[i]);
    shared[threadIdx.x] = so_far;
  }}
  __syncthreads();
  {name}_block(shared, used);
  return used;
}}

// The total of each tile.
extern "C" __global__ void {name}_totals(const scan_type* in, scan_type* totals, unsigned long n) {{
  __shared__ __align__(16) unsigned char raw[{THREADS} * sizeof(scan_type)];
  scan_type* shared = (scan_type*)raw;
  const unsigned used = {name}_tile(shared, in, n);
  if (threadIdx.x == 0) totals[blockIdx.x] = shared[used - 1];
}}

// The scan of each tile, behind the scanned totals of the tiles before it.
extern "C" __global__ void {name}_tiles(const scan_type* in, scan_type* out,
                                        const scan_type* totals, unsigned long n) {{
  __shared__ __align__(16) unsigned char raw[{THREADS} * sizeof(scan_type)];
  scan_type* shared = (scan_type*)raw;
  const unsigned long here = (unsigned long)blockIdx.x * {TILE} + threadIdx.x * {ITEMS};
  {name}_tile(shared, in, n);
  if (here >= n) return;
  bool any = threadIdx.x > 0;
  scan_type before = any ? shared[threadIdx.x - 1] : in[here];
  if (blockIdx.x > 0) {{
    before = any ? {name}_join(totals[blockIdx.x - 1], before) : totals[blockIdx.x - 1];
    any = true;
  }}
  for (unsigned long i = here; i < here + {ITEMS} && i < n; ++i) {{
    const scan_type value = in[i];
    const scan_type after = any ? {name}_join(before, value) : value;
    out[i] = {"any ? before : " + first if exclusive else "after"};
    before = after;
    any = true;
  }}
}}
"""


class _ScanKernel:
    exclusive = False

    def __init__(
        self, dtype, scan_expr, neutral=None, name_prefix="scan", options=None, preamble="",
        devices=None,
    ):  # fmt: skip
        if self.exclusive and neutral is None:
            raise ValueError("neutral element is required for exclusive scan")
        self.dtype = np.dtype(dtype)
        self._name, self._options = name_prefix, options
        # The totals of tiles are scanned inclusively.
        self._texts = {
            exclusive: _source(
                dtype_to_ctype(self.dtype), scan_expr, neutral, name_prefix, preamble, exclusive
            )
            for exclusive in {False, self.exclusive}
        }
        self._functions = per_device(self._make)

    def _make(self, exclusive: bool) -> tuple[Any, Any]:
        module = SourceModule(self._texts[exclusive], options=self._options, no_extern_c=True)
        return (
            module.get_function(f"{self._name}_totals").prepare("PPQ"),
            module.get_function(f"{self._name}_tiles").prepare("PPPQ"),
        )

    def __call__(self, input_ary, output_ary=None, allocator=None, stream=None):
        """Scan an array, in place unless another one is given. Returns the result.

        Raises
        ------
        ValueError
            Where the array has another dtype, or several axes.
        """
        if output_ary is None:
            output_ary = input_ary
        if isinstance(output_ary, str) and output_ary == "new":
            from cupola.pycuda.gpuarray import empty_like

            output_ary = empty_like(input_ary)
        for array in (input_ary, output_ary):
            if array.ndim != 1 or not array.flags.forc:
                raise ValueError("scans take contiguous arrays of one axis")
            if array.dtype != self.dtype:
                raise ValueError(f"the scan is of {self.dtype}, got an array of {array.dtype}")
        if output_ary.shape != input_ary.shape:
            raise ValueError("input and output must have the same shape")
        if input_ary.size:
            self._run(input_ary.ptr, output_ary.ptr, input_ary.size, stream, self.exclusive)
        return output_ary

    def _run(self, source, target, count, stream, exclusive):
        from cupola.pycuda.gpuarray import GPUArray

        totals, tiles = self._functions(exclusive)
        blocks, block = -(-count // TILE), (THREADS, 1, 1)
        partial = GPUArray((blocks,), self.dtype)
        if blocks > 1:
            totals.prepared_async_call((blocks, 1), block, stream, source, partial.ptr, count)
            self._run(partial.ptr, partial.ptr, blocks, stream, False)
        tiles.prepared_async_call((blocks, 1), block, stream, source, target, partial.ptr, count)


class InclusiveScanKernel(_ScanKernel):
    """Each element becomes the reduction of the elements up to it.

    Parameters
    ----------
    dtype : data-type
    scan_expr : str
        An associative expression of ``a`` and ``b``, in that order.
    neutral : str, optional
        The neutral element; `ExclusiveScanKernel` needs it.
    name_prefix, options, preamble
        As for `ElementwiseKernel`.
    devices
        Not used.
    """


class ExclusiveScanKernel(_ScanKernel):
    """A scan whose result excludes the element itself; the first result is the neutral element."""

    exclusive = True
