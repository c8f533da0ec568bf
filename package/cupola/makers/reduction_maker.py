# cupola/makers/reduction_maker.py - calls of reductions.
"""`Reduction`, which `cupola.reduction` makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cupola.array import Array
from cupola.creation import empty
from cupola.declare.reduction_definition import ReductionDefinition
from cupola.exceptions import ArgumentValueError
from cupola.kernel_constants import MAKER_BLOCK
from cupola.makers.element_types import Types, wanted
from cupola.makers.group_maker import GroupMaker
from cupola.makers.groups import chunks_of, groups_of
from cupola.makers.maker import PreparedCall
from cupola.makers.work import Launch, Work


class Reduction(GroupMaker):
    """A function that combines the elements of arrays along axes.

    It takes the declared parameters, by position or by name. Inputs broadcast by NumPy's rules.
    Results are the arrays that are neither const nor raw.

    The order in which elements are combined follows from the shape and the axes alone. A sum of
    floats has the same bits in each run, on each device and for each memory layout.
    """

    definition: ReductionDefinition

    def __call__(
        self,
        /,
        *args: Any,
        axis: Any = None,
        keepdims: bool = False,
        out: Any = None,
        stream: Any = None,
        size: Any = None,
        **named: Any,
    ) -> Any:
        """Reduce.

        Parameters
        ----------
        *args, **named
            Numbers and arrays: all parameters, or all but the results.
        axis : None, int or tuple of int, optional
            The axes along which elements are combined; by default all.
        keepdims : bool, optional
            Whether these axes stay, with the length 1.
        out : array, or tuple of arrays, optional
            Results.
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default the current stream of the arrays' device.
        size : int, optional
            The number of elements where no array that is not raw is an input.

        Returns
        -------
        cupola.Array
            A tuple of several results. The work is queued. A result of no elements is made of the
            neutral element.

        Raises
        ------
        ArgumentTypeError
            Where an argument has a wrong type, or a name is unknown.
        ArgumentValueError
            Where shapes or axes do not fit, or arrays are on several devices.
        CompileError
            At the first call with some types, where the code does not compile.
        """
        return self._call(args, named, out, stream, (axis, keepdims, size))

    def prepare(
        self,
        /,
        *args: Any,
        axis: Any = None,
        keepdims: bool = False,
        out: Any = None,
        stream: Any = None,
        size: Any = None,
        **named: Any,
    ) -> PreparedCall:
        """Check and pack the arguments of a call, for calls that only launch.

        The parameters are those of a call. Its launches share memory: let one end before the next
        begins, as in one stream.
        """
        return self._prepare(args, named, out, stream, (axis, keepdims, size))

    def _work(self, values: dict[str, Any], types: Types, device: int, options: Any) -> Work:
        axis, keepdims, size = options
        definition = self.definition
        shape = self._shape(values, definition.seen, size)
        groups = groups_of(definition.name, shape, axis)
        finish = self._results(values, types, device, groups.kept_shape(bool(keepdims)))
        results = tuple([values[one.name] for one in definition.results])
        if groups.groups == 0:
            return Work([], results, values, finish)
        dealt = chunks_of(groups.groups, groups.n)
        partial = self._partial(dealt, types, device)
        form, arguments, layouts = self._arguments(values, groups)
        kernel = self._kernel(types, form, form, device)
        launches = [
            Launch(kernel, dealt.grid, MAKER_BLOCK, (*arguments, dealt.packed(), partial, *layouts))
        ]
        if dealt.chunks > 1:
            launches.append(self._combine_chunks(types, form, device, dealt, arguments, partial))
        return Work(launches, results, values, finish)

    def _results(
        self, values: dict[str, Any], types: Types, device: int, shape: tuple[int, ...]
    ) -> Callable[[], None] | None:
        """Allocate the results, and stand-ins for those that are not contiguous."""
        later: list[tuple[Array, Array]] = []
        for one in self.definition.results:
            given = values.get(one.name)
            if given is not None and given.shape != shape:
                raise ArgumentValueError(
                    f"{self.definition.name}: argument {one.name} has the shape {given.shape}; the "
                    f"result has {shape}"
                )
            if given is None or not given.flags.c_contiguous:
                dtype = wanted(one, types, self.structs)
                values[one.name] = empty(shape, dtype, device=device)
                if given is not None:
                    later.append((given, values[one.name]))
        if not later:
            return None

        def finish() -> None:
            for given, made in later:
                given[...] = made

        return finish
