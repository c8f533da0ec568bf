# cupola/pycuda/elementwise.py - pycuda.elementwise: kernels of an operation on each element.
"""Elementwise kernels from an operation in C++."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.pycuda._c_types import Argument, VectorArg, parse_arguments
from cupola.pycuda._contexts import current, per_device
from cupola.pycuda._functions import check_elements
from cupola.pycuda.compiler import SourceModule

THREADS = 128
# A maker does not make this kernel, because PyCUDA documents the kernel itself. Programs use its
# variables and its parameters: see docs/internals/arrays.md.


def declared(arguments: list[Argument]) -> str:
    """The parameters of a kernel."""
    return ", ".join(one.declarator() for one in arguments)


def include_of(arguments: list[Argument], *texts: str) -> str:
    """The header of complex numbers, where arguments or code use them."""
    used = any(one.dtype.kind == "c" for one in arguments)
    used = used or any("pycuda::complex" in text for text in texts)
    return "#include <pycuda-complex.hpp>\n" if used else ""


def _kernel(arguments, operation, name, loop, last, keep, options, preamble, loop_prep, after_loop):
    source = (
        f"{include_of(arguments, operation, preamble, loop_prep)}{preamble}\n"
        f'extern "C" __global__ void {name}({declared([*arguments, *last])})\n'
        "{\n"
        "  unsigned tid = threadIdx.x;\n"
        "  unsigned total_threads = gridDim.x * blockDim.x;\n"
        "  unsigned long cta_start = (unsigned long)blockDim.x * blockIdx.x;\n"
        "  (void)tid; (void)total_threads; (void)cta_start;\n"
        f"{loop_prep};\n"
        f"{loop}\n"
        "  {\n"
        f"{operation};\n"
        "  }\n"
        f"{after_loop};\n"
        "}\n"
    )
    module = SourceModule(source, options=options, keep=keep, no_extern_c=True)
    return module.get_function(name)


def get_elwise_module(
    arguments, operation, name="kernel", keep=False, options=None, preamble="", loop_prep="",
    after_loop="",
):  # fmt: skip
    """A `Function` whose last argument is the number of elements."""
    from cupola.pycuda._c_types import ScalarArg

    loop = "  for (unsigned long i = cta_start + tid; i < n; i += total_threads)"
    return _kernel(
        parse_arguments(arguments), operation, name, loop, [ScalarArg(np.uint64, "n")], keep,
        options, preamble, loop_prep, after_loop,
    )  # fmt: skip


def get_elwise_range_module(
    arguments, operation, name="kernel", keep=False, options=None, preamble="", loop_prep="",
    after_loop="",
):  # fmt: skip
    """A `Function` whose last arguments are start, stop and step of the elements."""
    from cupola.pycuda._c_types import ScalarArg

    loop = (
        "  for (long i = start + (long)(cta_start + tid) * step; step > 0 ? i < stop : i > stop;\n"
        "       i += (long)total_threads * step)"
    )
    last = [ScalarArg(np.int64, name) for name in ("start", "stop", "step")]
    return _kernel(
        parse_arguments(arguments), operation, name, loop, last, keep, options, preamble,
        loop_prep, after_loop,
    )  # fmt: skip


def launch_shape(elements: int) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """Grid and block for a number of elements."""
    device = current()._owner
    most = 8 * device._device.multiprocessor_count
    blocks = min(max(-(-elements // THREADS), 1), most)
    return (blocks, 1), (THREADS, 1, 1)


def values_of(arguments: list[Argument], given: Any) -> tuple[list[Any], Any]:
    """The values of a call for `Function.prepared_call`, and the first array among them."""
    if len(given) != len(arguments):
        raise TypeError(
            f"the kernel takes {len(arguments)} arguments ({declared(arguments)}), got {len(given)}"
        )
    values, first = [], None
    for one, value in zip(arguments, given, strict=True):
        if not isinstance(one, VectorArg):
            values.append(value)
            continue
        if not hasattr(value, "gpudata"):
            raise TypeError(f"argument {one.name}: expected a GPUArray, got {type(value).__name__}")
        if not value.flags.forc:
            raise RuntimeError("elementwise kernel cannot deal with non-contiguous arrays")
        check_elements(f"argument {one.name}", value.dtype, one.dtype, kinds=True)
        first = value if first is None else first
        values.append(value.ptr)
    return values, first


class ElementwiseKernel:
    """A kernel that runs an operation for each element.

    Parameters
    ----------
    arguments : str or list
        As in C: ``"float a, float *x, float *z"``, or `VectorArg` and `ScalarArg`.
    operation : str
        A statement for the element ``i`` of ``n``: ``"z[i] = a * x[i]"``.
    name : str
    keep, options
        As for `SourceModule`.
    preamble, loop_prep, after_loop : str
        Code before the kernel, before each thread's loop and after it.
    """

    def __init__(self, arguments, operation, name="kernel", keep=False, options=None, **kwargs):
        self.arguments = parse_arguments(arguments)
        if not any(isinstance(one, VectorArg) for one in self.arguments):
            raise RuntimeError("an ElementwiseKernel needs at least one argument that is a vector")
        extra = set(kwargs) - {"preamble", "loop_prep", "after_loop", "use_range"}
        if extra:
            raise TypeError(f"unknown keyword arguments: {', '.join(sorted(extra))}")
        kwargs.pop("use_range", None)
        self._source = (operation, name, keep, options)
        self._code = kwargs
        self._functions = per_device(self._make)

    def _make(self, ranged: bool) -> Any:
        operation, name, keep, options = self._source
        make = get_elwise_range_module if ranged else get_elwise_module
        made = make(self.arguments, operation, name, keep, options, **self._code)
        letters = [one.struct_char for one in self.arguments]
        return made.prepare([*letters, *("qqq" if ranged else "Q")])

    def __call__(self, *args, **kwargs):
        """Run it: range= or slice= limits the elements, stream= names a stream."""
        bounds = kwargs.pop("range", None)
        slice_ = kwargs.pop("slice", None)
        stream = kwargs.pop("stream", None)
        if kwargs:
            raise TypeError(f"unknown keyword arguments: {', '.join(kwargs)}")
        values, first = values_of(self.arguments, args)
        if slice_ is not None:
            if bounds is not None:
                raise TypeError("range= and slice= exclude each other")
            bounds = slice(*slice_.indices(first.size))
        if bounds is not None:
            start, stop = bounds.start or 0, bounds.stop
            step = 1 if bounds.step is None else bounds.step
            count, last = len(range(start, stop, step)), [start, stop, step]
        else:
            count, last = first.size, [first.size]
        if count:
            grid, block = launch_shape(count)
            function = self._functions(bounds is not None)
            function.prepared_async_call(grid, block, stream, *values, *last)
