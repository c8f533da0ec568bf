# cupola/pycuda/_made_kernels.py - kernels of makers with PyCUDA's arguments and options.
"""Parameters, sources and arrays for the makers behind PyCUDA's reductions and scans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import cupola
from cupola.declare.kernel_definition import Definition, source
from cupola.declare.maker_parameters import Parameter
from cupola.makers.kernel_source import CompiledKernels
from cupola.pycuda import compiler
from cupola.pycuda._c_types import Argument, VectorArg, dtype_to_ctype
from cupola.pycuda._contexts import current

COMPLEX = "#include <pycuda-complex.hpp>\n"


class Kernels(CompiledKernels):
    """A maker's kernels, compiled as `SourceModule` compiles."""

    def __init__(self, options: Any, keep: bool) -> None:
        super().__init__(())
        self._given, self._keep = options, keep

    def _compile(
        self, definition: Definition, types: Mapping[str, str], form: str, device: int
    ) -> cupola.Module:
        text = source([(definition, types)], [form])
        return compiler.compiled(text, self._given, self._keep, True)


def parameter(argument: Argument) -> Parameter:
    """A maker's parameter, of which the kernel sees the whole array."""
    vector = isinstance(argument, VectorArg)
    kind = dtype_to_ctype(argument.dtype)
    return Parameter(argument.name, kind, vector, not vector, vector, "", "")


def element(name: str, dtype: np.dtype[Any], const: bool = False) -> Parameter:
    """A maker's parameter for an array with an element for each one of the call."""
    return Parameter(name, dtype_to_ctype(dtype), True, const, False, "", "")


def c_types(*dtypes: Any) -> dict[str, np.dtype[Any]]:
    """The dtypes by their names in C++, as makers take those of structs."""
    return {dtype_to_ctype(one): np.dtype(one) for one in dtypes}


def flat(array: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> cupola.Array:
    """The memory of a GPUArray as an array of the kernel's type."""
    if not array.size:
        return cupola.empty(shape, dtype, device=current()._owner._device)
    return cupola.Array.from_address(
        array.ptr, shape, dtype, owner=array.gpudata, device=current()._owner._device
    )
