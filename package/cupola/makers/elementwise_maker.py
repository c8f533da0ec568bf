# cupola/makers/elementwise_maker.py - calls of elementwise kernels.
"""`Elementwise`, which `cupola.elementwise` makes."""

from __future__ import annotations

import math
from typing import Any

from cupola.array import Array
from cupola.creation import empty
from cupola.declare.elementwise_definition import ElementwiseDefinition
from cupola.declare.kernel_definition import FLAT, STRIDED
from cupola.device import Device
from cupola.exceptions import ArgumentValueError
from cupola.kernel_constants import MAKER_BLOCK
from cupola.makers.broadcast_layout import axes_of, merged_axes, packed_layout, pointer_argument
from cupola.makers.element_types import Types, wanted
from cupola.makers.maker import Maker, PreparedCall
from cupola.makers.work import Launch, Work

_BLOCKS = 32  # the most blocks of a multiprocessor


class Elementwise(Maker):
    """A function that computes each element by a statement.

    It takes the declared parameters, by position or by name. Arrays broadcast by NumPy's rules.
    Results are the arrays that are neither const nor raw. Those that are not given are allocated,
    in C order, or in Fortran order if all arrays have it.
    """

    definition: ElementwiseDefinition

    def __call__(
        self, /, *args: Any, out: Any = None, stream: Any = None, size: Any = None, **named: Any
    ) -> Any:
        """Compute.

        Parameters
        ----------
        *args, **named
            Numbers and arrays: all parameters, or all but the results.
        out : array, or tuple of arrays, optional
            Results.
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default the current stream of the arrays' device.
        size : int, optional
            The number of elements where no array that is not raw is given.

        Returns
        -------
        cupola.Array
            A tuple of several results, None without results. A result that was given is returned
            as it was given. The work is queued; what it writes to NumPy's arrays is there.

        Raises
        ------
        ArgumentTypeError
            Where an argument has a wrong type, or a name is unknown.
        ArgumentValueError
            Where shapes do not broadcast, or arrays are on several devices.
        CompileError
            At the first call with some types, where the code does not compile.
        """
        return self._call(args, named, out, stream, (size,))

    def prepare(
        self, /, *args: Any, out: Any = None, stream: Any = None, size: Any = None, **named: Any
    ) -> PreparedCall:
        """Check and pack the arguments of a call, for calls that only launch.

        The parameters are those of a call. The result's ``results`` are written by each call.
        """
        return self._prepare(args, named, out, stream, (size,))

    def _work(self, values: dict[str, Any], types: Types, device: int, options: Any) -> Work:
        given = [one for one in self.definition.arrays if one.name in values]
        shape = self._shape(values, given, options[0])
        for one in given:
            if not one.const and values[one.name].shape != shape:
                raise ArgumentValueError(
                    f"{self.definition.name}: argument {one.name} is written and has the shape "
                    f"{values[one.name].shape}, but the arguments broadcast to {shape}"
                )
        order = self._order([values[one.name] for one in given])
        for one in self.definition.results:
            if one.name not in values:
                dtype = wanted(one, types, self.structs)
                values[one.name] = empty(shape, dtype, order=order, device=device)
        results = tuple([values[one.name] for one in self.definition.results])
        n = math.prod(shape)
        if n == 0:
            return Work([], results, values)
        form, arguments, layout = self._arguments(values, shape, order)
        kernel = self._kernel(types, form, form, device)
        launch = Launch(kernel, blocks_of(n, device), MAKER_BLOCK, (*arguments, n, *layout))
        return Work([launch], results, values)

    def _order(self, arrays: list[Array]) -> str:
        """F where all arrays have this order, and the code does not use the index itself."""
        if self.definition.positional or not arrays:
            return "C"
        same = all(
            one.flags.f_contiguous and one.shape == arrays[0].shape for one in arrays
        ) and not all(one.flags.c_contiguous for one in arrays)
        return "F" if same else "C"

    def _arguments(
        self, values: dict[str, Any], shape: tuple[int, ...], order: str
    ) -> tuple[str, list[Any], tuple[bytes, ...]]:
        """The form, the arguments for the parameters, and those behind `n`."""
        declared = self.definition.arrays
        arrays = {one.name: values[one.name] for one in declared}
        if order == "F":
            return FLAT, self._in_order(values, {n: x.T for n, x in arrays.items()}), ()
        flat = all(x.shape == shape and x.flags.c_contiguous for x in arrays.values())
        if flat:
            return FLAT, self._in_order(values, {}), ()
        if STRIDED not in self.definition.forms:
            return FLAT, self._in_order(values, self._copies(arrays, shape)), ()
        axes = merged_axes(self.definition.name, axes_of(list(arrays.values()), shape))
        starts = {name: pointer_argument(x) for name, x in arrays.items()}
        return STRIDED, self._in_order(values, starts), (packed_layout(axes, len(declared)),)

    def _copies(self, arrays: dict[str, Array], shape: tuple[int, ...]) -> dict[str, Array]:
        """Inputs in C order, for code that needs pointers."""
        found = {}
        for one in self.definition.arrays:
            x = arrays[one.name]
            if x.shape == shape and x.flags.c_contiguous:
                continue
            if not one.const:
                raise ArgumentValueError(
                    f"{self.definition.name}: argument {one.name} is written and not in C order; "
                    "the definition has contiguous=True: pass a contiguous array"
                )
            found[one.name] = self._c_order(x, shape)
        return found


def blocks_of(n: int, device: int) -> int:
    """The blocks of a launch whose threads each do several elements of many."""
    most = _BLOCKS * Device(device).multiprocessor_count
    return max(1, min(-(-n // MAKER_BLOCK), most))
