# cupola/pycuda/reduction.py - pycuda.reduction: kernels that reduce arrays by an expression.
"""Reductions from expressions in C++."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.declare.reduction_definition import ReductionDefinition
from cupola.makers.reduction_maker import Reduction
from cupola.pycuda._c_types import VectorArg, dtype_to_ctype, parse_arguments
from cupola.pycuda._errors import translated
from cupola.pycuda._functions import converter
from cupola.pycuda._made_kernels import Kernels, c_types, element, flat, parameter
from cupola.pycuda._streams import stream_of
from cupola.pycuda.elementwise import include_of, values_of


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
        parameters = [parameter(one) for one in self.arguments]
        parameters.append(element("cupola_result", self.dtype_out))
        structs = c_types(self.dtype_out, *(one.dtype for one in self.arguments))
        header = include_of(self.arguments, kind, str(neutral), reduce_expr, map_expr)
        # PyCUDA counts elements by size_t; a maker by long long.
        mapped = f"[&](size_t i, size_t n) -> out_type {{ return {map_expr}; }}(i, n)"
        definition = ReductionDefinition(
            name, tuple(parameters), f"{header}{preamble}\ntypedef {kind} out_type;",
            {one: dtype.itemsize for one, dtype in structs.items()}, True, maps=(mapped,),
            combines=(reduce_expr,), neutrals=(str(neutral),), posts=("a",),
            accumulators=(f"cupola::Accumulator<{kind}>",),
        )  # fmt: skip
        self._reduce = Reduction(definition, structs, Kernels(options, keep))
        self._converters = [
            None if isinstance(one, VectorArg) else converter(place, one.struct_char)
            for place, one in enumerate(self.arguments)
        ]
        self._allocator = allocator

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
        _, first = values_of(self.arguments, args)
        if out is None:
            out = GPUArray((), self.dtype_out, allocator or first.allocator)
        values = [
            flat(value, one.dtype, (value.size,)) if convert is None else convert(value)
            for one, convert, value in zip(self.arguments, self._converters, args, strict=True)
        ]
        target = flat(out, self.dtype_out, ())
        with translated():
            self._reduce(*values, target, size=first.size, stream=stream_of(stream))
        return out
