# cupola/makers/scan_maker.py - calls of scans.
"""`Scan`, which `cupola.scan` makes."""

from __future__ import annotations

from typing import Any

from cupola.creation import empty
from cupola.declare.scan_definition import ScanDefinition
from cupola.exceptions import ArgumentValueError
from cupola.kernel_constants import MAKER_BLOCK
from cupola.makers.element_types import Types, wanted
from cupola.makers.group_maker import GroupMaker
from cupola.makers.groups import chunks_of, groups_of
from cupola.makers.maker import PreparedCall
from cupola.makers.work import Launch, Work


class Scan(GroupMaker):
    """A function that combines each element of an array with those before it.

    It takes the declared parameters, by position or by name. Inputs broadcast by NumPy's rules.
    Results are the arrays that are neither const nor raw, and have the shape of the inputs.

    Elements are combined in their order, in groups that follow from the shape and the axis alone.
    A sum of floats has the same bits in each run, on each device and for each memory layout.
    """

    definition: ScanDefinition

    def __call__(
        self,
        /,
        *args: Any,
        axis: Any = None,
        out: Any = None,
        stream: Any = None,
        size: Any = None,
        **named: Any,
    ) -> Any:
        """Scan.

        Parameters
        ----------
        *args, **named
            Numbers and arrays: all parameters, or all but the results.
        axis : None or int, optional
            The axis along which elements are combined; by default all elements, in C order.
        out : array, or tuple of arrays, optional
            Results; one may be an input.
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default the current stream of the arrays' device.
        size : int, optional
            The number of elements where no array that is not raw is given.

        Returns
        -------
        cupola.Array
            Of the shape of the inputs; a tuple of several results. The work is queued.

        Raises
        ------
        ArgumentTypeError
            Where an argument has a wrong type, or a name is unknown.
        ArgumentValueError
            Where shapes or the axis do not fit, or arrays are on several devices.
        CompileError
            At the first call with some types, where the code does not compile.
        """
        return self._call(args, named, out, stream, (axis, size))

    def prepare(
        self,
        /,
        *args: Any,
        axis: Any = None,
        out: Any = None,
        stream: Any = None,
        size: Any = None,
        **named: Any,
    ) -> PreparedCall:
        """Check and pack the arguments of a call, for calls that only launch.

        The parameters are those of a call. Its launches share memory: let one end before the next
        begins, as in one stream.
        """
        return self._prepare(args, named, out, stream, (axis, size))

    def _work(self, values: dict[str, Any], types: Types, device: int, options: Any) -> Work:
        axis, size = options
        definition = self.definition
        given = [one for one in definition.seen if one.name in values]
        shape = self._shape(values, given, size)
        groups = groups_of(definition.name, shape, axis)
        for one in definition.results:
            if one.name not in values:
                dtype = wanted(one, types, self.structs)
                values[one.name] = empty(shape, dtype, device=device)
            elif values[one.name].shape != shape:
                raise ArgumentValueError(
                    f"{definition.name}: argument {one.name} is written and has the shape "
                    f"{values[one.name].shape}, but the arguments broadcast to {shape}"
                )
        results = tuple([values[one.name] for one in definition.results])
        if groups.groups * groups.n == 0:
            return Work([], results, values)
        dealt = chunks_of(groups.groups, groups.n)
        partial = self._partial(dealt, types, device)
        form, arguments, layouts = self._arguments(values, groups)
        packed = (*arguments, dealt.packed(), partial, *layouts)
        launches = []
        if dealt.chunks > 1:
            kernel = self._kernel(types, form, f"{form}_totals", device)
            launches.append(Launch(kernel, dealt.grid, MAKER_BLOCK, packed))
            launches.append(self._combine_chunks(types, form, device, dealt, arguments, partial))
        kernel = self._kernel(types, form, form, device)
        launches.append(Launch(kernel, dealt.grid, MAKER_BLOCK, packed))
        return Work(launches, results, values)
