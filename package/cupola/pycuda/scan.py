# cupola/pycuda/scan.py - pycuda.scan: prefix sums by an expression.
"""Scans from expressions in C++."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.declare.scan_definition import ScanDefinition
from cupola.makers.scan_maker import Scan
from cupola.pycuda._c_types import dtype_to_ctype
from cupola.pycuda._errors import translated
from cupola.pycuda._made_kernels import COMPLEX, Kernels, c_types, element, flat
from cupola.pycuda._streams import stream_of


class _ScanKernel:
    exclusive = False

    def __init__(
        self, dtype, scan_expr, neutral=None, name_prefix="scan", options=None, preamble="",
        devices=None,
    ):  # fmt: skip
        if self.exclusive and neutral is None:
            raise ValueError("neutral element is required for exclusive scan")
        self.dtype = np.dtype(dtype)
        kind = dtype_to_ctype(self.dtype)
        parameters = (
            element("cupola_input", self.dtype, True),
            element("cupola_output", self.dtype),
        )
        structs = c_types(self.dtype)
        header = COMPLEX if "pycuda::complex" in kind + preamble else ""
        item = f"i ? prev : scan_type({neutral})" if self.exclusive else "item"
        # PyCUDA combines the neutral element with no element.
        definition = ScanDefinition(
            name_prefix, parameters, f"{header}{preamble}\ntypedef {kind} scan_type;",
            {kind: self.dtype.itemsize}, True, maps=("cupola_input[i]",), combines=(scan_expr,),
            accumulators=(f"cupola::Accumulator<{kind}>",), output=f"cupola_output[i] = {item}",
        )  # fmt: skip
        self._scan = Scan(definition, structs, Kernels(options, False))

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
        arrays = [flat(one, self.dtype, (one.size,)) for one in (input_ary, output_ary)]
        with translated():
            self._scan(*arrays, stream=stream_of(stream))
        return output_ary


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
